"""What was learned, in lines: field by field with where it is known from, and version by version."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from halflap.core.text import visible
from halflap.learn import confidence, schema_of
from halflap.observe import iso, known_of, merged, whole
from halflap.schema import compact, result_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.core.values import Tool
    from halflap.observe import Known
    from halflap.schema import Type
    from halflap.store import StoredShape

__all__ = ["field_lines", "field_rows", "history_lines", "type_rows", "versions"]

_DEEPEST = 8
_MOST_LINES = 300
_LONGEST = 100


def field_rows(tool: Tool, known: Known | None) -> list[tuple[str, ...]]:
    """Give for each place what is there, how often, and whether that is declared, learned or both."""
    declared = {path: what for path, what, _ in _of_type(result_type(tool.output_schema), "", 0)}
    learned = {} if known is None else dict(_of_schema(schema_of(whole(known.learned)), "", 0, 1.0))
    rows: list[tuple[str, ...]] = []
    for path in dict.fromkeys([*declared, *learned]):
        kind, presence = learned.get(path, ("", None))
        seen = "" if presence is None else "always" if presence >= 1 else f"in {presence:.0%}"
        source = " and ".join(
            word for word, places in (("declared", declared), ("learned", learned)) if path in places
        )
        rows.append((visible(path, _LONGEST), declared.get(path) or kind, seen, source))
    return rows[:_MOST_LINES]


def type_rows(kind: Type) -> list[tuple[str, ...]]:
    """Give for each place of a type what is there."""
    return [
        (visible(path, _LONGEST), what, "" if required else "optional")
        for path, what, required in islice(_of_type(kind, "", 0), _MOST_LINES)
    ]


def field_lines(found: Sequence[tuple[str, ...]]) -> list[str]:
    """Give a line for each of these rows, below a heading."""
    if not found:
        return []
    rows = [("place", "what", "seen", "known"), *((row[0] or "(the value)", *row[1:]) for row in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]).rstrip()
        for row in rows
    ]


def _of_type(
    kind: Type | None, path: str, depth: int, *, required: bool = True
) -> Iterator[tuple[str, str, bool]]:
    if kind is None or depth > _DEEPEST:
        return
    choices = kind.members or (kind,)
    yield path, " | ".join(dict.fromkeys(_word(one) for one in choices)), required
    for one in choices:
        for field in one.fields:
            inner = f"{path}.{field.name}" if path else field.name
            yield from _of_type(field.type, inner, depth + 1, required=field.required)
        if one.extra is not None:
            yield from _of_type(one.extra, f"{path}[key]", depth + 1)
        if one.items is not None:
            yield from _of_type(one.items, f"{path}[]", depth + 1)


def _word(kind: Type) -> str:
    return kind.kind if kind.kind in {"object", "array"} else compact(kind)[:_LONGEST]


def _of_schema(
    schema: dict[str, Any], path: str, depth: int, presence: float
) -> Iterator[tuple[str, tuple[str, float]]]:
    if depth > _DEEPEST:
        return
    types = schema.get("type", [])
    words = [types] if isinstance(types, str) else list(types)
    if "format" in schema:
        words = [f"{word} ({schema['format']})" if word == "string" else word for word in words]
    branches = schema.get("oneOf", [])
    if branches:
        words.append(f"object of {len(branches)} kinds")
    yield path, (" | ".join(words) or "anything", presence)
    for name, part in schema.get("properties", {}).items():
        often = part.get("x-halflap", {}).get("presence", 1.0)
        yield from _of_schema(part, f"{path}.{name}" if path else name, depth + 1, often)
    if isinstance(schema.get("items"), dict):
        yield from _of_schema(schema["items"], f"{path}[]", depth + 1, 1.0)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from _of_schema(schema["additionalProperties"], f"{path}[key]", depth + 1, 1.0)
    for branch in branches:
        inner = list(_of_schema(branch, path, depth, presence))
        yield from inner[1:]


def versions(tool: Tool, rows: Sequence[StoredShape]) -> list[dict[str, Any]]:
    """Give what was learned of a tool under each of its definitions, the newest first."""
    found = []
    for digest in {row.definition_hash for row in rows}:
        own = [row for row in rows if row.definition_hash == digest]
        learned = merged(own)
        shape = whole(learned)
        known = known_of(own[0].key, learned)
        found.append(
            {
                "definition": digest or None,
                "current": digest == tool.schema_hash,
                "origins": [row.origin for row in own],
                "observations": shape.observations,
                "errors": learned.error.observations,
                "confidence": round(confidence(shape), 4),
                "firstObserved": iso(shape.first),
                "lastObserved": iso(shape.last),
                "observedSchema": None if known is None else known.schema,
                "returns": None if known is None or known.type is None else compact(known.type),
            }
        )
    return sorted(found, key=lambda one: (one["current"], one["lastObserved"] or ""), reverse=True)


def history_lines(tool: Tool, rows: Sequence[StoredShape]) -> list[str]:
    """Give the same in lines."""
    lines = [tool.name]
    for one in versions(tool, rows):
        which = "of any definition" if one["definition"] is None else f"definition {one['definition'][:12]}"
        counts = f"{one['observations']} results, {one['errors']} errors, confidence {one['confidence']:.2f}"
        lines += [
            f"  {which}{' (current)' if one['current'] else ''}: {counts}",
            f"    {one['firstObserved'] or '?'} to {one['lastObserved'] or '?'}, from {', '.join(one['origins'])}",
            f"    {one['returns'] or 'too little to say what it returns'}",
        ]
    return lines if rows else [*lines, "  Nothing was learned of it yet."]
