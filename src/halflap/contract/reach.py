"""Whether a path into the data can lead anywhere: asked of the schema, when a tool is defined."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["Reach", "written"]

_REFERENCE = "#/$defs/"
_MOST_KEYS = 12
_DEEPEST = 6
_SAID = {"[]": "there is no list at {place}", "*": "there is no map at {place}"}
_SAYS = {"type", "properties", "items", "prefixItems", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"}


class Reach:
    """The places of the data that a schema tells of."""

    def __init__(self, schema: Any, defined: dict[str, Any]) -> None:
        self._schema = schema
        self._defined = defined

    def has(self, steps: Sequence[str]) -> bool:
        """Say whether there can be something at a path; where the schema is open, there can."""
        return self._reached(steps) == len(steps)

    def problem(self, steps: Sequence[str]) -> str:
        """Say why there is nothing at a path, and what it may have meant."""
        at = self._reached(steps)
        place = f"'{written(steps[:at])}'" if at else "what it returns"
        said = _SAID.get(steps[at], f"{{place}} has no {steps[at]!r}").format(place=place)
        paths = list(dict.fromkeys(self._paths(self._schema, (), frozenset())))
        near = difflib.get_close_matches(written(steps), paths, 1, 0.7)
        if near:
            return f"{said}. Did you mean {near[0]!r}?"
        keys = sorted(
            {key for one in self._at(steps[:at]) for key in one.get("properties", {}) if steps[at] != "[]"}
        )
        more = ", …" if len(keys) > _MOST_KEYS else ""
        return f"{said}; it has only {', '.join(keys[:_MOST_KEYS])}{more}." if keys else f"{said}."

    def _reached(self, steps: Sequence[str]) -> int:
        """Give how many steps lead to something."""
        places = [self._schema]
        for at, step in enumerate(steps):
            inner: list[Any] = []
            for one in self._alternatives(places):
                if _is_anything(one):
                    return len(steps)
                inner += _inside(one, step)
            if not inner:
                return at
            places = inner
        return len(steps)

    def _at(self, steps: Sequence[str]) -> Iterator[dict[str, Any]]:
        places = [self._schema]
        for step in steps:
            places = [inner for one in self._alternatives(places) for inner in _inside(one, step)]
        yield from (one for one in self._alternatives(places) if isinstance(one, dict))

    def _alternatives(self, places: Sequence[Any]) -> list[Any]:
        """Give what is at places, with references and choices written out."""
        found: list[Any] = []
        left, met = list(places), set()
        while left:
            one = left.pop()
            if not isinstance(one, dict):
                found.append(one)
                continue
            reference = one.get("$ref")
            if isinstance(reference, str) and reference not in met:
                met.add(reference)
                left.append(self._defined.get(reference.removeprefix(_REFERENCE), True))
            for key in ("anyOf", "oneOf", "allOf"):
                left += one.get(key, ())
            found.append(one)
        return found

    def _paths(self, schema: Any, before: tuple[str, ...], seen: frozenset[int]) -> Iterator[str]:
        if len(before) > _DEEPEST or id(schema) in seen:
            return
        if before:
            yield written(before)
        for one in self._alternatives([schema]):
            if not isinstance(one, dict):
                continue
            for key in one.get("properties", {}):
                yield from self._paths(one["properties"][key], (*before, key), seen | {id(schema)})
            for step in ("[]", "*"):
                for item in _inside(one, step):
                    yield from self._paths(item, (*before, step), seen | {id(schema)})


def written(steps: Sequence[str]) -> str:
    """Write steps as the path that they are of."""
    return "".join(step if step == "[]" or not at else f".{step}" for at, step in enumerate(steps)) or "$"


def _is_anything(schema: Any) -> bool:
    return schema is True or (isinstance(schema, dict) and not _SAYS & set(schema))


def _inside(schema: Any, step: str) -> list[Any]:
    """Give the schemas of what is behind a step; none where nothing can be."""
    if not isinstance(schema, dict):
        return []
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if step == "[]":
        items = [*schema.get("prefixItems", ())]
        if "array" in kinds and not items:
            items = [schema.get("items", True)]
        elif schema.get("items"):
            items.append(schema["items"])
        return [one for one in items if one is not False]
    if step in schema.get("properties", {}):
        return [schema["properties"][step]]
    if "object" not in kinds:
        return []
    if step == "*":
        return [*schema.get("patternProperties", {}).values(), *_rest(schema, "properties" not in schema)]
    named = [
        inner for pattern, inner in schema.get("patternProperties", {}).items() if re.search(pattern, step)
    ]
    # Of a class, pydantic and msgspec do not say that there is nothing else; it is what they mean.
    return [*named, *_rest(schema, "properties" not in schema and not named)]


def _rest(schema: dict[str, Any], unless_said: bool) -> list[Any]:
    rest = schema.get("additionalProperties", unless_said)
    return [] if rest is False else [rest]
