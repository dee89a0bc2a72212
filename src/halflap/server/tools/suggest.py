"""`suggest_workflow`: plan from available values to a requested output, as a program."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from halflap.server.tools.tool import Answer, FrontTool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.gateway import Gateway
    from halflap.server.caller import Caller

__all__ = ["suggest_workflow"]

_DESCRIPTION = (
    "Suggests how to combine tools: which result field becomes which argument. want gives plans with a program for "
    "execute_program; a goal alone gives candidates, those that may change something in changes, with no program until "
    "named in want. Nothing is called: read the program first, and fill in what is missing."
)


def suggest_workflow(gateway: Gateway) -> FrontTool:
    async def answer(arguments: Mapping[str, Any], _caller: Caller) -> Answer:
        found = await gateway.suggest_workflow(
            arguments.get("goal"),
            arguments.get("have"),
            arguments.get("want"),
            arguments.get("limit"),
            may_change=bool(arguments.get("may_change")),
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
                    "description": "Words to search for",
                },
                "have": {
                    "type": ["object", "null"],
                    "description": "Values by name; null for one you'll supply later",
                },
                "want": {
                    "type": ["string", "array", "null"],
                    "items": {"type": "string"},
                    "description": "Tools or fields; overrides goal",
                },
                "may_change": {
                    "type": "boolean",
                    "default": False,
                    "description": "Allow changes",
                },
                "limit": {
                    "type": ["integer", "null"],
                    "minimum": 1,
                    "maximum": 10,
                    "description": "Maximum",
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
_OBJECTS = {"type": "array", "items": {"type": "object"}}
_STEPS = _objects(
    "id tool server arguments fan_out paginates only_where crosses_servers",
    id={**_TEXT, "description": "Name of the step"},
    tool={**_TEXT, "description": "Namespaced"},
    server={**_TEXT, "description": "Its server"},
    may_change_something={"type": "boolean", "description": "May write"},
    arguments={"type": "object", "description": "Where each comes from"},
    fan_out={
        "type": ["array", "null"],
        "items": {"type": "object"},
        "description": "One call per item of these",
    },
    paginates={"type": ["object", "null"], "description": "Cursor and its parameter"},
    only_where={**_OBJECTS, "description": "Filters"},
    crosses_servers={**_OBJECTS, "description": "From another server"},
)
_SUGGESTIONS = _objects(
    "tools confidence cost steps missing unused mermaid",
    tools={"type": "array", "items": _TEXT, "description": "Ordered"},
    confidence={**_NUMBER, "description": "From 0 to 1"},
    cost={**_NUMBER, "description": "Lower is better"},
    steps={**_STEPS, "description": "Calls"},
    missing={**_OBJECTS, "description": "Parameters to fill in"},
    unused={**_OBJECTS, "description": "Values not used, and why"},
    mermaid={**_TEXT, "description": "Diagram"},
    program={**_TEXT, "description": "For execute_program"},
    signature={**_TEXT, "description": "Of a candidate"},
)
_MISSING = _objects(
    "tool parameter could_provide near",
    tool={**_TEXT_OR_NULL, "description": "Which needs it"},
    parameter={**_TEXT, "description": "Its name"},
    type={**_TEXT, "description": "JSON type"},
    description={**_TEXT, "description": "Its own"},
    could_provide={**_OBJECTS, "description": "Tools"},
    near={**_OBJECTS, "description": "Similar names"},
    note={**_TEXT, "description": "Why"},
)
_OUTPUT = {
    "type": "object",
    "properties": {
        "suggestions": {**_SUGGESTIONS, "description": "Best first"},
        "changes": {**_OBJECTS, "description": "Like suggestions"},
        "missing": {**_MISSING, "description": "What no tool could supply"},
    },
    "required": ["suggestions", "changes", "missing"],
}
