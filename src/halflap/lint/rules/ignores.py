"""The rule about ignoring: whoever has a finding ignored in a definition says which, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rapidfuzz import fuzz, process

from halflap.core.text import visible
from halflap.lint.ignores import author_ignores
from halflap.lint.parts import IGNORE
from halflap.lint.rule import Found, Limits, Rule
from halflap.lint.sample import TEXT, example, record, tool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.lint.server import Server

__all__ = ["rules"]

_LONGEST = 80
_ALIKE = 60


def rules(others: Sequence[str]) -> tuple[Rule, ...]:
    """Make the rule, which has to know all other rules by name."""
    known = (*others, "ignore-without-reason")

    def check(server: Server, _: Limits) -> Iterator[Found]:
        for one in server.entries:
            for ignore in author_ignores(one):
                where, rule = ignore.where, visible(ignore.rule, _LONGEST)
                if ignore.rule not in known:
                    near = process.extractOne(ignore.rule, known, scorer=fuzz.ratio, score_cutoff=_ALIKE)
                    meant = f"Did you mean `{near[0]}`?" if near else "`docs/lint.md` has all rules."
                    said = (
                        f"names no rule: “{rule}”" if ignore.rule else "is not a mapping of rules to reasons"
                    )
                    yield Found(
                        one.name,
                        where,
                        f"`{IGNORE}` of {one.shown} {said}.",
                        f"{meant} It ignores nothing as it is.",
                    )
                elif not ignore.reason:
                    yield Found(
                        one.name,
                        where,
                        f"{one.shown} has `{rule}` ignored without a reason.",
                        f'Write `"{IGNORE}": {{"{rule}": "why"}}` with a reason of a few words; without one, nothing is ignored.',
                    )

    rule = Rule(
        "ignore-without-reason",
        "warning",
        f"A definition has a rule ignored (`{IGNORE}`) without a reason, or one that there is not.",
        "Who finds it in a year has to know whether it still holds.",
        "Write the reason beside the rule.",
        check,
        bad=example(tool("translate", record(text=TEXT), _meta={IGNORE: {"no-output-schema": ""}})),
        good=example(
            tool("translate", record(text=TEXT), _meta={IGNORE: {"no-output-schema": "It returns prose."}})
        ),
    )
    return (rule,)
