"""What tools there are."""

from halflap.catalog.catalog import Catalog
from halflap.catalog.finder import Finder, Hit
from halflap.catalog.listing import PARTS, changed_parts
from halflap.catalog.listings import Listings
from halflap.catalog.naming import namespaced
from halflap.catalog.report import ServerReport, report
from halflap.catalog.snapshot import Snapshot, matches

__all__ = [
    "PARTS",
    "Catalog",
    "Finder",
    "Hit",
    "Listings",
    "ServerReport",
    "Snapshot",
    "changed_parts",
    "matches",
    "namespaced",
    "report",
]
