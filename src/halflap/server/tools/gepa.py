"""The gepa family of our own tools: workflows optimised, compared by their footprints, and scored."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from halflap.core.errors import (
    HalflapError,
    WorkflowBusyError,
    WorkflowError,
    WorkflowFailedError,
    WorkflowTimeoutError,
)
from halflap.server.caller import principal_of
from halflap.server.tools.tool import Answer, FrontTool
from halflap.workflows.run.process import Jobs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from halflap.core.codes import Code, OtherCode
    from halflap.core.errors import SeedCode
    from halflap.gateway import Gateway
    from halflap.server.caller import Caller

__all__ = ["gepa_family"]

logger = logging.getLogger(__name__)

_OPTIMIZE = """\
Optimises a workflow: tasks in parallel that do not need each other, what is dead, silent or double taken out, cheap filters \
first. Returns the workflow, each step with what it gained, times and scores before and after, and a verdict on it as \
gepa_validate_footprint gives one. A task that does not say what it reads and writes is taken to depend on everything."""
_VALIDATE = """\
Says whether one workflow may stand for another: whether the traces are the same, with one that only one of them has if not; how \
far the footprints agree, cell by cell; whether both are sound, with a trace to each failure; and whether anything that depends on something \
else can now come before it. What is not known is said to be so, never guessed."""
_SCORE = """\
Scores a workflow: performance, maintainability, compliance with its rules, and how far it uses the patterns that are named. \
Returns one number of all, each with what it was counted from, and recommendations that name the task and the change."""
_NET = """\
{id, input, output, tasks: [{id, label, join, split, duration, cost, reads, writes, resource}], flows: [{from, to, \
predicate, probability, default}], conditions, rules}; or {"yawl": "<the XML of a YAWL specification>"}"""

_INTERNAL: OtherCode = "internal"
_ERRORS: Sequence[Code] = ("workflow", "workflow-failed", "workflow-timeout", "workflow-busy")
_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_SHARE = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
_MAYBE = {"type": ["boolean", "null"]}
_PATTERNS = {
    "type": "array",
    "items": _TEXT,
    "description": "Reference patterns: sequential, parallel, choice, loop",
}
_WEIGHT = {"type": "number", "minimum": 0, "maximum": 1}
_FAILURE = {
    "properties": {
        "error": {"const": True},
        "code": {"enum": ["INVALID_INPUTS", "EXECUTION_ERROR", "TIMEOUT_ERROR"]},
        "message": _TEXT,
    },
    "required": ["error", "code", "message"],
}
_CONCLUSIVE: Mapping[str, Mapping[str, Any]] = {
    "conclusive": {"type": "boolean", "description": "Whether all of this is known"},
    "inconclusive_because": {**_TEXTS, "description": "What is not, and why"},
}
_VERDICT: Mapping[str, Mapping[str, Any]] = {
    "validation_passed": {"type": "boolean", "description": "Whether the one may stand for the other"},
    "validation_mode": {"enum": ["strict", "balanced", "lenient"], "description": "By which measure"},
    "reasons": {**_TEXTS, "description": "Why it did not pass"},
    "footprint_compatibility": {**_SHARE, "description": "The share of cells that agree; null if not known"},
    "directly_follows_similarity": {
        **_SHARE,
        "description": "The share of common pairs that directly follow each other",
    },
    "behavioral_equivalence": {**_MAYBE, "description": "Whether the traces are the same; null if not known"},
    "counterexample": {
        "type": ["object", "null"],
        "description": "A trace that only one of them has, in which, and whether there is no shorter one",
    },
    "differences": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"row": _TEXT, "column": _TEXT, "original": _TEXT, "optimized": _TEXT},
        },
        "description": "The cells of the footprints that differ",
    },
    "differing_cells": {"type": ["integer", "null"], "description": "How many do"},
    "sound": {
        "type": "object",
        "properties": dict.fromkeys(("original_workflow", "optimized_workflow"), _MAYBE),
        "description": "Whether each of the two is sound; null if not known",
    },
    "anomalies": {
        "type": "array",
        "items": {"type": "object", "properties": {"kind": _TEXT, "message": _TEXT}},
        "description": "Failures of soundness with their traces, orders that are reversed, activities that are missing or new",
    },
    "warnings": {**_TEXTS, "description": "What the verdict rests on"},
    **_CONCLUSIVE,
}

_SCORES: Mapping[str, Mapping[str, Any]] = {
    "total_score": {"type": "number", "minimum": 0, "maximum": 1, "description": "All in one number"},
    "pattern_scores": {
        "type": "object",
        "additionalProperties": _SHARE,
        "description": "Of the patterns that were named; null where there is no place for one",
    },
    "dimension_scores": {
        "type": "object",
        "properties": dict.fromkeys(("performance", "maintainability", "compliance"), _SHARE),
        "description": "Null where it is not known",
    },
    "weights": {
        "type": "object",
        "additionalProperties": _WEIGHT,
        "description": "What counted how much, summing to 1",
    },
    "raw": {"type": "object", "description": "What each was counted from"},
    "recommendations": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"dimension": _TEXT, "tasks": _TEXTS, "change": _TEXT, "why": _TEXT},
        },
        "description": "What would make it better, and of which tasks",
    },
    **_CONCLUSIVE,
}
_BETTER: Mapping[str, Mapping[str, Any]] = {
    "optimized_workflow": {"type": "object", "description": "The workflow; as it was, if nothing is better"},
    "optimization_target": {"enum": ["performance", "behavioral", "balanced"], "description": "As asked for"},
    "changed": {"type": "boolean", "description": "Whether anything was"},
    "transformations": {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "transformation": _TEXT,
                "description": _TEXT,
                "keeps_traces": {"type": "boolean"},
                "gain": {"type": "object"},
            },
        },
        "description": "What was done at each step, and what it gained",
    },
    "metrics": {
        "type": "object",
        "properties": {"before": {"type": "object"}, "after": {"type": "object"}},
        "description": "Times, costs, sizes and scores before and after",
    },
    "pareto_front": {
        "type": "array",
        "items": {"type": "object"},
        "description": "Workflows of which none is better in everything",
    },
    "engine": {"enum": ["gepa", "beam"], "description": "What looked for it"},
    "seed": {"type": "integer", "description": "The same gives the same answer"},
    "evaluations": {"type": "integer", "description": "How many workflows were measured"},
    "validation": {"type": "object", "description": "What gepa_validate_footprint says of it"},
    "notes": {**_TEXTS, "description": "What a reader should know"},
}


def gepa_family(gateway: Gateway) -> list[FrontTool]:
    """Return the tools of the family, bound to a gateway."""
    jobs = Jobs(gateway.config.workflows.timeout_seconds)

    def tool(job: str, name: str, title: str, described: str, **of: Mapping[str, Any]) -> FrontTool:
        async def answer(arguments: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
            return await jobs.run(job, arguments, principal_of(caller.context))

        return FrontTool(
            name=name,
            title=title,
            description=described,
            input_schema=of["takes"],
            output_schema={
                "type": "object",
                "properties": of["gives"],
                "anyOf": [{"required": list(of["gives"])}, _FAILURE],
            },
            read_only=True,
            handler=_answering(answer),
            errors=_ERRORS,
            checks=False,
        )

    return [
        tool(
            "optimize",
            "gepa_optimize_workflow",
            "Optimise a workflow",
            _OPTIMIZE,
            takes={
                "type": "object",
                "required": ["workflow_spec", "optimization_target"],
                "properties": {
                    "workflow_spec": {"type": "object", "description": f"Workflow specification: {_NET}"},
                    "optimization_target": {
                        "type": "string",
                        "enum": ["performance", "behavioral", "balanced"],
                        "description": "Primary optimization objective: behavioral keeps the traces as they are, performance takes every change that data, rules and constraints permit, balanced those that keep most of the footprint",
                    },
                    "constraints": {
                        "type": "object",
                        "description": "Optional constraints: max_cost, max_parallel, keep_order (true, or pairs of tasks), fixed (tasks)",
                    },
                    "reference_patterns": _PATTERNS,
                },
            },
            gives=_BETTER,
        ),
        tool(
            "validate",
            "gepa_validate_footprint",
            "Compare two workflows",
            _VALIDATE,
            takes={
                "type": "object",
                "required": ["original_workflow", "optimized_workflow"],
                "properties": {
                    "original_workflow": {"type": "object", "description": f"A workflow: {_NET}"},
                    "optimized_workflow": {"type": "object", "description": "Another, in the same form"},
                    "validation_mode": {
                        "type": "string",
                        "enum": ["strict", "balanced", "lenient"],
                        "description": "strict: the same traces; balanced, the default: 0.8 of the footprint agrees, and no dependent order is reversed; lenient: 0.5, and the same activities",
                    },
                },
            },
            gives=_VERDICT,
        ),
        tool(
            "score",
            "gepa_score_workflow",
            "Score a workflow",
            _SCORE,
            takes={
                "type": "object",
                "required": ["workflow", "reference_patterns"],
                "properties": {
                    "workflow": {"type": "object", "description": f"A workflow: {_NET}"},
                    "reference_patterns": _PATTERNS,
                    "scoring_weights": {
                        "type": "object",
                        "description": "What counts how much; by default performance 0.4, maintainability 0.3, compliance 0.3. They are made to sum to 1",
                        "properties": dict.fromkeys(
                            ("performance", "maintainability", "compliance"), _WEIGHT
                        ),
                    },
                },
            },
            gives=_SCORES,
        ),
    ]


def _answering(
    handler: Callable[[Mapping[str, Any], Caller], Awaitable[dict[str, Any]]],
) -> Callable[[Mapping[str, Any], Caller], Awaitable[Answer]]:
    """Turn every failure into an error object."""

    async def answer(arguments: Mapping[str, Any], caller: Caller) -> Answer:
        try:
            given = await handler(arguments, caller)
        except (WorkflowError, WorkflowFailedError, WorkflowTimeoutError, WorkflowBusyError) as error:
            return _failed(error.seed_code, str(error), error.code)
        except HalflapError as error:
            return _failed("EXECUTION_ERROR", str(error), error.code)
        except Exception as error:
            logger.exception("a tool of the gepa family failed")
            text = f"Halflap failed to answer ({type(error).__name__}). Its log has the whole story."
            return _failed("EXECUTION_ERROR", text, _INTERNAL)
        return Answer(_text(given), given)

    return answer


def _failed(seed_code: SeedCode, message: str, code: Code | str) -> Answer:
    told = {"error": True, "code": seed_code, "message": message}
    return Answer(_text(told), told, is_error=True, code=code)


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
