"""Output schemas that look as if they said something, and do not: objects, lists and fields in which there may be anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.schema import Type

__all__ = ["held_open", "is_open"]

_HOLDERS = frozenset(
    ["body", "content", "data", "items", "json", "list", "object", "output", "payload", "records", "response", "result", "results", "rows",
     "value", "values"]
)  # fmt: skip
"""What says by its name no more than that something is in it."""


def is_open(kind: Type) -> bool:
    """Say whether anything may be in values of a type: an object of no fields, a list of no items, or those or null."""
    if kind.kind == "object":
        return not kind.fields and (kind.extra is None or is_open(kind.extra))
    if kind.kind == "array":
        return kind.items is None or is_open(kind.items)
    if kind.kind == "union":
        members = [one for one in kind.members if one.kind != "null"]
        return bool(members) and all(is_open(one) for one in members)
    return kind.kind == "any"


def held_open(kind: Type) -> tuple[str, ...]:
    """Give the fields of an object, where all that they say is that something is in them."""
    if kind.kind != "object" or not all(one.name in _HOLDERS and is_open(one.type) for one in kind.fields):
        return ()
    return tuple(one.name for one in kind.fields)
