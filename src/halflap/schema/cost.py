"""Estimate the work of validating a value beforehand: a schema may be written so that validation never ends."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from halflap.schema.read import MISSING, References

_CHARACTERS = 64
"""This many characters of a text count as one part."""
_SMALL = 2_000
"""Values of fewer parts are processed on the event loop. Doubling it doubles the longest pause of other calls."""
_UNEVALUATED = 3
"""`unevaluated…` visits everything next to it again, at each level."""
_MAX_PAIRS = 100_000
"""Pairs of schema part and value that an estimate visits. Doubling it doubles the longest estimate."""
_BACKTRACKING = re.compile(r"\(\?(?![:imsux-])|\\[0-9kgGK]|[+*?}]\+")
"""Lookaround, backreferences and possessive quantifiers; every other pattern takes time linear in the text."""
_LINEAR_COST = 50
_BACKTRACKING_COST = 2_000

_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_MAPS = ("dependentSchemas", "dependencies")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_MEMBERS = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_ITEMS = ("items", "additionalItems", "unevaluatedItems", "contains")


def size_of(value: Any, most: float) -> float:
    """Count the parts of a JSON value, long texts by their length; infinity beyond the limit."""
    count = 0
    rest = [value]
    while rest and count <= most:
        part = rest.pop()
        count += 1
        if isinstance(part, str):
            count += len(part) // _CHARACTERS
        elif isinstance(part, dict):
            rest += part.values()
            count += sum(len(key) // _CHARACTERS for key in part if isinstance(key, str))
        elif isinstance(part, list | tuple):
            rest += part
    return count if not rest and count <= most else math.inf


def is_small(*values: Any) -> bool:
    """Return whether these can be processed on the event loop, without a thread."""
    return all(size_of(value, _SMALL) <= _SMALL for value in values)


def patterns_in(schema: Any) -> int:
    """Count the regular expressions in a schema."""
    count, rest = 0, [schema]
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            count += isinstance(part.get("pattern"), str) + len(_mapping(part, "patternProperties"))
            rest += part.values()
        elif isinstance(part, list):
            rest += part
    return count


class _TooMuchError(Exception):
    """The work never ends, or exceeds the limit."""


class CostEstimator:
    """Estimates the steps that validating a value takes, by following the schema along the value."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._references = References(schema)

    def estimate(self, value: Any, most: float, part: Any = None) -> float:
        """Return about how many steps validation takes, by the schema or a part of it; infinity beyond the limit."""
        try:
            cost = _Estimate(self._references, most).of(self._schema if part is None else part, value)
        except (_TooMuchError, RecursionError):
            return math.inf
        return cost if cost <= most else math.inf


class _Estimate:
    def __init__(self, references: References, most: float) -> None:
        self._references = references
        self._most = most
        self._costs: dict[tuple[int, int], float] = {}
        self._sizes: dict[int, float] = {}

    def of(self, schema: Any, value: Any) -> float:
        if id(value) not in self._sizes:
            self._sizes[id(value)] = size_of(value, self._most)
        # An error contains a copy of the value, so each part costs as much as the value is large.
        size = self._sizes[id(value)]
        if not isinstance(schema, dict):
            return size
        key = (id(schema), id(value))
        if key not in self._costs:
            self._costs[key] = math.nan  # in progress: reaching it again means a cycle
            own = size * (1 + _pattern_cost(schema) + self._compared_values(schema))
            if own > self._most or len(self._costs) > min(_MAX_PAIRS, self._most):
                raise _TooMuchError
            times = _UNEVALUATED if schema.keys() & {"unevaluatedProperties", "unevaluatedItems"} else 1
            same = sum(self.of(part, value) for part in _for_same_value(schema, self._references))
            inner = sum(self.of(part, one) for part, one in _matched(schema, value))
            self._costs[key] = own + times * same + inner
        if math.isnan(self._costs[key]):
            raise _TooMuchError
        return self._costs[key]

    def _compared_values(self, schema: Mapping[str, Any]) -> float:
        return sum(size_of(schema[key], self._most) for key in ("enum", "const", "required") if key in schema)


def _for_same_value(schema: Mapping[str, Any], references: References) -> Iterator[Any]:
    """Yield the parts that apply to the same value as the schema itself."""
    for key in _LISTS:
        yield from _listed(schema, key)
    yield from (schema[key] for key in _SINGLE if key in schema)
    for key in _MAPS:
        yield from _mapping(schema, key).values()
    for key in _REFERENCES:
        if key in schema:
            part = references.find(schema[key])
            if part is MISSING:
                raise _TooMuchError
            yield part


def _pattern_cost(schema: Mapping[str, Any]) -> int:
    patterns = [*_mapping(schema, "patternProperties")]
    if "pattern" in schema:
        patterns.append(str(schema["pattern"]))
    return sum(_BACKTRACKING_COST if _BACKTRACKING.search(one) else _LINEAR_COST for one in patterns)


def _mapping(schema: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = schema.get(key)
    return value if isinstance(value, dict) else {}


def _listed(schema: Mapping[str, Any], key: str) -> list[Any]:
    value = schema.get(key)
    return value if isinstance(value, list) else []


def _matched(schema: Mapping[str, Any], value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the parts that apply to the members of a value, each with that member."""
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
