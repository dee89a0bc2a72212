"""Tools whose parameters and results are plain texts, said in a line each."""

from __future__ import annotations

from typing import Any

__all__ = ["plain_tool"]


def _object(names: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names.split()},
        "required": names.split(),
    }


def plain_tool(name: str, takes: str, gives: str, description: str) -> dict[str, Any]:
    """Make a tool; `gives` are names of fields, or, with `many:` before them, of those of each of several."""
    many, colon, fields = gives.rpartition(":")
    shape = _object(fields)
    if colon:
        items = {"type": "array", "items": shape}
        shape = {"type": "object", "properties": {many: items}, "required": [many]}
    return {"name": name, "description": description, "inputSchema": _object(takes), "outputSchema": shape}
