"""The score of a workflow: three dimensions, named patterns, and one total."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.core.errors import WorkflowError
from halflap.core.text import join
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.score.advice import advice
from halflap.workflows.score.facts import Facts
from halflap.workflows.score.maintainability import maintainability, measures
from halflap.workflows.score.patterns import PATTERNS, pattern_scores
from halflap.workflows.score.performance import performance
from halflap.workflows.score.rules import check_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halflap.workflows.analysis.soundness import Soundness
    from halflap.workflows.model.net import Bound, Net
    from halflap.workflows.score.advice import Advice
    from halflap.workflows.score.maintainability import Measure
    from halflap.workflows.score.patterns import Pattern, PatternScore
    from halflap.workflows.score.performance import Performance
    from halflap.workflows.score.rules import RuleVerdict

__all__ = ["DEFAULT_WEIGHTS", "Score", "compliance", "read_patterns", "read_weights", "score", "total"]

DEFAULT_WEIGHTS: Mapping[str, float] = {"performance": 0.4, "maintainability": 0.3, "compliance": 0.3}
_PATTERN_SHARE = 0.2
"""The share of the named patterns in the total."""


@dataclass(frozen=True, slots=True)
class Score:
    """The scores, with everything they were counted from."""

    net: Net
    total: float
    dimensions: Mapping[str, float | None] = field(hash=False)
    """None where it is unknown, which counts as 0 in the total."""
    patterns: Mapping[Pattern, PatternScore] = field(hash=False)
    weights: Mapping[str, float] = field(hash=False)
    performance: Performance
    measures: tuple[Measure, ...]
    soundness: Soundness
    rules: tuple[RuleVerdict, ...]
    advice: tuple[Advice, ...]
    undeclared: tuple[str, ...]
    """Tasks without declared reads and writes."""

    @property
    def problems(self) -> list[str]:
        """What is unknown, and why."""
        found = [self.performance.problem] if self.performance.problem is not None else []
        found += [f"Soundness: {self.soundness.problem}"] if self.soundness.sound is None else []
        return list(dict.fromkeys([*found, *(one.why or "" for one in self.rules if one.holds is None)]))

    def response(self) -> dict[str, Any]:
        """Return it as JSON."""
        times = self.performance
        tasks = self.net.tasks.values()
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
                    "assumed_durations": [
                        task.id for task in tasks if task.label is not None and task.duration is None
                    ],
                    "unknown_data": list(self.undeclared),
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
            "inconclusive_because": self.problems,
        }


def score(
    net: Net,
    reference_patterns: Sequence[str] = (),
    scoring_weights: Mapping[str, float] | None = None,
    bound: Bound | None = None,
) -> Score:
    problems: list[tuple[str, str]] = []
    wanted = read_patterns(reference_patterns, problems)
    weights = read_weights(scoring_weights, problems)
    if problems:
        raise WorkflowError(problems, "The workflow cannot be scored like this.")
    study, facts = Study(net, bound), Facts(net)
    judged = soundness(study)
    verdicts = tuple(check_rule(study, rule) for rule in net.rules)
    times = performance(study, facts)
    measured = measures(net, study.structure)
    patterns = pattern_scores(facts, study.structure, wanted)
    dimensions = {
        "performance": times.score,
        "maintainability": maintainability(measured),
        "compliance": compliance(judged.sound, [one.holds for one in verdicts]),
    }
    return Score(
        net,
        total(dimensions, weights, [one.score for one in patterns.values()]),
        dimensions,
        patterns,
        weights,
        times,
        measured,
        judged,
        verdicts,
        tuple(advice(facts, study.structure, judged, verdicts)),
        tuple(
            task.id
            for task in net.tasks.values()
            if not facts.routes(task.id) and (task.reads is None or task.writes is None)
        ),
    )


def compliance(sound: bool | None, rules: Sequence[bool | None]) -> float:
    """Return half for being sound and half for the share of rules that hold; without rules all for soundness."""
    half = 1.0 if sound else 0.0
    return (half + sum(one is True for one in rules) / len(rules)) / 2 if rules else half


def total(
    dimensions: Mapping[str, float | None], weights: Mapping[str, float], patterns: Iterable[float | None]
) -> float:
    """Return the weighted dimensions, with a fifth for the mean of the patterns where there are any."""
    weighted = sum(weight * (dimensions[name] or 0.0) for name, weight in weights.items())
    there = [one for one in patterns if one is not None]
    return (
        weighted if not there else (1 - _PATTERN_SHARE) * weighted + _PATTERN_SHARE * sum(there) / len(there)
    )


def read_patterns(value: Any, problems: list[tuple[str, str]]) -> tuple[Pattern, ...]:
    """Read the named patterns; mistakes are added to the problems."""
    if not isinstance(value, list | tuple):
        problems.append(("reference_patterns", f"It must be a list of {join(PATTERNS)}."))
        return ()
    problems += [
        (f"reference_patterns[{at}]", f"There is no pattern {one!r}; there are {join(PATTERNS)}.")
        for at, one in enumerate(value)
        if one not in PATTERNS
    ]
    return tuple(one for one in PATTERNS if one in value)


def read_weights(value: Any, problems: list[tuple[str, str]]) -> dict[str, float]:
    """Read weights, normalised to sum to 1; one that is not given has its default."""
    found = dict(DEFAULT_WEIGHTS)
    if value is not None and not isinstance(value, dict):
        problems.append(("scoring_weights", f"It must be an object with {join(DEFAULT_WEIGHTS)}."))
        return found
    for name, weight in (value or {}).items():
        path = f"scoring_weights.{name}"
        if name not in DEFAULT_WEIGHTS:
            problems.append((path, f"There is no weight {name!r}; there are {join(DEFAULT_WEIGHTS)}."))
        elif isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
            problems.append((path, "It must be a number from 0 to 1."))
        else:
            found[name] = float(weight)
    whole = sum(found.values())
    if whole <= 0:
        problems.append(("scoring_weights", "All weights are 0. At least one must be larger."))
        return found
    return {name: weight / whole for name, weight in found.items()}
