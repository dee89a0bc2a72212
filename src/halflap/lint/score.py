"""The score of a tool and of a server: from 0 to 100, and never lower for a finding less.

A tool starts with 100. Each rule that found something in it takes a share of what is left: `error` 25 %, `warning` 10 %,
`info` 3 %, times the rule's weight; the second finding of the same rule half as much again, the third a quarter, and so on, so
that all findings of a rule together take less than twice the first. A server's score is the mean of its tools'.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.lint.rule import Severity

__all__ = ["SHARES", "Costs", "server_score", "share_of", "tool_score"]

SHARES: dict[Severity, float] = {"error": 0.25, "warning": 0.10, "info": 0.03}
_MOST = 0.45
"""No rule takes more at once, however it is weighted: twice that leaves something."""

Costs = dict[str, float]
"""What the first finding of each rule takes of what is left."""


def share_of(severity: Severity, weight: float) -> float:
    """Give what the first finding of a rule takes."""
    return min(_MOST, SHARES[severity] * weight)


def tool_score(counts: Mapping[str, int], costs: Costs) -> float:
    """Score a tool by how many findings each rule has in it."""
    # In one order, whatever order they came in: a sum of floats depends on it.
    left = math.prod(1.0 - _taken(counts[rule], costs[rule]) for rule in sorted(counts) if counts[rule] > 0)
    return 100.0 * left


def _taken(findings: int, first: float) -> float:
    return first * (2.0 - 2.0 ** (1 - min(findings, 60)))


def server_score(scores: Mapping[str, float]) -> float | None:
    """Score a server by its tools; None where there are none."""
    return math.fsum(scores.values()) / len(scores) if scores else None
