"""How good a workflow is: performance, maintainability and compliance, the patterns it is held against, and one number of all."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from halflap.core.errors import WorkflowError
from halflap.workflows.advice import advice
from halflap.workflows.fields import what_is
from halflap.workflows.maintainability import maintainability, measures
from halflap.workflows.patterns import PATTERNS, pattern_scores
from halflap.workflows.performance import performance
from halflap.workflows.pieces.facts import Facts
from halflap.workflows.pieces.taking import layout_of
from halflap.workflows.rules import verdict_by_pieces, verdict_by_states
from halflap.workflows.soundness import soundness
from halflap.workflows.study import Study

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.workflows.advice import Advice
    from halflap.workflows.maintainability import Measure
    from halflap.workflows.net import Bound, Net
    from halflap.workflows.patterns import Pattern, PatternScore
    from halflap.workflows.performance import Performance
    from halflap.workflows.rules import Verdict
    from halflap.workflows.soundness import Soundness

__all__ = [
    "DEFAULT_WEIGHTS",
    "PATTERN_SHARE",
    "Score",
    "compliance",
    "read_patterns",
    "read_weights",
    "score",
    "total",
]

DEFAULT_WEIGHTS: Mapping[str, float] = {"performance": 0.4, "maintainability": 0.3, "compliance": 0.3}
PATTERN_SHARE = 0.2
"""How much of the total the patterns are, where there is a place for one that was named."""


@dataclass(frozen=True, slots=True)
class Score:
    """The scores, with all that they were counted from."""

    total: float
    dimensions: Mapping[str, float | None] = field(hash=False)
    """None where it is not known; in the total that counts as nothing."""
    patterns: Mapping[Pattern, PatternScore] = field(hash=False)
    weights: Mapping[str, float] = field(hash=False)
    performance: Performance
    measures: tuple[Measure, ...]
    soundness: Soundness
    rules: tuple[Verdict, ...]
    assumed: tuple[str, ...]
    """Tasks whose duration is not said."""
    unknown: tuple[str, ...]
    """Tasks of which it is not said what they read and write."""
    advice: tuple[Advice, ...]
    problems: tuple[str, ...]
    """What could not be found out, and why."""

    def response(self) -> dict[str, Any]:
        """Give it as JSON."""
        times = self.performance
        return {
            "total_score": self.total,
            "dimension_scores": dict(self.dimensions),
            "pattern_scores": {name: one.score for name, one in self.patterns.items()},
            "weights": dict(self.weights),
            "raw": {
                "performance": {
                    "critical_path": times.critical_path,
                    "expected_makespan": times.makespan,
                    "expected_cost": times.cost,
                    "max_parallel": times.width,
                    "method": times.method,
                    "standard_error": times.error,
                    "assumed_durations": list(self.assumed),
                    "unknown_data": list(self.unknown),
                },
                "maintainability": {one.name: {"raw": one.raw, "score": one.score} for one in self.measures},
                "compliance": {
                    "sound": self.soundness.sound,
                    "failures": [
                        {"kind": one.kind, "message": one.why, "trace": list(one.trace)}
                        for one in self.soundness.failures
                    ],
                    "rules": [
                        {
                            "kind": one.rule.kind,
                            "tasks": list(one.rule.tasks),
                            "holds": one.holds,
                            "message": one.why,
                            "trace": None if one.trace is None else list(one.trace),
                        }
                        for one in self.rules
                    ],
                },
                "patterns": {name: dict(one.raw) for name, one in self.patterns.items()},
            },
            "recommendations": [one.response() for one in self.advice],
            "conclusive": not self.problems,
            "inconclusive_because": list(self.problems),
        }


def score(
    net: Net,
    reference_patterns: Sequence[str] = (),
    scoring_weights: Mapping[str, float] | None = None,
    bound: Bound | None = None,
) -> Score:
    """Score a workflow."""
    problems: list[tuple[str, str]] = []
    wanted = read_patterns(reference_patterns, problems)
    weights = read_weights(scoring_weights, problems)
    if problems:
        raise WorkflowError(problems, "The workflow can't be scored like this.")
    study, layout, facts = Study(net, bound), layout_of(net), Facts(net)
    judged = soundness(study)
    verdicts = tuple(
        verdict_by_states(study, rule)
        if layout.piece is None
        else verdict_by_pieces(facts, layout.piece, rule)
        for rule in net.rules
    )
    times = performance(study, layout, facts)
    measured = measures(net, layout, study.structure if layout.piece is None else None)
    # Rules say what depends on what in a case; without one they would make nothing of a workflow better.
    counted = Facts(replace(net, rules=())) if layout.piece is None and not study.completes else facts
    chosen = pattern_scores(counted, layout, study, wanted)
    dimensions = {
        "performance": times.score,
        "maintainability": maintainability(measured),
        "compliance": compliance(judged.sound, [one.holds for one in verdicts]),
    }
    unknown = [times.problem] if times.problem is not None else []
    unknown += [f"Soundness: {judged.problem}"] if judged.sound is None else []
    unknown += [one.why or "" for one in verdicts if one.holds is None]
    unknown += [f"Pattern {name}: {one.problem}" for name, one in chosen.items() if one.problem is not None]
    return Score(
        total(dimensions, weights, [one.score for one in chosen.values()]),
        dimensions,
        chosen,
        weights,
        times,
        measured,
        judged,
        verdicts,
        tuple(task.id for task in net.tasks.values() if task.label is not None and task.duration is None),
        tuple(
            task.id
            for task in net.tasks.values()
            if not facts.routes(task.id) and (task.reads is None or task.writes is None)
        ),
        tuple(advice(study, layout, facts, judged, verdicts)),
        tuple(dict.fromkeys(unknown)),
    )


def compliance(sound: bool | None, rules: Sequence[bool | None]) -> float:
    """Count soundness half, and the rules that hold the other half; without rules soundness is all. What is not known does not hold."""
    half = 1.0 if sound else 0.0
    if not rules:
        return half
    return (half + sum(one is True for one in rules) / len(rules)) / 2


def total(
    dimensions: Mapping[str, float | None],
    weights: Mapping[str, float],
    patterns: Sequence[float | None],
) -> float:
    """Put all into one number: the dimensions by their weights, and beside them the mean of the patterns that there is a place for."""
    weighted = sum(weight * (dimensions[name] or 0.0) for name, weight in weights.items())
    there = [one for one in patterns if one is not None]
    if not there:
        return weighted
    return (1 - PATTERN_SHARE) * weighted + PATTERN_SHARE * sum(there) / len(there)


def read_patterns(value: Any, problems: list[tuple[str, str]]) -> tuple[Pattern, ...]:
    """Read the patterns that were named; what is wrong is added to the problems."""
    if not isinstance(value, list | tuple):
        problems.append(("reference_patterns", f"It has to be a list of {', '.join(PATTERNS)}."))
        return ()
    for at, one in enumerate(value):
        if one not in PATTERNS:
            name = repr(one) if isinstance(one, str) else f"that is {what_is(one)}"
            problems.append(
                (f"reference_patterns[{at}]", f"There is no pattern {name}; there are {', '.join(PATTERNS)}.")
            )
    return tuple(one for one in PATTERNS if one in value)


def read_weights(value: Any, problems: list[tuple[str, str]]) -> dict[str, float]:
    """Read weights, and make them sum to 1; one that is not given is the default."""
    found = dict(DEFAULT_WEIGHTS)
    if value is None:
        return found
    if not isinstance(value, dict):
        problems.append(("scoring_weights", f"It has to be an object with {', '.join(DEFAULT_WEIGHTS)}."))
        return found
    known = True
    for name, weight in value.items():
        path = f"scoring_weights.{name}"
        if name not in DEFAULT_WEIGHTS:
            problems.append((path, f"There is no weight {name!r}; there are {', '.join(DEFAULT_WEIGHTS)}."))
        elif isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
            problems.append((path, f"Expected a number from 0 to 1, and there is {what_is(weight)}."))
            known = False
        else:
            found[name] = float(weight)
    whole = sum(found.values())
    if known and whole <= 0:
        problems.append(("scoring_weights", "All weights are 0. Give at least one of them more."))
    return {name: weight / whole for name, weight in found.items()} if whole > 0 else found
