"""The answers about workflows, as the gepa tools and `--json` give them: their JSON Schema is what the tools declare."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Advice",
    "Anomaly",
    "Change",
    "Counterexample",
    "Difference",
    "Metrics",
    "Optimization",
    "Pareto",
    "RawScores",
    "Scores",
    "Verdict",
]

Share = Annotated[float, Field(ge=0, le=1)]
Mode = Literal["strict", "balanced", "lenient"]
Target = Literal["performance", "behavioral", "balanced"]
Which = Literal["original_workflow", "optimized_workflow"]


class Answer(BaseModel):
    """Part of an answer; a value."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    def response(self) -> dict[str, Any]:
        """Return it as JSON."""
        return self.model_dump(mode="json", by_alias=True)


# Comparison -------------------------------------------------------------------------------------------


class Counterexample(Answer):
    """A trace that only one of two workflows has."""

    trace: list[str]
    """Activities of the complete case"""
    only_in: Which
    """The workflow that has it"""
    shortest: bool
    """Whether no shorter one exists"""


class Difference(Answer):
    """A cell in which two footprints differ."""

    row: str
    """Activity of the row"""
    column: str
    """Activity of the column"""
    original: str
    """Relation in the original: →, ←, || or #"""
    optimized: str
    """Relation in the optimised workflow"""


class Anomaly(Answer):
    """Something about the two workflows, or one of them, that deserves a look."""

    kind: str
    """What it is, such as dead_task or reversed_order"""
    message: str
    """What is wrong, in a sentence"""
    workflow: Which | None = None
    """The workflow that it is about"""
    trace: list[str] | None = None
    """Task ids of a case that shows it"""


class Verdict(Answer):
    """Whether one workflow may replace another, with everything that rests on."""

    validation_passed: bool
    """Whether the optimised workflow may replace the original"""
    validation_mode: Mode
    """The mode that was asked for"""
    reasons: list[str]
    """Why it did not pass"""
    footprint_compatibility: Share | None
    """Share of footprint cells that agree; null if unknown"""
    directly_follows_similarity: Share | None
    """Share of common pairs of activities that directly follow each other"""
    behavioral_equivalence: bool | None
    """Whether the traces are the same; null if unknown"""
    counterexample: Counterexample | None
    """A trace that only one of them has"""
    differences: list[Difference]
    """Footprint cells that differ"""
    differing_cells: int | None
    """Number of footprint cells that differ"""
    activities: list[str] | None
    """All activities of both"""
    start_activities: dict[Which, list[str] | None]
    """Activities that a case can begin with"""
    end_activities: dict[Which, list[str] | None]
    """Activities that a case can end with"""
    sound: dict[Which, bool | None]
    """Whether each is sound; null if unknown"""
    anomalies: list[Anomaly]
    """Soundness failures with traces, reversed orders, missing or new activities"""
    warnings: list[str]
    """Assumptions behind the verdict"""
    conclusive: bool
    """Whether everything could be computed"""
    inconclusive_because: list[str]
    """What could not be computed, and why"""

    @property
    def passed(self) -> bool:
        return self.validation_passed


# Scores -----------------------------------------------------------------------------------------------


class Advice(Answer):
    """One recommendation."""

    dimension: Literal["performance", "maintainability", "compliance"]
    """The score that it would raise"""
    tasks: tuple[str, ...]
    """The tasks to change"""
    change: str
    """What to do"""
    why: str
    """The reason"""


class Times(Answer):
    """What the performance was computed from."""

    critical_path: float | None
    """Seconds, if everything waited only for the data it needs"""
    expected_makespan: float | None
    """Mean seconds of a case"""
    expected_cost: float | None
    """Mean cost of a case"""
    max_parallel: int | None
    """Tasks that can be under way at once"""
    method: Literal["exact", "simulated", "estimated"] | None
    """How the times were found"""
    standard_error: float | None
    """Of a simulated makespan, in seconds"""
    assumed_durations: list[str]
    """Tasks without a duration, which count as 1"""
    unknown_data: list[str]
    """Tasks that do not declare what they read and write"""


class Measure(Answer):
    """A measure as counted, and as a score."""

    raw: float
    """As counted"""
    score: Share
    """As a score"""


class Failed(Answer):
    """One way in which a workflow is unsound."""

    kind: str
    """Which property fails"""
    message: str
    """What goes wrong"""
    trace: list[str]
    """Task ids of the case that shows it"""


class RuleResult(Answer):
    """Whether one rule of the workflow holds."""

    kind: str
    """Kind of the rule"""
    tasks: list[str]
    """Tasks that it names"""
    holds: bool | None
    """Null if unknown"""
    message: str | None
    """Why it does not hold"""
    trace: list[str] | None
    """Task ids of a case that breaks it"""


class Compliance(Answer):
    """What the compliance was computed from."""

    sound: bool | None
    """Null if unknown"""
    failures: list[Failed]
    """Why it is not sound"""
    rules: list[RuleResult]
    """The rules of the workflow"""


class RawScores(Answer):
    """What each score was computed from."""

    performance: Times
    """Times and costs"""
    maintainability: dict[str, Measure]
    """Measures by name"""
    compliance: Compliance
    """Soundness and rules"""
    patterns: dict[str, dict[str, int]]
    """Counts for each pattern"""


class Scores(Answer):
    """How good a workflow is."""

    total_score: Share
    """Weighted total"""
    dimension_scores: dict[str, Share | None]
    """Performance, maintainability, compliance; null if unknown"""
    pattern_scores: dict[str, Share | None]
    """For each requested pattern; null where the workflow has no place for it"""
    weights: dict[str, Share]
    """Weights of the dimensions, summing to 1"""
    raw: RawScores
    """What each score was computed from"""
    recommendations: list[Advice]
    """What to change, mistakes first"""
    conclusive: bool
    """Whether everything could be computed"""
    inconclusive_because: list[str]
    """What could not be computed, and why"""


# Optimisation -----------------------------------------------------------------------------------------


class Metrics(Answer):
    """One workflow, measured."""

    expected_makespan: float | None
    """Mean seconds of a case"""
    method: str | None
    """How the makespan was found"""
    critical_path: float | None
    """Seconds, if everything waited only for the data it needs"""
    performance: float | None
    """Critical path divided by makespan"""
    expected_cost: float | None
    """Mean cost of a case"""
    max_parallel: int | None
    """Tasks that can be under way at once"""
    size: int
    """Tasks, conditions and flows"""
    total_score: float
    """Total score"""


class Pareto(Metrics):
    """A workflow of which no other is better in everything."""

    chosen: bool
    """Whether it is the result"""
    workflow: dict[str, Any]
    """The workflow"""


class Change(Answer):
    """One change, and what it gained."""

    transformation: str
    """Name of the transformation"""
    description: str
    """What was done, with the tasks"""
    keeps_traces: bool
    """Whether the traces stay the same"""
    gain: dict[str, float | None]
    """Seconds, cost, size and score gained"""


class BeforeAndAfter(Answer):
    """The original and the result."""

    before: Metrics
    """The original"""
    after: Metrics
    """The result"""


class Optimization(Answer):
    """The result of an optimisation."""

    optimized_workflow: dict[str, Any]
    """The workflow, in the form it was given; the original if nothing better was found"""
    optimization_target: Target
    """The target that was asked for"""
    changed: bool
    """Whether anything was changed"""
    transformations: list[Change]
    """Changes in order"""
    metrics: BeforeAndAfter
    """Measurements before and after"""
    pareto_front: list[Pareto]
    """Workflows of which none is better in time, cost and size"""
    engine: Literal["gepa", "beam"]
    """The search that found it"""
    seed: int
    """The same seed gives the same answer"""
    evaluations: int
    """Workflows that were measured"""
    validation: Verdict
    """Comparison of the result with the original"""
    notes: list[str]
    """Remarks about the search and its limits"""
