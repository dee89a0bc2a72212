"""`suggest_workflow`: how to get a tool's arguments or a field from other tools, as a ready program."""

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
    "the next. `want` names tools or fields and gives the cheapest plans, each with a Python program for execute_program. "
    "With only a `goal`, in any language, it gives up to five candidates found by search: tools that only read in "
    "suggestions, tools that may change something in changes, without a program until you name one in `want`. `have` "
    "has the values you know, by parameter name. Nothing is called. Read a program before you run it."
)


def suggest_workflow(gateway: Gateway) -> FrontTool:
    async def answer(arguments: Mapping[str, Any], _caller: Caller) -> Answer:
        found = await gateway.suggest_workflow(
            arguments.get("goal"),
            arguments.get("have"),
            arguments.get("want"),
            arguments.get("limit"),
            may_change=bool(arguments.get("may_change", False)),
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
                    "description": "Words to search for, in any language; used only without want",
                },
                "have": {
                    "type": ["object", "null"],
                    "default": {},
                    "description": "Known values by parameter name; null for a value that you supply later",
                },
                "want": {
                    "type": ["string", "array", "null"],
                    "items": {"type": "string"},
                    "default": None,
                    "description": "A tool's name, a field such as email or customer.email, or a list of these",
                },
                "may_change": {
                    "type": "boolean",
                    "default": False,
                    "description": "Whether tools that may change something can be steps on the way to what is wanted",
                },
                "limit": {
                    "type": ["integer", "null"],
                    "minimum": 1,
                    "maximum": 10,
                    "default": None,
                    "description": "Suggestions at most; 3 plans or 5 candidates if not given",
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
        "description": "The lists, in a step's result or in `have`, for each item of which it is called",
    },
    paginates={
        "type": ["object", "null"],
        "description": "What leads to the next page, and the parameter that takes it",
    },
    only_where={
        **_TELLING,
        "description": "Filters: only items that hold this value of `have` at this path are used",
    },
    crosses_servers={**_TELLING, "description": "Arguments that come from another server's results"},
)
_SUGGESTIONS = _objects(
    "tools confidence cost steps missing unused mermaid",
    tools={"type": "array", "items": _TEXT, "description": "In the order of the calls"},
    confidence={**_NUMBER, "description": "How certain its links are together, from 0 to 1"},
    cost={**_NUMBER, "description": "Lower is better"},
    steps={**_STEPS, "description": "Each call"},
    missing={
        **_TELLING,
        "description": "Parameters that you have to fill in, and tools that could provide them",
    },
    unused={**_TELLING, "description": "Values of `have` that no step takes, and why"},
    mermaid={**_TEXT, "description": "A picture, in Mermaid"},
    program={**_TEXT, "description": "For execute_program"},
    target={**_TEXT, "description": "For a goal: the tool that was found"},
    signature={**_TEXT, "description": "For a goal: what that tool takes and returns"},
)
_MISSING = _objects(
    "tool parameter could_provide near",
    tool=_TEXT_OR_NULL,
    parameter=_TEXT,
    type=_TEXT,
    description=_TEXT,
    could_provide={**_TELLING, "description": "Tools that return it, with what they need themselves"},
    near={**_TELLING, "description": "Similar names"},
    note=_TEXT,
)
_OUTPUT = {
    "type": "object",
    "properties": {
        "suggestions": {**_SUGGESTIONS, "description": "Best first; for a goal, candidates that only read"},
        "changes": {
            **_SUGGESTIONS,
            "description": "For a goal: candidates that may change something, without a program",
        },
        "missing": {**_MISSING, "description": "What nothing supplies to the best suggestion"},
    },
    "required": ["suggestions", "changes", "missing"],
}
