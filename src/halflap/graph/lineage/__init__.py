"""Lineage: where values were seen to go, from results into later arguments.

Read `counts` first (what is kept: how often a value went from one field to one parameter), then `follow` (how runs are
followed) and `values` (which values say anything at all). No value is kept, only hashes while a run lasts.
"""

from halflap.graph.lineage.counts import NO_LINEAGE, Count, Flow, Lineage, fitted
from halflap.graph.lineage.follow import Trails

__all__ = ["NO_LINEAGE", "Count", "Flow", "Lineage", "Trails", "fitted"]
