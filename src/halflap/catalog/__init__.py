"""The tools there are: their definitions and names, which of them may be called, and search over them.

Read `catalog` first: it merges what servers list (`listing`) into the store and publishes an immutable `Snapshot` after
every change. `refresh` decides when a server is asked again, `naming` chooses tool names that never change, `search`
finds tools. The catalogue opens no connections and calls no tools.
"""

from halflap.catalog.catalog import Catalog
from halflap.catalog.listing import PARTS, changed_parts
from halflap.catalog.naming import choose_name, feature_name, namespaced
from halflap.catalog.refresh import Refresher
from halflap.catalog.search import Finder, Hit
from halflap.catalog.snapshot import Snapshot, block_rule, matches

__all__ = [
    "PARTS",
    "Catalog",
    "Finder",
    "Hit",
    "Refresher",
    "Snapshot",
    "block_rule",
    "changed_parts",
    "choose_name",
    "feature_name",
    "matches",
    "namespaced",
]
