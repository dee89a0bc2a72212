"""`suggest_workflow`: from what is at hand to what is wanted, as a program that is ready to run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from halflap.server.family import Answer, FrontTool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.gateway import Gateway
    from halflap.server.caller import Caller

__all__ = ["suggest_workflow"]

_DESCRIPTION = (
    "Suggests how to combine tools: which to call, in which order, and which field of one's result is which argument of "
    "the next. Say what you want: a tool's name or a field (want), or what should be done in words (goal); and the "
    "values that you have, by the names of parameters (have; null for one that you only know to exist). Each suggestion "
    "has its steps with where every argument comes from and how sure that is, what is still missing, and a ready Python "
    "program for execute_program. Nothing is called: read the program before you run it, and fill in what it asks for."
)


def suggest_workflow(gateway: Gateway) -> FrontTool:
    """Give the tool, bound to a gateway."""

    async def answer(arguments: Mapping[str, Any], _caller: Caller) -> Answer:
        found = await gateway.suggest_workflow(
            arguments.get("goal"),
            arguments.get("have"),
            arguments.get("want"),
            int(arguments.get("limit", 3)),
        )
        return Answer(json.dumps(found, indent=2, ensure_ascii=False), found)

    return FrontTool(
        name="suggest_workflow",
        title="Suggest a workflow",
        description=_DESCRIPTION,
        input_schema={
            "type": "object",
            "properties": {
                "goal": {
                    "type": ["string", "null"],
                    "default": None,
                    "description": "What should be done, in words; the tools that fit best are planned for. What destroys, or "
                    "is to be done to all that are found, has to be named by want",
                },
                "have": {
                    "type": ["object", "null"],
                    "default": {},
                    "description": "The values at hand, by the names of parameters; null where one only exists",
                },
                "want": {
                    "type": ["string", "null"],
                    "default": None,
                    "description": "A tool's name, or a field such as email or customer.email; wins over goal",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 10,
                    "default": 3,
                    "description": "So many suggestions at most",
                },
            },
            "additionalProperties": False,
        },
        output_schema=_OUTPUT,
        read_only=True,
        handler=answer,
        errors=("usage", "tool-not-found", "tool-blocked", "tool-held"),
    )


def _objects(required: str, **properties: Any) -> dict[str, Any]:
    return {
        "type": "array",
        "items": {"type": "object", "properties": properties, "required": required.split()},
    }


_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_TEXT_OR_NULL = {"type": ["string", "null"]}
_TELLING = {"type": "array", "items": {"type": "object"}}
_STEPS = _objects(
    "id tool server arguments fan_out paginates only_where crosses_servers",
    id=_TEXT,
    tool=_TEXT,
    server=_TEXT,
    may_change_something={"type": "boolean"},
    arguments={
        "type": "object",
        "description": "By parameter: from `have` (with `each`: one call for each item), `default`, another `step` with "
        "its path, confidence and evidence, or `missing`",
        "additionalProperties": {"type": "object"},
    },
    fan_out={
        "type": ["array", "null"],
        "items": {"type": "object"},
        "description": "What it is called once for each item of: of a step's result, or of a list in `have`",
    },
    paginates={
        "type": ["object", "null"],
        "description": "The cursor that comes back, and the parameter that takes it",
    },
    only_where={
        **_TELLING,
        "description": "Of its items only those are used that have what is at hand: where they have it, and its name in "
        "`have`; with `other`, those that have something else there",
    },
    crosses_servers={**_TELLING, "description": "Arguments that come from another server's results"},
)
_SUGGESTIONS = _objects(
    "tools confidence cost steps missing unused mermaid program",
    tools={"type": "array", "items": _TEXT, "description": "In the order of the calls"},
    confidence={**_NUMBER, "description": "How sure its links are together, from 0 to 1"},
    cost={**_NUMBER, "description": "What it is ranked by: the less, the better"},
    steps={**_STEPS, "description": "Each call"},
    missing={**_TELLING, "description": "Parameters that you have to fill in"},
    unused={**_TELLING, "description": "What is in `have` and no step takes, each with the reason"},
    mermaid={**_TEXT, "description": "A picture, in Mermaid"},
    program={**_TEXT, "description": "For execute_program"},
)
_MISSING = _objects(
    "tool parameter could_provide near",
    tool=_TEXT_OR_NULL,
    parameter=_TEXT,
    type=_TEXT,
    description=_TEXT,
    could_provide={**_TELLING, "description": "Tools that would give it, if they got what they need"},
    near={**_TELLING, "description": "What comes near, and why it will not do"},
    note=_TEXT,
)
_OUTPUT = {
    "type": "object",
    "properties": {
        "suggestions": {**_SUGGESTIONS, "description": "The best first; no two use the same tools"},
        "missing": {
            **_MISSING,
            "description": "What could not be supplied, where nothing gets all the way; and tools that change something, "
            "which the goal does not plainly tell to use (`note` says why)",
        },
    },
    "required": ["suggestions", "missing"],
}
