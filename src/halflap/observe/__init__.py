"""Results become knowledge, off the path of the calls."""

from halflap.observe.knowledge import Knowledge, key_of
from halflap.observe.known import Known, known_of, merged
from halflap.observe.learning import LIVE, Learning
from halflap.observe.telling import drift_told, iso, observed_told, use_of

__all__ = [
    "LIVE",
    "Knowledge",
    "Known",
    "Learning",
    "drift_told",
    "iso",
    "key_of",
    "known_of",
    "merged",
    "observed_told",
    "use_of",
]
