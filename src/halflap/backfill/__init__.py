"""History becomes knowledge, on one machine or on many."""

from halflap.backfill.backfill import Backfill
from halflap.backfill.found import Found
from halflap.backfill.identity import forgotten
from halflap.backfill.kernel import learn_range, learn_stream
from halflap.backfill.own import LEARNED_ORIGIN
from halflap.backfill.rules import Rules, rules_for
from halflap.backfill.summary import SourceReport, Summary, ToolReport

__all__ = [
    "LEARNED_ORIGIN",
    "Backfill",
    "Found",
    "Rules",
    "SourceReport",
    "Summary",
    "ToolReport",
    "forgotten",
    "learn_range",
    "learn_stream",
    "rules_for",
]
