"""Which rule of a field's type an answer breaks, in plain words: by property, without a name of Python's."""

from __future__ import annotations

import json
import types
from typing import TYPE_CHECKING, Any, Final, Literal, Union, get_args, get_origin

import pydantic

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["broken_rules", "kind_of"]

_MOST: Final = 5
_KINDS: Final[dict[Any, str]] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
    list: "a list",
    dict: "an object",
}
_WRONG_KINDS: Final = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "none": "null",
    "list": "a list",
    "dict": "an object",
    "model": "an object",
}
"""By how pydantic begins the names of what is wrong with one of these."""
_LIMITS: Final = {
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must have at least {min_length} items",
    "too_long": "must have at most {max_length} items",
    "missing": "is missing",
    "extra_forbidden": "is not among its properties",
}


def broken_rules(field: str, annotation: Any, error: BaseException | None) -> str:
    """Say what is wrong with the value of a field, each with the property that it is about."""
    if not isinstance(error, pydantic.ValidationError):
        return f"the field `{field}` is not {kind_of(annotation)}"
    told: dict[str, str] = {}
    for one in error.errors(include_url=False, include_input=False):
        place = _place(field, one["loc"])
        rule = _rule(one["type"], one.get("ctx", {}), one["msg"], annotation if not one["loc"] else None)
        # Of a type or null, pydantic tells what is wrong with it for each of the two.
        told.setdefault(place, f"`{place}` {rule}")
    shown = list(told.values())[:_MOST]
    more = len(told) - len(shown)
    return "the field " + "; ".join([*shown, *([f"and {more} more"] if more > 0 else [])])


def _place(field: str, path: tuple[int | str, ...]) -> str:
    steps = [one for one in path if isinstance(one, int) or (one.isidentifier() and one not in _OF_UNIONS)]
    return field + "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in steps)


_OF_UNIONS: Final = {"str", "int", "float", "bool", "none"}
"""How pydantic calls the parts of a type or null within a path."""


def _rule(kind: str, facts: Mapping[str, Any], message: str, annotation: Any) -> str:
    if kind in _LIMITS:
        return _LIMITS[kind].format_map(facts)
    if kind == "literal_error":
        return f"is not {_choices(annotation) if get_origin(annotation) is Literal else 'one of ' + facts['expected']}"
    if annotation is not None:
        return f"is not {kind_of(annotation)}"
    begin = kind.partition("_")[0]
    return f"is not {_WRONG_KINDS[begin]}" if begin in _WRONG_KINDS else f"does not fit: {message}"


def kind_of(annotation: Any) -> str:
    """Say a type in plain words."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return "an object"
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return _choices(annotation)
    if origin in {Union, types.UnionType}:
        return " or ".join(kind_of(one) for one in inner)
    return _KINDS.get(origin or annotation, "a value of its type")


def _choices(annotation: Any) -> str:
    options = [json.dumps(one, ensure_ascii=False) for one in get_args(annotation)]
    return options[0] if len(options) == 1 else f"one of {', '.join(options)}"
