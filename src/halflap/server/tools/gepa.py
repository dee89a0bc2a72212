"""The gepa family of our own tools: workflows optimised, compared by their footprints, and scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.server.tools.tool import FrontTool, array, field, record, with_error_objects
from halflap.workflows.answers import Optimization, Scores, Verdict
from halflap.workflows.run.process import Jobs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import BaseModel

    from halflap.gateway import Gateway
    from halflap.server.passthrough.client import Client

__all__ = ["gepa_family"]

_OPTIMIZE = """\
Optimise a workflow: run independent tasks in parallel, remove dead, silent and repeated tasks, make choices before work that only one \
way needs. Returns the workflow, each change with what it gained, times and scores before and after, and a comparison of both as \
gepa_validate_footprint returns it. A task that does not declare what it reads and writes counts as dependent on everything."""
_VALIDATE = """\
Check whether one workflow may replace another: whether their traces are the same, with a counterexample if not; how far their footprints \
agree; whether both are sound, with a trace to each failure; and whether anything can now come before what it depends on. \
What cannot be determined is reported as unknown, never guessed."""
_SCORE = """\
Score a workflow: performance, maintainability, compliance with its rules, and use of the named patterns. \
Returns a total, each score with what it was computed from, and recommendations that name the tasks and the change."""
_NET = """\
{id, input, output, tasks: [{id, label, join, split, duration, cost, reads, writes, resource}], flows: [{from, to, \
predicate, probability, default}], conditions, rules}; or {"yawl": "<the XML of a YAWL specification>"}"""

_ERRORS: Sequence[str] = ("workflow", "workflow-failed", "workflow-timeout", "workflow-busy")
_PATTERNS = array("Reference patterns: sequential, parallel, choice, loop", {"type": "string"})
_FAILURE = {
    "properties": {
        "error": {"const": True, "description": "Present if there is no answer"},
        "code": {
            "enum": ["INVALID_INPUTS", "EXECUTION_ERROR", "TIMEOUT_ERROR"],
            "description": "What kind of failure it is",
        },
        "message": {"type": "string", "description": "What is wrong and what to do"},
    },
    "required": ["error", "code", "message"],
}


def _output_schema(answer: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of an answer or an error object."""
    schema = _plain(answer.model_json_schema(mode="serialization"))
    required = schema.pop("required")
    return {**schema, "additionalProperties": True, "anyOf": [{"required": required}, _FAILURE]}


def _plain(schema: Any) -> Any:
    """Return a schema without the titles that pydantic makes of names."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _plain(one) for key, one in schema.items() if key != "title" or not isinstance(one, str)}


def gepa_family(gateway: Gateway) -> list[FrontTool]:
    """Return the tools of the family, bound to a gateway."""
    jobs = Jobs(gateway.config.workflows.timeout_seconds)

    def tool(
        job: str, name: str, title: str, described: str, *, answers: type[BaseModel], takes: Mapping[str, Any]
    ) -> FrontTool:
        async def answer(arguments: Mapping[str, Any], client: Client) -> dict[str, Any]:
            return await jobs.run(job, arguments, client.principal)

        return FrontTool(
            name=name,
            title=title,
            description=described,
            input_schema=takes,
            output_schema=_output_schema(answers),
            read_only=True,
            handler=with_error_objects(answer),
            errors=_ERRORS,
            checks=False,
        )

    targets = (
        "Primary optimization objective: behavioral keeps all traces, performance takes every change that data, rules and "
        "constraints permit, balanced keeps most of the footprint"
    )
    constraints = (
        "Optional constraints: max_cost, max_parallel, keep_order (true, or pairs of tasks), fixed (tasks)"
    )
    modes = (
        "strict: the same traces; balanced, the default: 0.8 of the footprint agrees, and no dependent order is reversed; "
        "lenient: 0.5, and the same activities"
    )
    weights = "Weights of the dimensions, scaled to sum to 1; by default performance 0.4, maintainability 0.3, compliance 0.3"
    return [
        tool(
            "optimize",
            "gepa_optimize_workflow",
            "Optimise a workflow",
            _OPTIMIZE,
            takes=record(
                "workflow_spec optimization_target",
                workflow_spec=field("object", f"Workflow specification: {_NET}"),
                optimization_target=field("string", targets, enum=["performance", "behavioral", "balanced"]),
                constraints=field("object", constraints),
                reference_patterns=_PATTERNS,
            ),
            answers=Optimization,
        ),
        tool(
            "validate",
            "gepa_validate_footprint",
            "Compare two workflows",
            _VALIDATE,
            takes=record(
                "original_workflow optimized_workflow",
                original_workflow=field("object", f"A workflow: {_NET}"),
                optimized_workflow=field("object", "Another, in the same form"),
                validation_mode=field("string", modes, enum=["strict", "balanced", "lenient"]),
            ),
            answers=Verdict,
        ),
        tool(
            "score",
            "gepa_score_workflow",
            "Score a workflow",
            _SCORE,
            takes=record(
                "workflow reference_patterns",
                workflow=field("object", f"A workflow: {_NET}"),
                reference_patterns=_PATTERNS,
                scoring_weights=field(
                    "object",
                    weights,
                    properties={
                        name: field("number", f"Weight of {name}", minimum=0, maximum=1)
                        for name in ("performance", "maintainability", "compliance")
                    },
                ),
            ),
            answers=Scores,
        ),
    ]
