"""The composition root: builds the parts, registers the tool sources, offers the use cases."""

from halflap.gateway.findings import NO_SERVER_TODO
from halflap.gateway.gateway import Gateway
from halflap.gateway.parts import FIRST_LISTING_SECONDS

__all__ = ["FIRST_LISTING_SECONDS", "NO_SERVER_TODO", "Gateway"]
