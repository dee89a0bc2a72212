"""Rules about numbers and dates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from halflap.lint.rule import Limits, Problem, Rule

if TYPE_CHECKING:
    from halflap.lint.fields import SchemaField
    from halflap.lint.server import LintServer

_COUNTING = frozenset([
    "code", "count", "id", "index", "limit", "number", "offset", "page", "port", "rank", "size", "total",
    "version", "year",
])  # fmt: skip
"""Integers with such a name count or identify something and need no unit."""
_UNITS = frozenset([
    "bit", "byte", "celsius", "cent", "cm", "day", "degree", "fahrenheit", "gb", "gram", "hour", "kb", "kelvin",
    "kg", "kilometer", "km", "latitude", "longitude", "mb", "meter", "mile", "millisecond", "minute", "mm",
    "month", "ms", "percent", "percentage", "pixel", "px", "ratio", "sec", "second", "usd", "eur", "week",
])  # fmt: skip
"""A name that contains its unit needs no other: `timeout_ms`."""
_DATES = frozenset({"date", "datetime", "timestamp"})


def is_measurement(field: SchemaField) -> bool:
    """Return whether a field is a number that needs a unit or a description, and has neither."""
    if not field.types & {"number", "integer"} or field.description or "unit" in field.relations:
        return False
    if field.constraints or not field.words or _UNITS & set(field.words):
        return False
    return "number" in field.types or field.words[-1] not in _COUNTING


def _number_without_unit(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        for field in tool.declared_outputs:
            if is_measurement(field):
                yield Problem(
                    tool,
                    field.where,
                    f"The number {field.shown} of {tool.shown} has neither a unit nor a description.",
                    f"Say in the description of {field.where} what it measures and in which unit, or put the unit into the name.",
                )


def _date_without_format(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        for field in (*tool.inputs, *tool.declared_outputs):
            if "string" in field.types and not field.constraints and _is_date(field):
                yield Problem(
                    tool,
                    field.where,
                    f"The schema of the date {field.shown} of {tool.shown} does not say how it is written.",
                    f'Add `"format": "date"` or `"date-time"` to {field.where}; otherwise a `pattern` or an example.',
                )


def _is_date(field: SchemaField) -> bool:
    words = field.words
    return bool(words) and (words[-1] in _DATES or (len(words) > 1 and words[-1] == "at"))


RULES = (
    Rule("number-without-unit", "warning", _number_without_unit),
    Rule("date-without-format", "warning", _date_without_format),
)
