"""Learn from logs of past calls: what tools returned, and where values went.

Read `backfill` for the run as a whole, `learner` for what happens to one log, `records` for the forms that are understood,
and `logfile` for how nothing is counted twice.
"""

from halflap.backfill.backfill import LEARNED_ORIGIN, Backfill
from halflap.backfill.learner import Rules
from halflap.backfill.logfile import ORIGIN_PREFIX
from halflap.backfill.summary import SourceReport, Summary, ToolReport

__all__ = ["LEARNED_ORIGIN", "ORIGIN_PREFIX", "Backfill", "Rules", "SourceReport", "Summary", "ToolReport"]
