"""Rules about what a tool says of its results: that it says anything, and that it is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.core.text import visible
from halflap.lint.patch import patch_to
from halflap.lint.rule import Example, Found, Limits, Rule, counted
from halflap.lint.sample import TEXT, example, field, record, tool
from halflap.lint.server import Breach, Seen
from halflap.lint.suggest import drafted_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.lint.server import Entry, Server
    from halflap.lint.suggest import Drafted

__all__ = ["RULES"]

_LONGEST = 120


def _no_output_schema(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        if one.tool.output_schema is None:
            drafted = drafted_schema(one)
            yield Found(
                one.name,
                "",
                f"{one.shown} does not declare what it returns.",
                f"Add `outputSchema` to {one.shown}. {_draft(one, drafted)}",
                None if drafted is None else {"outputSchema": drafted.schema},
            )


def _empty_output_schema(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        if one.says_nothing:
            drafted = drafted_schema(one)
            fields = ", ".join(f"`{name}`" for name in one.open_fields)
            yield Found(
                one.name,
                "output",
                f"The output schema of {one.shown} says nothing of what is in {fields}."
                if fields
                else f"The output schema of {one.shown} names no field and no type.",
                f"Name the fields {'in ' + fields + ' ' if fields else ''}in the `outputSchema` of {one.shown}, under `properties`. "
                f"{_draft(one, drafted)}",
                None if drafted is None else patch_to(one.tool.output_schema, drafted.schema),
            )


def _draft(one: Entry, drafted: Drafted | None) -> str:
    if drafted is None:
        return "Call it through Halflap, or read its logs with `halflap backfill`, and `halflap lint --suggest` drafts it."
    return (
        f"What {counted(drafted.observations, 'result')} showed is drafted by `halflap lint --suggest`: "
        f"confidence {one.seen.confidence:.2f}."
    )


def _results_break_schema(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        for breach in one.seen.breaches:
            where = visible(breach.path, _LONGEST)
            often = "once" if breach.times == 1 else f"{breach.times} times"
            yield Found(
                one.name,
                f"output.{where}" if where else "output",
                f"Results of {one.shown} broke what it declares, {often}: "
                f"{where or 'the result'} should be {visible(breach.expected, _LONGEST)}.",
                f"Return {visible(breach.expected, _LONGEST)} at {where or 'the root'} of the result of {one.shown}, or "
                "declare what it really returns: `halflap schema show` has what was seen.",
            )


_SHOP = record(
    "order_id", order_id=field("string", "The order's id."), status=field("string", "Where it is.")
)
_ORDER = record("order_id", order_id=TEXT)

RULES = (
    Rule(
        "no-output-schema",
        "warning",
        "A tool does not declare what it returns.",
        "Whoever wants to hand a result on has to call the tool first and look. With a schema, programs are checked before "
        "they run, and tools are joined before any is called.",
        "Declare `outputSchema` with every field; `halflap lint --suggest` drafts it from results that were seen.",
        _no_output_schema,
        bad=example(tool("get_order", _ORDER)),
        good=example(tool("get_order", _ORDER, _SHOP)),
        weight=3,
    ),
    Rule(
        "empty-output-schema",
        "warning",
        "An output schema says nothing: `{}`, a bare object or null, `{result: any}`, `{data: […]}`.",
        "It looks like a promise, and says no more than none: no field can be handed on.",
        "Name the fields under `properties`, or say the type of what is returned.",
        _empty_output_schema,
        bad=example(tool("get_order", _ORDER, {"type": "object"})),
        good=example(tool("get_order", _ORDER, _SHOP)),
        weight=2.5,
    ),
    Rule(
        "results-break-schema",
        "error",
        "Results were not what the tool declares.",
        "Programs are checked against the declaration: one that is wrong is worse than none. Clients that validate lose "
        "the result.",
        "Return what is declared, or declare what is returned.",
        _results_break_schema,
        bad=Example(
            (tool("get_order", _ORDER, _SHOP),),
            {"get_order": Seen(observations=4, breaches=(Breach("status", "string", 3),))},
            "three of its results had a number under `status`",
        ),
        good=Example(
            (tool("get_order", _ORDER, _SHOP),),
            {"get_order": Seen(observations=4)},
            "none of its results broke the schema",
        ),
        needs="results",
    ),
)
