"""Invariants: rules for a tool's data that types cannot express, checked before an answer is sent."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

_STEP = re.compile(r"(?P<key>[^.\[\]]+)|(?P<each>\[\])")
_PATH = re.compile(r"(?:[^.\[\]]+|\[\])(?:\.[^.\[\]]+|\[\])*")
_MAX_PATH_TEXT = 200


class Breach(NamedTuple):
    """Where an answer breaks its contract, and why; the reason is for the log only."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Invariant:
    """A rule for every value at a path of the data."""

    path: str
    holds: Callable[[Any], bool]
    description: str
    steps: tuple[str, ...]
    """The keys of the path, with `[]` for every item of a list and `*` for every value of a map."""


def invariant(path: str, holds: Callable[[Any], bool], description: str = "") -> Invariant:
    """Declare a rule: `invariant("customers[].customer_id", lambda value: value != "", "ids are not empty")`.

    The path points into the JSON data: `[]` means every item of a list, `*` every value of a map, and `$` all of the
    data, for rules between fields. Empty lists and missing optional keys satisfy every rule; null is passed to it.
    """
    if path != "$" and not _PATH.fullmatch(path):
        raise ValueError(
            f"Write an invariant's path like customers[].total_revenue, or $ for all of the data, not {path!r}."
        )
    if inspect.iscoroutinefunction(holds):
        # A coroutine would count as true.
        raise TypeError(f"The rule of the invariant {path!r} must be a plain function that returns a bool.")
    steps = [one["key"] or "[]" for one in _STEP.finditer(path)]
    if steps[0] in {"$", "data"}:
        steps = steps[1:]
    return Invariant(path, holds, description or f"invariant {path}", tuple(steps))


def require_reachable(rule: Invariant, schema: dict[str, Any], tool: str) -> None:
    """Raise ValueError if no data of this schema has anything at the rule's path, so that a typo is noticed."""
    definitions = schema.get("$defs", {})
    places = list(_alternatives(schema, definitions))
    for at, step in enumerate(rule.steps):
        inside = [inner for place in places for inner in _step_into(place, step)]
        if not inside:
            keys = sorted({key for place in places for key in place.get("properties", {})})
            before = ".".join(rule.steps[:at]).replace(".[]", "[]") or "the data"
            raise ValueError(
                f"The invariant {rule.path!r} of the tool {tool} can never apply: {before} has no {step!r}"
                + (f"; it has {', '.join(keys)}." if keys else ".")
            )
        places = [one for inner in inside for one in _alternatives(inner, definitions)]


def _alternatives(schema: Any, definitions: dict[str, Any], depth: int = 6) -> Iterator[dict[str, Any]]:
    if not isinstance(schema, dict):
        yield {}
    elif "$ref" in schema:
        yield from _alternatives(definitions[schema["$ref"].rpartition("/")[2]], definitions, depth)
    elif choices := [one for key in ("anyOf", "oneOf", "allOf") for one in schema.get(key, ()) if depth]:
        for one in choices:
            yield from _alternatives(one, definitions, depth - 1)
    else:
        yield schema


def _step_into(schema: dict[str, Any], step: str) -> list[Any]:
    kind = schema.get("type")
    if kind is None and "enum" not in schema and "const" not in schema:
        return [{}]  # anything may be here
    if step == "[]":
        items = [*schema.get("prefixItems", ()), schema.get("items", {})]
        return items if kind == "array" else []
    if kind != "object":
        return []
    if step in schema.get("properties", {}):
        return [schema["properties"][step]]
    others = schema.get("additionalProperties", "properties" not in schema)
    return [] if others is False else [others]


def first_breach(data: Any, invariants: Sequence[Invariant]) -> Breach | None:
    """Return the first value that breaks a rule."""
    for rule in invariants:
        for place in _places(data, rule.steps):
            value = place[0]
            try:
                if rule.holds(value):
                    continue
                reason = f"the value is {value!r}"
            except Exception as error:  # noqa: BLE001 -- whatever the author's rule raises
                reason = f"the rule raised {type(error).__name__}: {error}"
            return Breach(path_text(_path(place)), f"{rule.description}: {reason}")
    return None


# A value, its key, and the place of the list or map that contains it. Plain tuples, with the path assembled only for
# errors, because every item of a large answer is checked.
_Place: TypeAlias = "tuple[Any, str | int, _Place | None]"


def _places(data: Any, steps: Sequence[str]) -> list[_Place]:
    places: list[_Place] = [(data, "data", None)]
    for step in steps:
        if step == "[]":
            places = [
                (item, at, place)
                for place in places
                if isinstance(place[0], list)
                for at, item in enumerate(place[0])
            ]
        else:
            places = [
                (place[0][key], key, place)
                for place in places
                if isinstance(place[0], dict)
                for key in (place[0] if step == "*" else (step,))
                if key in place[0]
            ]
    return places


def _path(place: _Place) -> list[str | int]:
    _, key, parent = place
    return [key] if parent is None else [*_path(parent), key]


def path_text(path: Sequence[str | int]) -> str:
    """Write a path as in Python: `data.customers[3].total_revenue`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step.isidentifier():
            text += f".{step}" if text else step
        else:
            text += f"[{step!r}]"
    return text if len(text) <= _MAX_PATH_TEXT else text[: _MAX_PATH_TEXT - 1] + "…"
