"""`suggest_workflow`: plan from available values to a requested output, as a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.server.tools.tool import Answer, FrontTool, array, field, record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.gateway import Gateway
    from halflap.server.passthrough.client import Client

__all__ = ["suggest_workflow"]

_DESCRIPTION = (
    "Suggests how to combine tools: which result field becomes which argument. want gives plans with a program for "
    "execute_program; a goal alone gives candidates, those that may change something in changes, with no program until "
    "named in want. Nothing is called: read the program first, and fill in what is missing."
)


def suggest_workflow(gateway: Gateway) -> FrontTool:
    async def answer(arguments: Mapping[str, Any], _client: Client) -> Answer:
        found = await gateway.suggest_workflow(
            arguments.get("goal"),
            arguments.get("have"),
            arguments.get("want"),
            arguments.get("limit"),
            may_change=bool(arguments.get("may_change")),
        )
        return Answer.json(found)

    return FrontTool(
        name="suggest_workflow",
        title="Suggest a workflow",
        description=_DESCRIPTION,
        input_schema=record(
            closed=True,
            goal=field(["string", "null"], "Words to search for"),
            have=field(["object", "null"], "Values by name; null for one you'll supply later"),
            want=field(
                ["string", "array", "null"], "Tools or fields; overrides goal", items={"type": "string"}
            ),
            may_change=field("boolean", "Allow changes", default=False),
            limit=field(["integer", "null"], "Maximum", minimum=1, maximum=10),
        ),
        output_schema=_OUTPUT,
        read_only=True,
        handler=answer,
        errors=("usage", "tool-not-found", "tool-blocked", "tool-held"),
    )


_OBJECT = {"type": "object"}
_STEP = record(
    "id tool server arguments fan_out paginates only_where crosses_servers",
    id=field("string", "Name of the step"),
    tool=field("string", "Namespaced"),
    server=field("string", "Its server"),
    may_change_something=field("boolean", "May write"),
    arguments=field("object", "Where each comes from"),
    fan_out=field(["array", "null"], "One call per item of these", items=_OBJECT),
    paginates=field(["object", "null"], "Cursor and its parameter"),
    only_where=array("Filters", _OBJECT),
    crosses_servers=array("From another server", _OBJECT),
)
_SUGGESTION = record(
    "tools confidence cost steps missing unused mermaid",
    tools=array("Ordered", {"type": "string"}),
    confidence=field("number", "From 0 to 1"),
    cost=field("number", "Lower is better"),
    steps=array("Calls", _STEP),
    missing=array("Parameters to fill in", _OBJECT),
    unused=array("Values not used, and why", _OBJECT),
    mermaid=field("string", "Diagram"),
    program=field("string", "For execute_program"),
    signature=field("string", "Of a candidate"),
)
_MISSING = record(
    "tool parameter could_provide near",
    tool=field(["string", "null"], "Which needs it"),
    parameter=field("string", "Its name"),
    type=field("string", "JSON type"),
    description=field("string", "Its own"),
    could_provide=array("Tools", _OBJECT),
    near=array("Similar names", _OBJECT),
    note=field("string", "Why"),
)
_OUTPUT = record(
    "suggestions changes missing",
    suggestions=array("Best first", _SUGGESTION),
    changes=array("Like suggestions", _OBJECT),
    missing=array("What no tool could supply", _MISSING),
)
