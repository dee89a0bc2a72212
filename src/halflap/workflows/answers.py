"""The answers about workflows, as the gepa tools and `--json` return them; the tools declare their JSON Schema."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1)]
Mode = Literal["strict", "balanced", "lenient"]
Target = Literal["performance", "behavioral", "balanced"]
Which = Literal["original_workflow", "optimized_workflow"]


class Answer(BaseModel):
    """Part of an answer; a value."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    def response(self) -> dict[str, Any]:
        """Return it as JSON."""
        return self.model_dump(mode="json")


FailureKind = Literal["option_to_complete", "proper_completion", "dead_task", "unbounded"]


class Failure(Answer):
    """A reason why a workflow is unsound."""

    kind: FailureKind
    """The property of soundness that fails"""
    message: str
    """What can happen"""
    trace: list[str]
    """Task ids of the case that shows it"""
    marking: dict[str, int] = Field(exclude=True)
    """The tokens then: conditions by id, and `a -> b` for the one between two tasks."""
    task: str | None = Field(default=None, exclude=True)
    """The dead task."""

    @property
    def sentence(self) -> str:
        after = f" (after {', '.join(self.trace)})." if self.trace else "."
        return f"{self.message.removesuffix('.')}{after}"


# Comparison -------------------------------------------------------------------------------------------


class Counterexample(Answer):
    """A shortest trace that only one of two workflows has."""

    trace: list[str]
    """Activities of the complete case"""
    only_in: Which
    """The workflow that has it"""


class Difference(Answer):
    """A cell in which two footprints differ."""

    row: str
    """First activity"""
    column: str
    """Second activity"""
    original: str
    """Relation in the original: →, ←, || or #"""
    optimized: str
    """Relation in the optimised workflow"""


class Anomaly(Answer):
    """Something about the two workflows, or one of them, that deserves a look."""

    kind: str
    """What it is, such as dead_task or reversed_order"""
    message: str
    """What was found"""
    workflow: Which | None = None
    """Where it was found; null if it concerns both"""
    trace: list[str] | None = None
    """Task ids of a case that shows it"""


class Verdict(Answer):
    """Whether one workflow may replace another, and why."""

    validation_passed: bool
    """Whether the optimised workflow may replace the original"""
    validation_mode: Mode
    """How strictly they were compared"""
    reasons: list[str]
    """Why it did not pass"""
    footprint_compatibility: Share | None
    """Share of footprint cells that agree; null if unknown"""
    directly_follows_similarity: Share | None
    """Share of the pairs of direct neighbours that both have (Jaccard); null if unknown"""
    behavioral_equivalence: bool | None
    """Whether the traces are the same; null if unknown"""
    counterexample: Counterexample | None
    """A shortest trace that only one of them has; null if there is none, or it is unknown"""
    differences: list[Difference]
    """Footprint cells that differ"""
    differing_cells: int | None
    """How many footprint cells differ"""
    activities: list[str] | None
    """Rows and columns of the footprints"""
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
    """Whether everything asked could be determined"""
    inconclusive_because: list[str]
    """What could not be determined, and why"""


# Scores -----------------------------------------------------------------------------------------------


class Advice(Answer):
    """One recommendation."""

    dimension: Literal["performance", "maintainability", "compliance"]
    """The score that it would raise"""
    tasks: tuple[str, ...]
    """Ids of the tasks to change"""
    change: str
    """What to change"""
    why: str
    """What it would improve"""


class Measured(Answer):
    """How long cases take, and what they cost; null where that is unknown."""

    critical_path: float | None
    """Seconds, if everything waited only for the data it needs"""
    expected_makespan: float | None
    """Mean seconds of a case"""
    expected_cost: float | None
    """Mean cost of a case, in the unit of the tasks' costs"""
    max_parallel: int | None
    """Tasks that can run at the same time"""
    method: Literal["exact", "simulated", "estimated"] | None
    """How the times were found"""
    standard_error: float | None
    """Of a simulated makespan, in seconds"""


class Times(Measured):
    """What the performance was computed from."""

    assumed_durations: list[str]
    """Tasks without a duration, which count as 1"""
    unknown_data: list[str]
    """Tasks that do not declare what they read and write"""
    problem: str | None = Field(default=None, exclude=True)
    """Why the times are unknown."""

    @property
    def score(self) -> float | None:
        """The critical path divided by the makespan."""
        if self.critical_path is None or self.expected_makespan is None:
            return None
        return min(1.0, self.critical_path / self.expected_makespan) if self.expected_makespan else 1.0


class Measure(Answer):
    """A measure as counted, and as a score."""

    raw: float
    """As counted"""
    score: Share
    """From 0 to 1"""


class RuleResult(Answer):
    """Whether one rule of the workflow holds."""

    kind: str
    """The kind of rule, such as precedence"""
    tasks: tuple[str, ...]
    """Ids of the tasks it is about"""
    holds: bool | None
    """Null if unknown"""
    message: str | None
    """How it is broken, or why that is unknown"""
    trace: list[str] | None
    """Task ids of a case that breaks it"""


class Compliance(Answer):
    """What the compliance was computed from."""

    sound: bool | None
    """Null if unknown"""
    failures: list[Failure]
    rules: list[RuleResult]


class RawScores(Answer):
    """What each score was computed from."""

    performance: Times
    maintainability: dict[str, Measure]
    """Each measure, by name"""
    compliance: Compliance
    patterns: dict[str, dict[str, int]]
    """What was counted for each requested pattern"""


class Scores(Answer):
    """How good a workflow is."""

    total_score: Share
    """From 0 to 1: the weighted dimensions, and a fifth for the patterns if any are named"""
    dimension_scores: dict[str, Share | None]
    """Performance, maintainability, compliance; null if unknown"""
    pattern_scores: dict[str, Share | None]
    """For each requested pattern; null where the workflow has no place for it"""
    weights: dict[str, Share]
    """Weights of the dimensions, summing to 1"""
    raw: RawScores
    """What the scores were computed from"""
    recommendations: list[Advice]
    """What to change, mistakes first"""
    conclusive: bool
    """Whether everything asked could be determined"""
    inconclusive_because: list[str]
    """What could not be determined, and why"""


# Optimisation -----------------------------------------------------------------------------------------


class Metrics(Measured):
    """One workflow, measured."""

    performance: float | None
    """Critical path divided by makespan"""
    size: int
    """Tasks, conditions and flows"""
    total_score: float
    """From 0 to 1"""


class Alternative(Metrics):
    """One workflow of the Pareto front."""

    chosen: bool
    """Whether it is the result"""
    workflow: dict[str, Any]
    """The workflow, in the form it was given"""


class Change(Answer):
    """One change, and what it gained."""

    transformation: str
    """The kind of change"""
    description: str
    """What was changed"""
    keeps_traces: bool
    """Whether the traces stay the same"""
    gain: dict[str, float | None]
    """Seconds, size and score gained"""


class Optimization(Answer):
    """The result of an optimisation."""

    optimized_workflow: dict[str, Any]
    """The workflow, in the form it was given; the original if nothing better was found"""
    net: Any = Field(exclude=True)
    optimization_target: Target
    """As given"""
    changed: bool
    """Whether anything better was found"""
    transformations: list[Change]
    """The changes, in their order"""
    metrics: dict[Literal["before", "after"], Metrics]
    """Both workflows, measured"""
    pareto_front: list[Alternative]
    """The fastest first; each further one is smaller"""
    engine: Literal["gepa", "beam"]
    """The search that was used"""
    evaluations: int
    """How many candidates were scored"""
    validation: Verdict
    """Comparison of the result with the original"""
    notes: list[str]
    """Remarks about the search, such as limits reached"""
