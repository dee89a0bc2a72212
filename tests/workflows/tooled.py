"""Workflows whose tasks call the tools of the counting server."""

from __future__ import annotations

from typing import Any


def net(*tasks: dict[str, Any], flows: str, **more: Any) -> dict[str, Any]:
    """Return a workflow; flows are written as `i>a a>b`, further fields of one are given as `a_b`."""
    pairs = [text.split(">") for text in flows.split()]
    return {
        "id": "tested",
        "input": "i",
        "output": "o",
        "tasks": list(tasks),
        "flows": [{"from": one, "to": other, **more.get(f"{one}_{other}", {})} for one, other in pairs],
        **{key: value for key, value in more.items() if key in {"conditions", "kept"}},
    }


def task(name: str, tool: str | None = "say", what: Any = None, **more: Any) -> dict[str, Any]:
    if tool is None:
        return {"id": name, "label": None, **more}
    arguments = {"what": name if what is None else what}
    return {"id": name, "tool": f"mcp__counting__{tool}", "arguments": arguments, **more}
