"""Learn from logs of past calls: what tools returned, and where values went.

Read `backfill.py` for the run as a whole, `worker.py` and `learner.py` for what happens to one log, `records.py` for the
forms that are understood, and `watermarks.py` for how nothing is counted twice.
"""

from halflap.backfill.backfill import LEARNED_ORIGIN, Backfill
from halflap.backfill.report import SourceReport, Summary, ToolReport
from halflap.backfill.rules import Rules, rules_for
from halflap.backfill.watermarks import ORIGIN_PREFIX

__all__ = [
    "LEARNED_ORIGIN",
    "ORIGIN_PREFIX",
    "Backfill",
    "Rules",
    "SourceReport",
    "Summary",
    "ToolReport",
    "rules_for",
]
