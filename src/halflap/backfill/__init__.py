"""History becomes knowledge, on one machine or on many."""

from halflap.backfill.backfill import Backfill
from halflap.backfill.found import Found
from halflap.backfill.kernel import learn_range, learn_stream
from halflap.backfill.rules import Rules, rules_for
from halflap.backfill.summary import SourceReport, Summary, ToolReport

__all__ = [
    "Backfill",
    "Found",
    "Rules",
    "SourceReport",
    "Summary",
    "ToolReport",
    "learn_range",
    "learn_stream",
    "rules_for",
]
