"""What tools return, learned from their answers.

Read `learner` first: it takes every answered call and learns from it in the background. `known` says what shapes mean as
a schema and a type and what changed in them, `knowledge` caches that for all tools, `graph_sync` keeps the graph of tools
up to date with it, `exchange` exports and imports it, `describe` shows it. Inference itself is in `halflap.learn`.
"""

from halflap.observe.describe import drift_json, observed_json, usage_note, without_data
from halflap.observe.exchange import Imported, exported, read_export
from halflap.observe.graph_sync import GraphSync
from halflap.observe.knowledge import Knowledge, key_of
from halflap.observe.known import Compared, Known, compare, known_of, merged, whole
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
    "merged",
    "observed_json",
    "read_export",
    "usage_note",
    "whole",
    "without_data",
]
