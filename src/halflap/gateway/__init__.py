"""The composition root: builds the parts, registers the tool sources, offers the use cases."""

from halflap.gateway.gateway import Gateway
from halflap.gateway.parts import FIRST_LISTING_SECONDS

__all__ = ["FIRST_LISTING_SECONDS", "Gateway"]
