"""Results become knowledge, off the path of the calls."""

from halflap.observe.compare import Compared, compare
from halflap.observe.exchange import Imported, exported, read_export
from halflap.observe.graph_sync import Edges
from halflap.observe.knowledge import Knowledge, key_of
from halflap.observe.known import Known, known_of, merged, whole
from halflap.observe.learning import METERS, Learning
from halflap.observe.telling import drift_told, iso, observed_told, use_of

__all__ = [
    "METERS",
    "Compared",
    "Edges",
    "Imported",
    "Knowledge",
    "Known",
    "Learning",
    "compare",
    "drift_told",
    "exported",
    "iso",
    "key_of",
    "known_of",
    "merged",
    "observed_told",
    "read_export",
    "use_of",
    "whole",
]
