"""Short ways to write the tools of the rules' examples."""

from __future__ import annotations

from typing import Any

from halflap.lint.rule import Example

__all__ = ["NUMBER", "TEXT", "example", "field", "listed", "record", "tool"]


def field(kind: str, description: str = "", **more: Any) -> dict[str, Any]:
    """Write the schema of a plain value."""
    return {"type": kind, **({"description": description} if description else {}), **more}


TEXT = field("string", "The text.")
NUMBER = field("integer", "How many.")


def record(*required: str, description: str = "", **fields: Any) -> dict[str, Any]:
    """Write the schema of an object."""
    said = {"description": description} if description else {}
    return {
        "type": "object",
        **said,
        "properties": fields,
        **({"required": list(required)} if required else {}),
    }


def listed(items: dict[str, Any], description: str = "All of them.") -> dict[str, Any]:
    """Write the schema of a list."""
    return {"type": "array", "description": description, "items": items}


def tool(name: str, takes: dict[str, Any] | None = None, gives: Any = None, **more: Any) -> dict[str, Any]:
    """Write a definition."""
    return {
        "name": name,
        "description": f"{name.replace('_', ' ').capitalize()}.",
        "inputSchema": takes or record(),
        **({} if gives is None else {"outputSchema": gives}),
        **more,
    }


def example(*tools: dict[str, Any]) -> Example:
    """Put tools together."""
    return Example(tools)
