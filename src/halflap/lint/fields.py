"""The named fields of a schema, with where they are and what the schema says about them.

`halflap.schema` reads types; the linter also needs what types leave out: descriptions, units and ignored rules.
Schemas are untrusted, so the walk stops at a depth and after a number of fields.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from halflap.core.text import visible
from halflap.graph.naming import words_of
from halflap.schema import References

if TYPE_CHECKING:
    from halflap.graph.naming import Words

Side = Literal["input", "output"]
IGNORE_KEYWORD = "x-halflap-lint-ignore"
"""In a schema or a tool's `_meta`: the rules that the author ignores, each with a reason."""

_MAX_FIELDS = 400
_MAX_DEPTH = 10
_MAX_PARTS = 60
"""Subschemas read for one field: what it refers to, and its alternatives."""
_CONSTRAINTS = ("format", "pattern", "enum", "const", "example", "examples")


@dataclass(frozen=True, slots=True)
class SchemaField:
    """A named field of what a tool takes or returns."""

    side: Side
    keys: tuple[str, ...]
    """The names on the way to it, without lists and maps."""
    where: str
    """`output.orders[].total`"""
    types: frozenset[str]
    """For a list, the types of its items."""
    description: str
    required: bool
    constraints: frozenset[str]
    """Which of `format`, `pattern`, `enum` … it has."""
    relations: dict[str, Any]
    """What it has under `x-halflap`: `produces`, `consumes`, `unit`."""
    ignores: dict[str, Any]
    is_list: bool
    siblings: frozenset[str]

    @property
    def name(self) -> str:
        return self.keys[-1]

    @property
    def words(self) -> Words:
        return words_of(self.name)

    @property
    def shown(self) -> str:
        return visible(self.name, 60)


@dataclass(slots=True)
class _Merged:
    """Everything that is said about one place: directly, behind references, in alternatives."""

    types: set[str] = field(default_factory=set)
    description: str = ""
    constraints: set[str] = field(default_factory=set)
    relations: dict[str, Any] = field(default_factory=dict)
    ignores: dict[str, Any] = field(default_factory=dict)
    properties: dict[str, list[Any]] = field(default_factory=dict)
    required: set[str] = field(default_factory=set)
    items: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)


def fields_of_schema(schema: Any, side: Side, *, wrapper: str = "") -> tuple[SchemaField, ...]:
    """Return the named fields of a schema, outermost first; `wrapper` is a property to unwrap first."""
    return tuple(_walk(schema, side, wrapper))


def _walk(schema: Any, side: Side, wrapper: str) -> Iterator[SchemaField]:
    references = References(schema)
    root = _merge([schema], references)
    if wrapper:
        root = _merge(root.properties.get(wrapper, []), references)
    start = f"{side}.{wrapper}" if wrapper else side
    waiting: deque[tuple[_Merged, tuple[str, ...], str, int]] = deque([(root, (), start, 0)])
    count = 0
    while waiting:
        around, keys, where, depth = waiting.popleft()
        around, where, depth = _into_lists(around, where, depth, references)
        if depth >= _MAX_DEPTH:
            continue
        for name, parts in around.properties.items():
            count += 1
            if count > _MAX_FIELDS:
                return
            own = _merge(parts, references)
            place = f"{where}.{name}" if name.isidentifier() else f"{where}[{name!r}]"
            leaf = _into_lists(own, place, depth, references)[0]
            yield SchemaField(
                side=side,
                keys=(*keys, name),
                where=visible(place, 300),
                types=frozenset(leaf.types - {"null"}),
                description=own.description or leaf.description,
                required=name in around.required,
                constraints=frozenset(own.constraints | leaf.constraints),
                relations={**leaf.relations, **own.relations},
                ignores={**leaf.ignores, **own.ignores},
                is_list=leaf is not own,
                siblings=frozenset(around.properties),
            )
            waiting.append((own, (*keys, name), place, depth + 1))
        if around.values:
            waiting.append((_merge(around.values, references), keys, f"{where}.{{}}", depth + 1))


def _into_lists(found: _Merged, where: str, depth: int, references: References) -> tuple[_Merged, str, int]:
    while found.items and not found.properties and depth < _MAX_DEPTH:
        found, where, depth = _merge(found.items, references), f"{where}[]", depth + 1
    return found, where, depth


def _merge(parts: list[Any], references: References) -> _Merged:
    found = _Merged()
    rest, seen = deque(parts), set[int]()
    while rest and len(seen) < _MAX_PARTS:
        part = rest.popleft()
        if not isinstance(part, dict) or id(part) in seen:
            continue
        seen.add(id(part))
        _take(found, part)
        rest.extend(references.find(part[key]) for key in ("$ref", "$dynamicRef") if key in part)
        for key in ("allOf", "anyOf", "oneOf"):
            rest.extend(_list(part.get(key)))
    return found


def _take(found: _Merged, schema: dict[str, Any]) -> None:
    kind = schema.get("type")
    found.types |= {one for one in (kind if isinstance(kind, list) else [kind]) if isinstance(one, str)}
    described = schema.get("description")
    if isinstance(described, str) and not found.description:
        found.description = described.strip()
    found.constraints |= {key for key in _CONSTRAINTS if key in schema}
    found.relations |= _dict(schema.get("x-halflap"))
    ignored = schema.get(IGNORE_KEYWORD)
    found.ignores |= ignored if isinstance(ignored, dict) else {} if ignored is None else {"": ignored}
    for name, inner in list(_dict(schema.get("properties")).items())[:_MAX_FIELDS]:
        found.properties.setdefault(name, []).append(inner)
    found.required |= {one for one in _list(schema.get("required")) if isinstance(one, str)}
    items = schema.get("items")
    found.items += [items] if isinstance(items, dict) else _list(items)
    found.items += _list(schema.get("prefixItems"))
    values = schema.get("additionalProperties")
    found.values += [values] if isinstance(values, dict) else []


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return value[:_MAX_PARTS] if isinstance(value, list) else []
