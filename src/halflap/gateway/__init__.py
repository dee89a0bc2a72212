"""The composition root: builds the parts, registers the tool sources, offers the use cases."""

from halflap.catalog import FIRST_LISTING_SECONDS
from halflap.gateway.gateway import Gateway

__all__ = ["FIRST_LISTING_SECONDS", "Gateway"]
