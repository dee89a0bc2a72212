"""One line that says how to call a tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["signature"]

_LONGEST = 400


def signature(name: str, schema: Mapping[str, Any]) -> str:
    """Give `name(path: string, limit?: integer)`: required parameters first, in the schema's order."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return f"{name}()"
    listed = schema.get("required")
    required = listed if isinstance(listed, list) else []
    parts = [
        f"{key}{'' if key in required else '?'}: {_type(value)}"
        for key, value in sorted(properties.items(), key=lambda item: item[0] not in required)
    ]
    line = f"{name}({', '.join(parts)})"
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def _type(schema: Any) -> str:
    if not isinstance(schema, dict):
        return "any"
    kind = schema.get("type", "any")
    return " | ".join(map(str, kind)) if isinstance(kind, list) else str(kind)
