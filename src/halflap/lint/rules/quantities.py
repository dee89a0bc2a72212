"""Rules about numbers and dates: in which unit, and how they are written."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from halflap.graph.words import words_of
from halflap.lint.dates import format_told, is_date, kind_named
from halflap.lint.rule import Found, Limits, Rule
from halflap.lint.sample import example, field, record, tool
from halflap.lint.units import gives_unit, needs_unit, quantity_of, tells_units, unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.lint.parts import Part
    from halflap.lint.server import Entry, Server

__all__ = ["RULES"]

_SAY = {
    "money": "which currency, and whether in its smallest part (`USD cents`)",
    "time": "seconds, milliseconds or another",
    "instant": "seconds or milliseconds since 1970",
    "length": "pixels, inches, metres or another",
    "mass": "grams, kilograms or another",
    "temperature": "Celsius, Fahrenheit or Kelvin",
    "speed": "per second, per hour, in what",
    "physics": "in which unit it is measured",
    "share": "a fraction (0.15) or percent (15)",
    "size": "bytes, kilobytes or another",
}


def _measured(server: Server) -> Iterator[tuple[Entry, Part, str, str]]:
    for one in server.entries:
        about = frozenset((*words_of(one.tool.original_name), *words_of(server.name)))
        for part in one.parts:
            dimension = quantity_of(part, about)
            if dimension is not None:
                yield one, part, dimension, one.all_said_of(part)


def _number_without_unit(server: Server, _: Limits) -> Iterator[Found]:
    lacking: dict[str, list[tuple[Entry, Part, str]]] = {}
    for one, part, dimension, described in _measured(server):
        if needs_unit(part, described, dimension):
            lacking.setdefault(one.name, []).append((one, part, dimension))
    for one, part, dimension in (each for uses in lacking.values() for each in _untold(uses)):
        say = f"say in the description of {part.where} of {one.shown} what it is in: {_SAY[dimension]}"
        first = "Declare it, and " if part.is_seen else ""
        yield Found(
            one.name,
            part.where,
            f"{one.shown}: nothing says in what unit {part.shown} is.",
            f"{first}{say if first else say.capitalize()[:1] + say[1:]}; or put it into the name.",
        )


def _untold(uses: list[tuple[Entry, Part, str]]) -> Iterator[tuple[Entry, Part, str]]:
    """Leave out those of a tool's numbers whose unit a field beside them tells."""
    about: dict[object, set[str]] = {}
    for _, part, dimension in uses:
        about.setdefault((part.side, part.path[:-1]), set()).add(dimension)
    units: dict[object, list[Part]] = {}
    for part in uses[0][0].parts:
        if tells_units(part):
            units.setdefault((part.side, part.path[:-1]), []).append(part)
    for one, part, dimension in uses:
        place = (part.side, part.path[:-1])
        others = (unit for unit in units.get(place, ()) if unit.name != part.name)
        if not any(gives_unit(unit, part, dimension, frozenset(about[place])) for unit in others):
            yield one, part, dimension


def _unit_differs(server: Server, _: Limits) -> Iterator[Found]:
    units: dict[str, list[tuple[Entry, Part, str]]] = {}
    measured = {(one.name, part.where): dimension for one, part, dimension, _ in _measured(server)}
    for one in server.entries:
        for part in one.parts:
            # What declares a unit measures something, whatever it is called.
            dimension = measured.get((one.name, part.where))
            if dimension is None and not (part.unit and part.kinds & {"number", "integer"}):
                continue
            unit = unit_of(part, one.all_said_of(part), dimension)
            if unit is not None:
                units.setdefault(part.name, []).append((one, part, unit))
    for name, told in units.items():
        uses = _with_currency(told)
        counts = Counter(unit for _, _, unit in uses)
        if len(counts) == 1:
            continue
        best = max(counts, key=lambda unit: (counts[unit], -[one for _, _, one in uses].index(unit)))
        example_tool = next(one.shown for one, _, unit in uses if unit == best)
        for one, part, unit in uses:
            if unit != best:
                yield Found(
                    one.name,
                    part.where,
                    f"{part.shown} is in {unit} in {one.shown}, and in {best} in {example_tool}.",
                    f"Give {part.where} of {one.shown} in {best}, as elsewhere, or another name: `{name}_{unit.replace(' ', '_')}`.",
                )


def _with_currency(uses: list[tuple[Entry, Part, str]]) -> list[tuple[Entry, Part, str]]:
    """Take `cents` for those of the only currency that is named: one says less than the other, and nothing else."""
    of = {unit for _, _, unit in uses if unit.endswith(" cents")}
    whole = next(iter(of)) if len(of) == 1 else "cents"
    return [(one, part, whole if unit == "cents" else unit) for one, part, unit in uses]


def _date_without_format(server: Server, _: Limits) -> Iterator[Found]:
    for one, part in _dates(server):
        if format_told(part, one.all_said_of(part)) is None:
            kind = kind_named(part)
            yield Found(
                one.name,
                part.where,
                f"{one.shown}: nothing says how the date {part.shown} is written.",
                f"Add {_format(kind)} to {part.where} of {one.shown}, or say in its description how it is written.",
                None if kind is None else part.patched_with(format=kind),
            )


def _date_format_in_prose(server: Server, _: Limits) -> Iterator[Found]:
    for one, part in _dates(server):
        told = format_told(part, one.all_said_of(part))
        if told in {"date", "date-time", "iso"}:
            kind = None if told == "iso" else told
            yield Found(
                one.name,
                part.where,
                f"{one.shown}: that {part.shown} is written as ISO 8601 stands in its description alone.",
                f"Add {_format(kind)} to {part.where} of {one.shown}.",
                None if kind is None else part.patched_with(format=kind),
            )


def _format(kind: str | None) -> str:
    return f'`"format": "{kind}"`' if kind else '`"format": "date"`, or `"date-time"` where it has a time,'


def _dates(server: Server) -> Iterator[tuple[Entry, Part]]:
    for one in server.entries:
        yield from ((one, part) for part in one.parts if not part.is_seen and is_date(part))


_ORDER = field("string", "The order.")

RULES = (
    Rule(
        "number-without-unit",
        "warning",
        "A number that measures something has no unit.",
        "5 may be seconds or minutes, dollars or cents: what comes of it is wrong by a factor, and nobody notices.",
        "Say the unit in the description, in the name (`timeout_ms`), or beside it (`currency`).",
        _number_without_unit,
        bad=example(tool("get_invoice", None, record(amount=field("number", "What is to be paid.")))),
        good=example(
            tool(
                "get_invoice",
                None,
                record(
                    amount=field("integer", "What is to be paid, in USD cents."),
                    item_count=field("integer", "How many items."),
                ),
            )
        ),
    ),
    Rule(
        "unit-differs",
        "warning",
        "A field of one name has different units in different tools.",
        "What one tool returns is handed to the other as it is, and is wrong by a factor.",
        "Use one unit, or names that say it.",
        _unit_differs,
        bad=example(
            tool("run_job", record(timeout=field("integer", "In seconds."))),
            tool("run_query", record(timeout=field("integer", "In ms."))),
            tool("get_invoice", None, record(amount=field("number", "In USD."))),
            tool("get_bill", None, record(amount=field("integer", "In USD cents."))),
        ),
        good=example(
            tool("run_job", record(timeout=field("integer", "In seconds."))),
            tool("run_query", record(timeout=field("integer", "In seconds."))),
            tool("get_invoice", None, record(amount=field("integer", "In USD cents."))),
            tool("get_bill", None, record(amount=field("integer", "In cents."))),
        ),
    ),
    Rule(
        "date-without-format",
        "warning",
        "A date is a text, and nothing says how it is written.",
        "02/03/2026 is in February or in March; models try one form after the other.",
        'Add `"format": "date"` or `"date-time"`, or say the form in the description.',
        _date_without_format,
        bad=example(tool("list_orders", record(start_date=field("string", "The first day.")))),
        good=example(
            tool("list_orders", record(start_date=field("string", "The first day.", format="date")))
        ),
    ),
    Rule(
        "date-format-in-prose",
        "info",
        "How a date is written stands in its description alone.",
        "With `format`, a date that is written otherwise is found before the call, and dates of one tool are known to fit another.",
        "Add `format` to its schema.",
        _date_format_in_prose,
        bad=example(tool("list_orders", record(start_date=field("string", "The first day, as YYYY-MM-DD.")))),
        good=example(
            tool("list_orders", record(start_date=field("string", "The first day.", format="date")))
        ),
    ),
)
