"""The score of a tool and of a server: from 0 to 100, and never lower for a finding less.

A tool starts with 100. Each rule that found something in it takes a share of what is left: `error` 25 %, `warning` 10 %,
`info` 3 %, times the rule's weight; the second finding of the same rule half as much again, the third a quarter, and so on, so
that all findings of a rule together take less than twice the first. What is found in the fields of results takes the less the
more of it there is, so that all of it together takes less than it costs to declare none, and each that is mended still counts.
A server's score is the mean of its tools'.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.lint.rule import Severity

__all__ = [
    "SHARES",
    "WORSE_THAN_NONE",
    "Costs",
    "Kind",
    "most_for_results",
    "server_score",
    "share_of",
    "tool_score",
]

SHARES: dict[Severity, float] = {"error": 0.25, "warning": 0.10, "info": 0.03}
_MOST = 0.45
"""No rule takes more at once, however it is weighted: twice that leaves something."""

_DECLARING = ("no-output-schema", "empty-output-schema")
"""What it costs to say nothing of results, by these rules."""
_OF_THAT = 0.8
"""So much of it the fields of a result never cost."""
WORSE_THAN_NONE = frozenset({"empty-output-schema", "invalid-schema", "results-break-schema"})
"""A declaration that says nothing, or what is not so, is spared nothing."""

Kind = tuple[str, bool]
"""A rule, and whether it is about the fields of results."""
Costs = dict[str, float]
"""What the first finding of each rule takes of what is left."""


def share_of(severity: Severity, weight: float) -> float:
    """Give what the first finding of a rule takes."""
    return min(_MOST, SHARES[severity] * weight)


def tool_score(counts: Mapping[Kind, int], costs: Costs) -> float:
    """Score a tool by how many findings each rule has in it."""
    left = {False: 1.0, True: 1.0}
    # In one order, whatever order they came in: a product of floats depends on it.
    for rule, is_of_result in sorted(counts):
        left[is_of_result] *= 1.0 - _taken(counts[rule, is_of_result], costs[rule])
    return 100.0 * left[False] * (1.0 - _of_results(left[True], most_for_results(costs)))


def _of_results(left: float, most: float) -> float:
    """Give what the fields of results take, of which the rules would leave so much: always less than `most`.

    A mere limit would make the first of many fixes worth nothing.
    """
    harm = -math.log(left)
    return harm / (1.0 + harm / most) if most < 1.0 else 1.0 - left


def most_for_results(costs: Costs) -> float:
    """Give what all that is found in the fields of a result never takes; 1 where nothing says what it costs to declare none."""
    declaring = [costs[rule] for rule in _DECLARING if rule in costs]
    return _OF_THAT * min(declaring) if declaring else 1.0


def _taken(findings: int, first: float) -> float:
    return first * (2.0 - 2.0 ** (1 - min(findings, 60))) if findings > 0 else 0.0


def server_score(scores: Mapping[str, float]) -> float | None:
    """Score a server by its tools; None where there are none."""
    return math.fsum(scores.values()) / len(scores) if scores else None
