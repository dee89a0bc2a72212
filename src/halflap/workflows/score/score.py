"""The score of a workflow: three dimensions, named patterns, and one total."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from halflap.core.errors import WorkflowError
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.answers import Compliance, Failed, Measure, RawScores, RuleResult, Scores, Times
from halflap.workflows.model.block import Block, Tangle, depth
from halflap.workflows.model.form import validated
from halflap.workflows.model.net import MAX_STATES, STRICT, Net
from halflap.workflows.model.reduce import mismatches
from halflap.workflows.score.facts import Facts
from halflap.workflows.score.patterns import PATTERNS, Finding, Pattern, advice, findings, pattern_score
from halflap.workflows.score.rules import check_rule
from halflap.workflows.score.timing import performance

Weight = Annotated[float | int, Field(ge=0, le=1)]
_PATTERN_SHARE = 0.2
"""The share of the named patterns in the total."""
_HALF = {"control_flow_complexity": 30, "size": 50, "nesting": 5}
"""The count at which each of these measures scores one half."""


@dataclass(frozen=True)
class Weights:
    """What counts how much."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    performance: Weight = 0.4
    maintainability: Weight = 0.3
    compliance: Weight = 0.3

    def normalised(self) -> dict[str, float]:
        whole = sum(asdict(self).values())
        if whole <= 0:
            raise WorkflowError([("scoring_weights", "All weights are 0. At least one must be larger.")])
        return {name: weight / whole for name, weight in asdict(self).items()}


@dataclass(frozen=True)
class Scoring:
    """What a workflow is scored by."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT
    reference_patterns: list[Pattern]
    scoring_weights: Weights = field(default_factory=Weights)


def score(
    net: Net,
    reference_patterns: Sequence[str] = (),
    scoring_weights: Mapping[str, float] | None = None,
    bound: int = MAX_STATES,
) -> Scores:
    """Score a workflow; a `WorkflowError` names unknown patterns and weights."""
    asked = {"reference_patterns": list(reference_patterns), "scoring_weights": scoring_weights or {}}
    return scored(net, validated(Scoring, asked), bound)


def scored(net: Net, asked: Scoring, bound: int = MAX_STATES) -> Scores:
    weights = asked.scoring_weights.normalised()
    study, facts = Study(net, bound), Facts(net)
    judged = soundness(study)
    verdicts = [check_rule(study, rule) for rule in net.rules]
    times = performance(study, facts)
    measured = measures(net, study.tree)
    wanted = [name for name in PATTERNS if name in asked.reference_patterns]
    patterns = {name: list(findings(facts, study.tree, name)) for name in wanted}
    dimensions = {
        "performance": times.score,
        "maintainability": maintainability(measured),
        "compliance": compliance(judged.sound, [one.holds for one in verdicts]),
    }
    by_pattern: dict[str, float | None] = {name: pattern_score(found) for name, found in patterns.items()}
    unknown = [
        *([] if times.problem is None else [times.problem]),
        *([] if judged.sound is not None else [f"Soundness: {judged.problem}"]),
        *(one.why or "" for one in verdicts if one.holds is None),
    ]
    return Scores(
        total_score=total(dimensions, weights, by_pattern.values()),
        dimension_scores=dimensions,
        pattern_scores=by_pattern,
        weights=weights,
        raw=RawScores(
            performance=Times(
                critical_path=times.critical_path,
                expected_makespan=times.makespan,
                expected_cost=times.cost,
                max_parallel=times.width,
                method=times.method,
                standard_error=times.error,
                assumed_durations=facts.timeless,
                unknown_data=facts.undeclared,
            ),
            maintainability=measured,
            compliance=Compliance(
                sound=judged.sound,
                failures=[
                    Failed(kind=one.kind, message=one.why, trace=list(one.trace)) for one in judged.failures
                ],
                rules=[
                    RuleResult(
                        kind=one.rule.kind,
                        tasks=list(one.rule.tasks),
                        holds=one.holds,
                        message=one.why,
                        trace=None if one.trace is None else list(one.trace),
                    )
                    for one in verdicts
                ],
            ),
            patterns={name: _counted(found) for name, found in patterns.items()},
        ),
        recommendations=advice(facts, study.tree, judged, verdicts),
        conclusive=not unknown,
        inconclusive_because=list(dict.fromkeys(unknown)),
    )


def _counted(found: Iterable[Finding]) -> dict[str, int]:
    """Return how many places a pattern has, and how many are good in each respect."""
    counts: Counter[str] = Counter()
    for one in found:
        counts["places"] += one.places
        counts[one.aspect] += one.good
    return dict(counts)


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
    mean = sum(there) / len(there) if there else weighted
    return (1 - _PATTERN_SHARE) * weighted + _PATTERN_SHARE * mean


def maintainability(found: Mapping[str, Measure]) -> float:
    return sum(one.score for one in found.values()) / len(found)


def measures(net: Net, tree: Block) -> dict[str, Measure]:
    """Return six measures of how easily a workflow is read and changed."""
    incoming = net.incoming()
    complexity = gateways = 0
    for node, flows in net.outgoing().items():
        count = len(flows)
        gateways += (count > 1) + (len(incoming[node]) > 1)
        if count > 1:
            split = net.tasks[node].split if node in net.tasks else "xor"
            complexity += {"and": 1, "xor": count, "or": min(2**count - 1, 10**9)}[split]
    nodes = len(net.tasks) + len(net.conditions)
    size = nodes - 2
    fewest, most = nodes - 1, nodes * (nodes - 1)
    density = (len(net.flows) - fewest) / (most - fewest)
    loose = {corner.node for corner in tree.corners} if isinstance(tree, Tangle) else set()
    loose &= (net.tasks.keys() | net.conditions.keys()) - {net.input, net.output}
    structured = 1 - len(loose) / size if size else 1.0
    mismatched = len(mismatches(tree))
    counted = {"control_flow_complexity": complexity, "size": size, "nesting": depth(tree)}
    found: dict[str, tuple[float, float]] = {
        **{name: (raw, _HALF[name] / (_HALF[name] + raw)) for name, raw in counted.items()},
        "density": (density, min(1.0, max(0.0, 1 - density))),
        "structuredness": (structured, structured),
        "mismatched_gateways": (mismatched, 1 - min(1.0, mismatched / gateways) if gateways else 1.0),
    }
    return {name: Measure(raw=raw, score=each) for name, (raw, each) in found.items()}
