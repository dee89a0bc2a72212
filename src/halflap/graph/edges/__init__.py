"""Edges: whose results can fill whose parameters, and how certain that is.

Read `model` first (edge, link, evidence), then `evidence` (how one field and one parameter are scored, with all weights)
and `graph` (which fields are scored at all, computed when asked for). `index` finds candidates, `relations` reads what
servers say about their own tools, `choice` picks the best, `explain` says why there is an edge or none.
"""

from halflap.graph.edges.evidence import LEAST
from halflap.graph.edges.explain import Explanation, explain
from halflap.graph.edges.graph import Graph
from halflap.graph.edges.model import Coverage, Edge, Evidence, EvidenceKind, Link

__all__ = ["LEAST", "Coverage", "Edge", "Evidence", "EvidenceKind", "Explanation", "Graph", "Link", "explain"]
