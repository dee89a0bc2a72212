"""The score of a workflow: three dimensions, named patterns, and one total."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.answers import Compliance, Measure, RawScores, Scores
from halflap.workflows.model.block import Block, Unstructured
from halflap.workflows.model.form import BAD_ARGUMENTS
from halflap.workflows.model.net import MAX_STATES, STRICT, Net
from halflap.workflows.score.facts import Facts
from halflap.workflows.score.patterns import PATTERNS, Pattern, advice, findings, pattern_score
from halflap.workflows.score.rules import check_rule
from halflap.workflows.score.timing import performance

Weight = Annotated[float | int, Field(ge=0, le=1)]
_PATTERN_SHARE = 0.2
"""The share of the named patterns in the total."""
_HALF = {"control_flow_complexity": 30, "size": 50, "nesting": 5}
"""The count at which each of these measures scores one half."""


@dataclass(frozen=True)
class Weights:
    """How much each dimension counts."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    performance: Weight = 0.4
    maintainability: Weight = 0.3
    compliance: Weight = 0.3

    def normalised(self) -> dict[str, float]:
        whole = sum(asdict(self).values())
        if whole <= 0:
            message = "All weights are 0. At least one must be larger."
            raise WorkflowError([("scoring_weights", message)], BAD_ARGUMENTS)
        return {name: weight / whole for name, weight in asdict(self).items()}


@dataclass(frozen=True)
class Scoring:
    """The patterns and weights of a score."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    reference_patterns: list[Pattern]
    scoring_weights: Weights = field(default_factory=Weights)


def score(net: Net, asked: Scoring | None = None, bound: int = MAX_STATES) -> Scores:
    asked = asked or Scoring([])
    weights = asked.scoring_weights.normalised()
    study, facts = Study(net, bound), Facts(net)
    judged = soundness(study)
    rules = [check_rule(study, rule) for rule in net.rules]
    times = performance(study, facts)
    measured = measures(net, study.tree)
    wanted = [name for name in PATTERNS if name in asked.reference_patterns]
    patterns = {name: list(findings(facts, study.tree, name)) for name in wanted}
    dimensions = {
        "performance": times.score,
        "maintainability": maintainability(measured),
        "compliance": compliance(judged.sound, [one.holds for one in rules]),
    }
    by_pattern: dict[str, float | None] = {name: pattern_score(found) for name, found in patterns.items()}
    unknown = [times.problem, *(one.message for one in rules if one.holds is None)]
    if judged.sound is None:
        unknown.append(f"Soundness: {judged.problem}")
    because = [one for one in dict.fromkeys(unknown) if one is not None]
    return Scores(
        total_score=total(dimensions, weights, by_pattern.values()),
        dimension_scores=dimensions,
        pattern_scores=by_pattern,
        weights=weights,
        raw=RawScores(
            performance=times,
            maintainability=measured,
            compliance=Compliance(sound=judged.sound, failures=list(judged.failures), rules=rules),
            patterns={
                name: {"places": sum(one.places for one in found), "good": sum(one.good for one in found)}
                for name, found in patterns.items()
            },
        ),
        recommendations=advice(facts, study.tree, judged, rules),
        conclusive=not because,
        inconclusive_because=because,
    )


def compliance(sound: bool | None, rules: Sequence[bool | None]) -> float:
    """Return the mean of soundness and the share of rules that hold; without rules, soundness alone."""
    half = 1.0 if sound else 0.0
    return (half + sum(one is True for one in rules) / len(rules)) / 2 if rules else half


def total(
    dimensions: Mapping[str, float | None], weights: Mapping[str, float], patterns: Iterable[float | None]
) -> float:
    """Return the weighted dimensions, with a fifth for the mean of the patterns if there are any."""
    weighted = sum(weight * (dimensions[name] or 0.0) for name, weight in weights.items())
    there = [one for one in patterns if one is not None]
    mean = sum(there) / len(there) if there else weighted
    return (1 - _PATTERN_SHARE) * weighted + _PATTERN_SHARE * mean


def maintainability(found: Mapping[str, Measure]) -> float:
    return sum(one.score for one in found.values()) / len(found)


def measures(net: Net, tree: Block) -> dict[str, Measure]:
    """Return four measures of how easy a workflow is to read and change."""
    complexity = 0
    for node, flows in net.outgoing().items():
        count = len(flows)
        if count > 1:
            split = net.tasks[node].split if node in net.tasks else "xor"
            complexity += {"and": 1, "xor": count, "or": min(2**count - 1, 10**9)}[split]
    size = len(net.tasks) + len(net.conditions) - 2
    loose = {*tree.gates} - {net.input, net.output} if isinstance(tree, Unstructured) else set()
    structured = 1 - len(loose) / size if size else 1.0
    counted = {"control_flow_complexity": complexity, "size": size, "nesting": tree.depth}
    found = {name: Measure(raw=raw, score=_HALF[name] / (_HALF[name] + raw)) for name, raw in counted.items()}
    return {**found, "structuredness": Measure(raw=structured, score=structured)}
