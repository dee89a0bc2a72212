"""How much work a value is to check: a schema may be written so that checking never ends."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.schema.patterns import weight_of_pattern
from halflap.schema.refer import MISSING, References
from halflap.schema.size import size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["Scale"]

_AGAIN = 3
"""`unevaluated…` goes through everything beside it again, and that at each level."""
_MOST_PAIRS = 100_000

_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_MAPS = ("dependentSchemas", "dependencies")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_MEMBERS = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_ITEMS = ("items", "additionalItems", "unevaluatedItems", "contains")


class _TooHeavyError(Exception):
    """It cannot be weighed, or there is no end to it."""


@dataclass(slots=True)
class _Seen:
    """What one weighing has found so far; several may be under way at once, in threads."""

    limit: float
    """Past this, it is given up."""
    weights: dict[Any, float] = field(default_factory=dict)
    sizes: dict[int, float] = field(default_factory=dict)


class Scale:
    """Weighs values against one schema, without checking them.

    A small schema is not followed: all of it is thought to be held against all of the value. Where that is
    more than is light, or there is no end to the schema, it is followed along the value. Each part that is held against each value
    may count for more: where all errors are made, that is what takes the time.
    """

    def __init__(self, schema: Mapping[str, Any], light: float, most: float, each: float = 0) -> None:
        self._schema = schema
        self._light = light
        self._each = each
        self._most = most
        self._references = References(schema)
        try:
            self._unfolded = self._unfold(schema, _Seen(most))
        except (_TooHeavyError, RecursionError):
            self._unfolded = math.inf

    def is_light(self, value: Any) -> bool:
        """Say whether a value is light, whatever is in it."""
        return self._rough(value, self._light) <= self._light

    def weigh(self, value: Any) -> float:
        """Give about how many steps a check takes; infinity when that is more than the most."""
        rough = self._rough(value, self._most)
        if rough <= self._light:
            return rough
        # What can be checked anyhow is followed only to see whether it is light.
        seen = _Seen(self._light if rough < math.inf else self._most)
        try:
            weight = min(rough, self._follow(self._schema, value, seen))
        except (_TooHeavyError, RecursionError):
            weight = rough
        return weight if weight <= self._most else math.inf

    def heavy_part(self) -> str | None:
        """Find a part that no value is checked against, however small it is: give the key that it is under.

        Empty text is the schema itself.
        """
        rest: list[tuple[str, Any]] = [("", self._schema)]
        seen = _Seen(self._most)
        met: set[int] = set()
        while rest:
            name, part = rest.pop()
            if not isinstance(part, dict) or id(part) in met:
                continue
            met.add(id(part))
            try:
                if self._in_place(part, seen) > self._most:
                    return name
                rest += ((name, one) for one in self._beside(part))
            except (_TooHeavyError, RecursionError):
                return name
            rest += ((name, one) for one in _children(part))
            # Last in, first out: what has a name of its own is met under that.
            rest += _mapping(part, "properties").items()
        return None

    def _in_place(self, schema: Any, seen: _Seen) -> float:
        """Count what is done to a value itself, whatever is in it."""
        return self._once(
            schema, id(schema), seen, lambda part: self._in_place(part, seen), lambda _: 0, size=1
        )

    def _rough(self, value: Any, most: float) -> float:
        return math.inf if self._unfolded > most else self._unfolded * size_of(value, most / self._unfolded)

    def _unfold(self, schema: Any, seen: _Seen) -> float:
        """Count the parts of a schema, each as often as it is reached."""

        def children(part: Mapping[str, Any]) -> float:
            return sum(self._unfold(child, seen) for child in _children(part))

        return self._once(schema, id(schema), seen, lambda part: self._unfold(part, seen), children, size=1)

    def _follow(self, schema: Any, value: Any, seen: _Seen) -> float:
        """Count what is done to a value and all that is in it."""

        def children(part: Mapping[str, Any]) -> float:
            return sum(self._follow(child, inner, seen) for child, inner in _matched(part, value))

        if id(value) not in seen.sizes:
            seen.sizes[id(value)] = size_of(value, self._most)
        return self._once(
            schema,
            (id(schema), id(value)),
            seen,
            lambda part: self._follow(part, value, seen),
            children,
            # What is wrong with a value is told with a copy of it.
            size=seen.sizes[id(value)],
        )

    def _once(
        self,
        schema: Any,
        key: Any,
        seen: _Seen,
        beside: Callable[[Any], float],
        children: Callable[[Mapping[str, Any]], float],
        *,
        size: float,
    ) -> float:
        if not isinstance(schema, dict):
            return size
        known = seen.weights
        if key not in known:
            known[key] = math.nan  # under way: to come here again is to go in a circle
            own = self._each + size * (1 + _patterns(schema) + self._listed_values(schema))
            if own > seen.limit or len(known) > min(_MOST_PAIRS, seen.limit):
                raise _TooHeavyError
            again = _AGAIN if schema.keys() & {"unevaluatedProperties", "unevaluatedItems"} else 1
            known[key] = own + again * sum(map(beside, self._beside(schema))) + children(schema)
        if math.isnan(known[key]):
            raise _TooHeavyError
        return known[key]

    def _beside(self, schema: Mapping[str, Any]) -> Iterator[Any]:
        """Give the parts that are held against the same value as the schema itself."""
        for key in _LISTS:
            listed = schema.get(key)
            yield from listed if isinstance(listed, list) else ()
        yield from (schema[key] for key in _SINGLE if key in schema)
        for key in _MAPS:
            yield from _mapping(schema, key).values()
        for key in _REFERENCES:
            if key in schema:
                part = self._references.find(schema[key])
                if part is MISSING:
                    # What cannot be found cannot be weighed.
                    raise _TooHeavyError
                yield part

    def _listed_values(self, schema: Mapping[str, Any]) -> float:
        """Count what a value is compared with, one by one."""
        return sum(size_of(schema[key], self._most) for key in ("enum", "const", "required") if key in schema)


def _patterns(schema: Mapping[str, Any]) -> int:
    written = [*_mapping(schema, "patternProperties")]
    if "pattern" in schema:
        written.append(str(schema["pattern"]))
    return sum(map(weight_of_pattern, written))


def _mapping(schema: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = schema.get(key)
    return value if isinstance(value, dict) else {}


def _listed(schema: Mapping[str, Any], key: str) -> list[Any]:
    value = schema.get(key)
    return value if isinstance(value, list) else []


def _children(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Give the parts that are held against what is in a value."""
    for key in ("properties", "patternProperties"):
        yield from _mapping(schema, key).values()
    yield from (schema[key] for key in (*_MEMBERS, *_ITEMS) if isinstance(schema.get(key), dict))
    for key in ("prefixItems", "items"):
        yield from _listed(schema, key)


def _matched(schema: Mapping[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
    """Give each such part with each inner value that it may be held against."""
    if isinstance(value, dict):
        named = _mapping(schema, "properties")
        general = [*_mapping(schema, "patternProperties").values()]
        general += [schema[key] for key in _MEMBERS if isinstance(schema.get(key), dict)]
        yield from ((named[key], value[key]) for key in named.keys() & value.keys())
        yield from ((part, inner) for part in general for inner in value.values())
    elif isinstance(value, list | tuple):
        general = [schema[key] for key in _ITEMS if isinstance(schema.get(key), dict)]
        for key in ("prefixItems", "items"):
            yield from zip(_listed(schema, key), value, strict=False)
        yield from ((part, inner) for part in general for inner in value)
