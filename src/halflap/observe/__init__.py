"""Learn what tools return from the results of calls.

Read `learner` first: it queues every answered call and learns from it in the background. `known` turns shapes into schemas
and types and finds drift, `knowledge` caches that for all tools, `graph_sync` updates the graph of tools with it,
`exchange` exports and imports it, and `describe` is what `inspect_tool` shows. Inference itself is in `halflap.learn`.
"""

from halflap.observe.describe import drift_json, observed_json, usage_note
from halflap.observe.exchange import Imported, exported, read_export
from halflap.observe.graph_sync import GraphSync
from halflap.observe.knowledge import Knowledge, key_of
from halflap.observe.known import Compared, Known, compare, known_of, media_value
from halflap.observe.learner import METERS, Learner

__all__ = [
    "METERS",
    "Compared",
    "GraphSync",
    "Imported",
    "Knowledge",
    "Known",
    "Learner",
    "compare",
    "drift_json",
    "exported",
    "key_of",
    "known_of",
    "media_value",
    "observed_json",
    "read_export",
    "usage_note",
]
