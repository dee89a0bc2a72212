"""What is known about a tool's results, as lines and rows for `halflap schema show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.cli.output import plural, visible
from halflap.cli.tools import drift_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.core.values import Tool
    from halflap.observe import Known
    from halflap.schema import Type
    from halflap.store import StoredShape

__all__ = ["field_rows", "history_lines", "learned_schema", "summary_lines", "versions"]

_MAX_DEPTH = 8
_MAX_FIELDS = 300
_MAX_TEXT = 100


def learned_schema(known: Known, *, enums: bool) -> dict[str, Any]:
    from halflap.learn import schema_of  # noqa: PLC0415 -- only this command needs it
    from halflap.observe import whole  # noqa: PLC0415

    return schema_of(whole(known.learned), enums=enums)


def summary_lines(described: dict[str, Any], known: Known | None) -> list[str]:
    lines = [described["name"], *([f"  {described['note']}"] if "note" in described else [])]
    if known is not None:
        failed = f"; {plural(known.errors, 'more call')} failed" if known.errors else ""
        when = described.get("lastObserved") or "unknown"
        results = plural(known.observations, "result")
        lines.append(f"  {results}{failed}. Confidence {known.confidence:.2f}. Last: {when}")
    lines += [
        f"  {'Since ' + one['since'] if one['since'] else 'In logs'}: {drift_line(one)}"
        for one in described.get("drift", ())
    ]
    return [*lines, ""]


def field_rows(tool: Tool, known: Known | None) -> list[tuple[str, ...]]:
    """Return for each field its type, how often it was seen, and whether it is declared, learned or both."""
    from halflap.schema import result_type  # noqa: PLC0415 -- only this command needs it

    declared = dict(_type_fields(result_type(tool.output_schema), "", 0))
    learned = {} if known is None else dict(_schema_fields(learned_schema(known, enums=False), "", 0, 1.0))
    rows: list[tuple[str, ...]] = []
    for path in list(dict.fromkeys([*declared, *learned]))[:_MAX_FIELDS]:
        kind, presence = learned.get(path, ("", None))
        seen = "" if presence is None else "always" if presence >= 1 else f"in {presence:.0%}"
        sources = [word for word, found in (("declared", declared), ("learned", learned)) if path in found]
        rows.append((visible(path), declared.get(path) or kind, seen, " and ".join(sources)))
    return rows


def _type_fields(kind: Type | None, path: str, depth: int) -> Iterator[tuple[str, str]]:
    from halflap.schema import compact  # noqa: PLC0415 -- as above

    if kind is None or depth > _MAX_DEPTH:
        return
    choices = kind.members or (kind,)
    words = [one.kind if one.kind in {"object", "array"} else compact(one)[:_MAX_TEXT] for one in choices]
    yield path, " | ".join(dict.fromkeys(words))
    for one in choices:
        for field in one.fields:
            yield from _type_fields(field.type, f"{path}.{field.name}" if path else field.name, depth + 1)
        for part, ending in ((one.extra, "[key]"), (one.items, "[]")):
            yield from _type_fields(part, f"{path}{ending}", depth + 1)


def _schema_fields(
    part: dict[str, Any], path: str, depth: int, presence: float
) -> Iterator[tuple[str, tuple[str, float]]]:
    if depth > _MAX_DEPTH:
        return
    types = part.get("type", [])
    words = [types] if isinstance(types, str) else list(types)
    if "format" in part:
        words = [f"{word} ({part['format']})" if word == "string" else word for word in words]
    branches = part.get("anyOf", [])
    words += [f"object of {len(branches)} kinds"] if branches else []
    yield path, (" | ".join(words) or "any", presence)
    for name, member in part.get("properties", {}).items():
        often = member.get("x-halflap", {}).get("presence", 1.0)
        yield from _schema_fields(member, f"{path}.{name}" if path else name, depth + 1, often)
    for key, ending in (("items", "[]"), ("additionalProperties", "[key]")):
        if isinstance(part.get(key), dict):
            yield from _schema_fields(part[key], f"{path}{ending}", depth + 1, 1.0)
    for branch in branches:
        yield from list(_schema_fields(branch, path, depth, presence))[1:]


def versions(tool: Tool, rows: Sequence[StoredShape]) -> list[dict[str, Any]]:
    """Return what was learned under each definition of a tool, newest first."""
    from halflap.learn import confidence  # noqa: PLC0415 -- only this command needs it
    from halflap.observe import iso, known_of, merged, whole  # noqa: PLC0415
    from halflap.schema import compact  # noqa: PLC0415

    found = []
    for digest in {row.definition_hash for row in rows}:
        own = [row for row in rows if row.definition_hash == digest]
        learned = merged(own)
        shape, known = whole(learned), known_of(own[0].key, learned)
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
    lines = [tool.name]
    for one in versions(tool, rows):
        which = "any definition" if one["definition"] is None else f"definition {one['definition'][:12]}"
        counts = f"{plural(one['observations'], 'result')}, {plural(one['errors'], 'error')}"
        lines += [
            f"  {which}{' (current)' if one['current'] else ''}: {counts}, confidence {one['confidence']:.2f}",
            f"    {one['firstObserved'] or '?'} to {one['lastObserved'] or '?'}, from {', '.join(one['origins'])}",
            f"    {one['returns'] or 'too few results to say what it returns'}",
        ]
    return lines if rows else [*lines, "  Nothing was learned yet."]
