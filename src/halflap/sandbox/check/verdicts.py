"""The verdict on a program: certain mistakes, and doubts. Only what fails whatever the program does may stop it."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from halflap.sandbox.check.arguments import Arguments
from halflap.sandbox.check.finding import Checked, Finding
from halflap.sandbox.check.inside.edits import lines_of
from halflap.sandbox.check.keys import AWAITABLE, Reads, Verdict, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.sandbox.check.answer import Answer, Facts, Use
    from halflap.sandbox.check.inside.edits import Place
    from halflap.sandbox.check.probes import Probes
    from halflap.schema import ToolSchema
    from halflap.schema.stub import Stub

__all__ = ["judge"]

_AWAIT = "Write `await` before the call that it comes from."


def judge(
    code: str,
    answer: Answer,
    probes: Probes,
    *,
    schemas: Mapping[str, ToolSchema],
    stubs: Sequence[Stub],
    suggest: Callable[[str], str | None],
) -> Checked:
    """Judge a program. Called before the probes are answered, it asks them."""
    assert answer.facts is not None
    facts = answer.facts
    bound = set(facts.bound)
    records = [one for stub in stubs for one in stub.records if one.name not in bound]
    findings = _Findings(code, facts)
    arguments = Arguments(schemas, {stub.tool for stub in stubs if stub.closed}, probes)
    calls = [one for one in facts.calls if one.name in schemas]
    for call in calls:
        for at, rule, wrong, right in arguments.mistakes(call):
            findings.add(at, Verdict(certain=True, rule=rule, wrong=wrong, right=right))
    named = [(one.name, one.at) for one in facts.calls if one.by_text and one.name not in schemas]
    for name, at in [*named, *((one.name, one.at) for one in facts.unbound if one.name not in schemas)]:
        if right := suggest(name):
            findings.add(at, Verdict(True, "unknown-tool", f"there is no tool {name}.", right))
    for one in facts.unawaited:
        findings.add(one.at, _not_awaited(f"{one.name}(…)", certain=True))
    reads = Reads(records, probes)
    is_shaky = any([_may_be_anything(use, probes) for use in answer.uses if use.kind == "addition"])

    def verdict(use: Use) -> Verdict | None:
        if is_shaky and not use.fresh:
            use = use.model_copy(update={"shaky": True})
        if use.kind == "argument":
            return arguments.by_type(calls, use)
        if use.kind == "operand":
            waits = probes.all_are(use.value, AWAITABLE)
            return _not_awaited(use.shown, certain=not use.shaky) if waits else None
        return None if use.kind in {"store", "addition"} else reads.verdict(use)

    for at, verdicts in _parameters(answer.uses, verdict).items():
        if all(one is not None and one.certain for one in verdicts) and verdicts[0] is not None:
            findings.add(at, verdicts[0])
    uses: dict[int | None, list[Use]] = defaultdict(list)
    for use in answer.uses:
        uses[use.diagnostic].append(use)
    for number, (rule, place, message) in enumerate(answer.diagnostics):
        found = [(use, verdict(use)) for use in uses[number]]
        judged = [(use, one) for use, one in found if one is not None]
        certain = [(use, one) for use, one in judged if one.certain]
        if certain or judged:
            use, best = (certain or judged)[0]
            if best.certain or not (use.put or use.excused):
                findings.add(use.at, best)
        elif not any(use.put or use.excused or use.kind in {"store", "argument"} for use in uses[number]):
            for record in sorted(records, key=lambda one: -len(one.name)):
                message = message.replace(f"`{record.name}`", describe(record))  # noqa: PLW2901
            findings.add(place, Verdict(certain=False, rule=rule, wrong=message))
    return findings.checked()


def _parameters(
    uses: Sequence[Use], verdict: Callable[[Use], Verdict | None]
) -> dict[Place, list[Verdict | None]]:
    """Judge the reads of parameters; each has to fail for every value that is passed."""
    found: dict[Place, list[Verdict | None]] = {}
    for use in uses:
        if use.diagnostic is None and use.kind != "addition":
            found.setdefault(use.at, []).append(verdict(use))
    return found


def _may_be_anything(use: Use, probes: Probes) -> bool:
    """Return whether a value that is added to a list may be something that ty knows nothing about."""
    known = probes.all_are(use.value, ("object",))
    is_list = probes.some_are(use.value, ("list[Any]",))
    of_objects = probes.all_are(use.value, ("HalflapList[Any]", "Sequence[HalflapObject]"))
    return not known or (is_list and not of_objects)


def _not_awaited(what: str, *, certain: bool) -> Verdict:
    shown = f"`{what}`" if what else "the value"
    called = what.partition("(")[0]
    right = f"Write `await {called}(…)`." if what.endswith(("(…)", ")")) and called else _AWAIT
    return Verdict(certain, "not-awaited", f"{shown} is used without being awaited: the call is not made by that.", right)


class _Findings:
    def __init__(self, code: str, facts: Facts) -> None:
        self._lines = lines_of(code)
        self._ignored = set(facts.ignored)
        self._found: dict[bool, dict[tuple[int, int, str], Finding]] = {True: {}, False: {}}

    def add(self, at: Place, verdict: Verdict) -> None:
        if any(at.line <= line <= at.end_line for line in self._ignored):
            return
        source = self._lines[at.line - 1] if at.line <= len(self._lines) else ""
        end = at.end_column if at.end_line == at.line else len(source) + 1
        self._found[verdict.certain].setdefault(
            (at.line, at.column, verdict.rule),
            Finding(verdict.rule, at.line, at.column, end, source, verdict.wrong, verdict.right),
        )

    def checked(self) -> Checked:
        mistakes = [self._found[True][key] for key in sorted(self._found[True])]
        lines = {one.line for one in mistakes}
        doubts = [self._found[False][key] for key in sorted(self._found[False])]
        return Checked(mistakes, [one for one in doubts if one.line not in lines])
