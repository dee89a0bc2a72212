"""The verdict on a program: certain mistakes, and doubts. Only what fails whatever the program does may stop it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.sandbox.check.answer import Named
from halflap.sandbox.check.arguments import Arguments
from halflap.sandbox.check.finding import Checked, Finding
from halflap.sandbox.check.inside.edits import lines_of
from halflap.sandbox.check.keys import AWAITABLE, LIST, Reads, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from halflap.sandbox.check.answer import Answer, Facts, Use
    from halflap.sandbox.check.inside.edits import Place
    from halflap.sandbox.check.probes import Probes
    from halflap.schema import ToolSchema
    from halflap.schema.stub import Stub

__all__ = ["judge"]


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
    for call in facts.calls:
        for at, rule, wrong, right in arguments.mistakes(call):
            findings.add(at, Verdict(certain=True, rule=rule, wrong=wrong, right=right))
    by_text = [Named(name=one.name, at=one.at) for one in facts.calls if one.by_text]
    for named in (*by_text, *facts.unbound):
        if named.name not in schemas and (hint := suggest(named.name)):
            wrong = f"there is no tool {named.name}."
            findings.add(named.at, Verdict(certain=True, rule="unknown-tool", wrong=wrong, right=hint))
    for one in facts.unawaited:
        findings.add(one.at, not_awaited(f"{one.name}(…)"))
    for at, verdict in _Uses(answer, probes, arguments, Reads(records, probes)).verdicts():
        findings.add(at, verdict)
    return findings.checked()


class _Uses:
    """Judges what ty objects to."""

    def __init__(self, answer: Answer, probes: Probes, arguments: Arguments, reads: Reads) -> None:
        assert answer.facts is not None
        self._answer = answer
        self._calls = answer.facts.calls
        self._probes = probes
        self._arguments = arguments
        self._reads = reads
        self._judged = [(use, self._judge(use)) for use in answer.uses]

    def _judge(self, use: Use) -> Verdict | None:
        if use.kind == "argument":
            return self._arguments.by_type(self._calls, use)
        if use.kind == "operand":
            waits = self._probes.all_are(use.value, AWAITABLE)
            return not_awaited(use.shown) if waits else None
        return None if use.kind in {"store", "addition"} else self._reads.verdict(use)

    def verdicts(self) -> Iterator[tuple[Place, Verdict]]:
        about: dict[int | None, list[tuple[Use, Verdict | None]]] = defaultdict(list)
        shaky = self._is_shaky()
        for use, verdict in self._judged:
            lessened = (
                replace(verdict, certain=verdict.certain and (use.fresh or not shaky)) if verdict else None
            )
            about[use.diagnostic].append((use, lessened))
        yield from _of_parameters(about[None])
        for number, (rule, place, message) in enumerate(self._answer.diagnostics):
            judged = [(use, verdict) for use, verdict in about[number] if verdict is not None]
            best = next((one for one in judged if one[1].certain), judged[0] if judged else None)
            silent = any(use.put or use.excused or use.kind == "store" for use, _ in about[number])
            if best is not None and (best[1].certain or not silent):
                yield best[0].at, best[1]
            elif best is None and not silent and not any(use.kind == "argument" for use, _ in about[number]):
                # Of an argument that may well fit there is nothing to say.
                yield place, Verdict(certain=False, rule=rule, wrong=self._reads.readable(message))

    def _is_shaky(self) -> bool:
        """Return whether containers may hold something else than ty believes.

        They may if the program puts in what ty objects to, other than by a mistake of its own, or knows nothing about.
        """
        mistaken = {
            use.diagnostic for use, verdict in self._judged if verdict is not None and verdict.certain
        }
        added = [self._may_be_anything(use.value) for use, _ in self._judged if use.kind == "addition"]
        return any(added) or not mistaken.issuperset(self._answer.filling)

    def _may_be_anything(self, value: Place) -> bool:
        # Of what may be `Any`, ty does not know whether it is a list.
        no_list = self._probes.all_are(value, ("object",), but=("list[Any]",))
        of_tools = self._probes.all_are(value, LIST)
        return not (no_list or of_tools)


def _of_parameters(judged: Sequence[tuple[Use, Verdict | None]]) -> Iterator[tuple[Place, Verdict]]:
    """Yield the reads of parameters that fail for every value that is passed."""
    found: dict[Place, list[Verdict | None]] = {}
    for use, verdict in judged:
        if use.kind != "addition":
            found.setdefault(use.at, []).append(verdict)
    for at, verdicts in found.items():
        certain = [one for one in verdicts if one is not None and one.certain]
        if len(certain) == len(verdicts):
            yield at, certain[0]


def not_awaited(what: str) -> Verdict:
    """Return the verdict on a call, or a value, that is used without being awaited."""
    called, bracket, _ = what.partition("(")
    shown = f"`{called}(…)`" if bracket else f"`{what}`" if what else "the value"
    return Verdict(
        certain=True,
        rule="not-awaited",
        wrong=f"{shown} is used without being awaited: the call is not made by that.",
        right=f"Write `await {called}(…)`."
        if bracket
        else "Write `await` before the call that it comes from.",
    )


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
