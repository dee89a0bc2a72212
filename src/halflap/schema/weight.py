"""How much work a value is to check: a schema may be written so that checking never ends."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["Scale"]

_PATTERN = 1_000
"""What a pattern weighs; one step of anything else weighs 1."""
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


class Scale:
    """Weighs values against one schema, without checking them.

    A schema in which each part is reached by few ways weighs the same for every value of a size. One
    that refers to itself, or to one part by very many ways, is followed along the value.
    """

    def __init__(self, schema: Mapping[str, Any], most: float) -> None:
        self._schema = schema
        self._most = most
        self._anchors, self._named = _names(schema)
        try:
            self._unfolded = self._unfold(schema, {})
        except (_TooHeavyError, RecursionError):
            self._unfolded = math.inf

    def weigh(self, value: Any) -> float:
        """Give about how many steps a check takes; infinity when that is more than the most."""
        if self._unfolded < self._most:
            weight = self._unfolded * _count(value, self._most / self._unfolded)
        else:
            try:
                weight = self._follow(self._schema, value, {})
            except (_TooHeavyError, RecursionError):
                return math.inf
        return weight if weight <= self._most else math.inf

    def _unfold(self, schema: Any, known: dict[int, float]) -> float:
        """Count the parts of a schema, each as often as it is reached."""

        def children(part: Mapping[str, Any]) -> float:
            return sum(self._unfold(child, known) for child in _children(part))

        return self._once(schema, id(schema), known, lambda part: self._unfold(part, known), children)

    def _follow(self, schema: Any, value: Any, known: dict[tuple[int, int], float]) -> float:
        """Count what is done to a value and all that is in it."""

        def children(part: Mapping[str, Any]) -> float:
            return sum(self._follow(child, inner, known) for child, inner in _matched(part, value))

        return self._once(
            schema, (id(schema), id(value)), known, lambda part: self._follow(part, value, known), children
        )

    def _once(
        self,
        schema: Any,
        key: Any,
        known: dict[Any, float],
        beside: Callable[[Any], float],
        children: Callable[[Mapping[str, Any]], float],
    ) -> float:
        if not isinstance(schema, dict):
            return 1
        if key not in known:
            if len(known) > _MOST_PAIRS:
                raise _TooHeavyError
            known[key] = math.nan  # under way: to come here again is to go in a circle
            patterns = int("pattern" in schema) + len(_mapping(schema, "patternProperties"))
            own = 1 + _PATTERN * patterns
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
        yield from (self._resolve(schema[key]) for key in _REFERENCES if key in schema)

    def _resolve(self, reference: Any) -> Any:
        """Find what a reference means, within the document; what cannot be found cannot be weighed."""
        if not isinstance(reference, str):
            raise _TooHeavyError
        address, _, fragment = reference.partition("#")
        part = self._named.get(_tail(address)) if address else self._schema
        if part is None:
            raise _TooHeavyError
        if not fragment.startswith("/"):
            return self._anchors.get(fragment, part) if fragment else part
        for token in unquote(fragment[1:]).split("/"):
            key = token.replace("~1", "/").replace("~0", "~")
            try:
                part = part[int(key)] if isinstance(part, list) else part[key]
            except (LookupError, TypeError, ValueError):
                raise _TooHeavyError from None
        return part


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
        for key, inner in value.items():
            if key in named:
                yield named[key], inner
            yield from ((part, inner) for part in general)
    elif isinstance(value, list | tuple):
        general = [schema[key] for key in _ITEMS if isinstance(schema.get(key), dict)]
        for key in ("prefixItems", "items"):
            yield from zip(_listed(schema, key), value, strict=False)
        yield from ((part, inner) for inner in value for part in general)


def _names(schema: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Find the parts that have a name: by anchor, and by the last word of their address."""
    anchors: dict[str, Any] = {}
    named: dict[str, Any] = {}
    rest = [schema]
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            for key in ("$anchor", "$dynamicAnchor"):
                if isinstance(part.get(key), str):
                    anchors[part[key]] = part
            address = part.get("$id")
            if isinstance(address, str):
                # Draft-07 names an anchor this way.
                table, word = (anchors, address[1:]) if address.startswith("#") else (named, _tail(address))
                # Two parts of one name: which is meant depends on where one stands.
                table[word] = part if word not in table else None
            rest += part.values()
        elif isinstance(part, list):
            rest += part
    return anchors, named


def _tail(address: str) -> str:
    return address.partition("#")[0].rstrip("/").rpartition("/")[2]


def _count(value: Any, most: float) -> float:
    """Count the values in a value, itself included; stops when there are more than may be."""
    count = 0
    rest = [value]
    while rest and count <= most:
        part = rest.pop()
        count += 1
        if isinstance(part, dict):
            rest += part.values()
        elif isinstance(part, list | tuple):
            rest += part
    return math.inf if rest else count
