"""The available tools: their definitions and names, which of them may be called, and search over them.

Read `catalog` first: it asks servers for their tools when that is due, merges their listings (`listing`) into the store, and
publishes an immutable `Snapshot` after every change. A `View` is the part that a profile shows; `search` finds tools. The
catalogue opens no connections and calls no tools.
"""

from halflap.catalog.catalog import Catalog, Servers
from halflap.catalog.listing import PARTS, choose_name, feature_name, namespaced, tool_of
from halflap.catalog.search import Finder, Hit
from halflap.catalog.snapshot import Snapshot, block_rule, matches
from halflap.catalog.view import View

__all__ = [
    "PARTS",
    "Catalog",
    "Finder",
    "Hit",
    "Servers",
    "Snapshot",
    "View",
    "block_rule",
    "choose_name",
    "feature_name",
    "matches",
    "namespaced",
    "tool_of",
]
