"""Bounds that an author wrote at a type, and that JSON Schema has no word for: nothing would hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.contract.output import adapter

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["unheld"]

_KINDS = {"decimal", "date", "datetime", "time", "timedelta"}
_BOUNDS = {"ge", "gt", "le", "lt", "max_digits", "decimal_places", "multiple_of"}


def unheld(kind: Any) -> list[str]:
    """Say where in a type there are such bounds; a model of pydantic holds its own."""
    return sorted(set(_found(adapter(kind).core_schema, "what it returns")))


def _found(schema: Any, where: str) -> Iterator[str]:
    if isinstance(schema, list):
        for one in schema:
            yield from _found(one, where)
    if not isinstance(schema, dict) or schema.get("type") in {"model", "model-fields"}:
        return
    if schema.get("type") in _KINDS and _BOUNDS & schema.keys():
        yield where
    named = schema.get("name") if str(schema.get("type", "")).endswith("-field") else None
    for key, inner in schema.items():
        if key == "fields" and isinstance(inner, dict):
            # The fields of a TypedDict are a map by their names.
            for name, field in inner.items():
                yield from _found(field, f"`{name}`")
        elif key != "metadata":
            yield from _found(inner, f"`{named}`" if named else where)
