"""Tell certain mistakes from doubts: only what fails whatever the program does may stop it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.sandbox.check.arguments import Arguments
from halflap.sandbox.check.finding import Checked, Finding
from halflap.sandbox.check.keys import Keys
from halflap.sandbox.check.seen import place_of
from halflap.sandbox.check.typetext import is_awaitable, is_coroutine, members

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from halflap.sandbox.check.keys import Verdict
    from halflap.sandbox.check.reading import Diagnostic
    from halflap.sandbox.check.seen import Place, Read, Seen
    from halflap.schema import ToolSchema
    from halflap.schema.stub import Record

__all__ = ["Judge"]

_UNDEFINED = re.compile(r"Name `(\w+)` used when not defined")
_ON_AWAITABLE = re.compile(
    r"(?:Cannot subscript object|Object|Cannot delete subscript on object) of type `(?P<type>.*?)` "
    r"(?:with no|has no attribute|is not iterable|is not async-iterable|is not callable|is not assignable)",
    re.DOTALL,
)
_PASSED = re.compile(
    r"Argument to (?:[a-z ]+)?`(?P<to>[\w.]+)` is incorrect: Expected `.*`, found `(?P<type>.*)`\Z", re.DOTALL
)
_OPERANDS = re.compile(r"between objects of type `(.*)` and `(.*)`\Z", re.DOTALL)
_LYING = re.compile(
    r"bound method `[^`]*\.(?:append|appendleft|extend|insert|update|setdefault|add|put|put_nowait|__setitem__)`"
)
"""What ty says when a program puts something into a container that is of another type than it takes that to be;
see also `_PUTTING` and `_GROWING`."""


_PUTTING = frozenset({"missing-typed-dict-key", "unknown-typed-dict-constructor-key"})
_GROWING = re.compile(r"Operator `(?:\+|\|)=` is not supported")
_ANYTHING = re.compile(r"\b(?:Unknown|Any|object)\b")
_HARMLESS = frozenset({"invalid-typed-dict-key", "non-literal-typed-dict-key"})
"""What ty has against a program that puts keys into a result, or reads those that it got from elsewhere."""


class Judge:
    """Judges one program."""

    def __init__(
        self,
        code: str,
        seen: Seen,
        *,
        schemas: Mapping[str, ToolSchema],
        records: Mapping[str, Record],
        closed: Collection[str],
        suggest: Callable[[str], str | None],
    ) -> None:
        self._lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._seen = seen
        self._schemas = schemas
        self._suggest = suggest
        self._keys = Keys(seen, records)
        self._arguments = Arguments(seen, schemas, records, closed)
        self._records = records
        self._mistakes: dict[tuple[int, int, str], Finding] = {}
        self._doubts: dict[tuple[int, int, str], Finding] = {}

    def unclear(self, diagnostics: Sequence[Diagnostic]) -> list[Place]:
        """Give the values of which the judge wants to know all that they may be."""
        reads = [
            read
            for one in diagnostics
            if (read := self._keys.asked(one)) is not None and self._keys.said(one) is None
        ]
        bases = [read.base_at for read in reads if read.base_at is not None]
        fills = self._seen.fills if any(self._keys.asked(one) for one in diagnostics) else ()
        return list(dict.fromkeys([*(read.value_at for read in reads), *bases, *fills]))

    def judge(self, diagnostics: Sequence[Diagnostic], types: Mapping[Place, str]) -> Checked:
        """Judge what ty said, and what the text alone says."""
        told = {
            read.value_at: kind
            for one in diagnostics
            if (read := self._keys.asked(one)) and (kind := self._keys.said(one))
        }
        types = {**told, **types}
        lying = self._is_filled_with_anything(diagnostics, types) or any(
            (one.rule == "invalid-assignment" and not one.message.startswith("Object of type "))
            or self._is_of_own_function(one)
            or one.rule in _PUTTING
            or _GROWING.match(one.message) is not None
            or _LYING.search(one.message) is not None
            for one in diagnostics
        )
        for found in (*self._arguments.literal(), *self._arguments.named()):
            self._add(self._mistakes, found.at, found.rule, found.wrong, found.right)
        for call in self._seen.calls:
            if call.by_text and call.name not in self._schemas and (right := self._suggest(call.name)):
                self._add(self._mistakes, call.at, "unknown-tool", f"there is no tool {call.name}.", right)
        for one in self._seen.never:
            self._add(self._mistakes, one.at, "not-awaited", *_not_awaited(f"{one.name}("))
        for diagnostic in diagnostics:
            self._one(diagnostic, types, lying=lying)
        self._leave_out_the_obvious()
        mistakes = sorted(self._mistakes.values(), key=lambda one: (one.line, one.column))
        lines = {one.line for one in mistakes}
        doubts = [one for one in self._doubts.values() if one.line not in lines]
        return Checked(mistakes, sorted(doubts, key=lambda one: (one.line, one.column)))

    def _is_filled_with_anything(self, diagnostics: Sequence[Diagnostic], types: Mapping[Place, str]) -> bool:
        """Say whether something is put into a tool's list of which nobody knows what it is.

        What is not known only because of a key that is not there does not count: that is the mistake itself.
        """
        asked = [read.key_at.begin for one in diagnostics if (read := self._keys.asked(one)) is not None]
        return any(
            _ANYTHING.search(types.get(place, ""))
            and not any(place.begin <= begin <= (place.end_line, place.end_column) for begin in asked)
            for place in self._seen.fills
        )

    def _leave_out_the_obvious(self) -> None:
        """Of an argument that is there under another name, or without one, it need not be said that it is missing."""
        for at in self._arguments.misnamed:
            self._mistakes.pop((*at.begin, "missing-argument"), None)

    def _one(self, one: Diagnostic, types: Mapping[Place, str], *, lying: bool) -> None:
        at = place_of(one)
        read = self._keys.asked(one)
        if read is not None:
            self._key(read, self._keys.verdict(read, types, lying=lying))
            return
        if one.rule in _HARMLESS:
            return
        argument = self._arguments.told(one)
        if argument is not None:
            if not argument.certain and not argument.telling:
                return
            into = self._mistakes if argument.certain else self._doubts
            self._add(into, argument.at, argument.rule, self._readable(argument.wrong), argument.right)
            return
        if (
            one.rule == "unresolved-reference"
            and not self._seen.dynamic
            and (named := _UNDEFINED.match(one.message))
        ):
            right = self._suggest(named.group(1))
            if right is not None:
                self._add(self._mistakes, at, "unknown-tool", f"there is no tool {named.group(1)}.", right)
                return
        if self._is_unawaited(one, lying=lying):
            self._add(self._mistakes, at, "not-awaited", *_not_awaited(self._text(at)))
            return
        self._add(self._doubts, at, one.rule, self._readable(one.message))

    def _key(self, read: Read, verdict: Verdict) -> None:
        if (read.put or read.through or read.open) and not verdict.certain:
            # The program sees to it that the key is there.
            return
        into = self._mistakes if verdict.certain else self._doubts
        self._add(into, read.key_at, verdict.rule, verdict.wrong, verdict.right)

    def _is_of_own_function(self, one: Diagnostic) -> bool:
        """Say whether a function of the program is called with something else than it is taken to be called with."""
        found = _PASSED.match(one.message)
        return found is not None and found.group("to").split(".")[0] in self._seen.defined

    def _is_unawaited(self, one: Diagnostic, *, lying: bool) -> bool:
        """Say whether a diagnostic comes of an await that is not there."""
        if one.rule == "unused-awaitable":
            return True
        if lying:
            return False
        kinds = []
        if (found := _ON_AWAITABLE.match(one.message)) is not None:
            kinds = [found.group("type")]
        elif (found := _PASSED.match(one.message)) is not None:
            # What a function of the program itself says that it takes, it need not mean.
            kinds = [] if found.group("to").split(".")[0] in self._seen.defined else [found.group("type")]
        elif one.rule == "unsupported-operator" and (found := _OPERANDS.search(one.message)) is not None:
            kinds = [found.group(1), found.group(2)]
        if "has no attribute" in one.message:
            # A task can be given attributes of its own.
            return any(all(map(is_coroutine, members(kind))) for kind in kinds)
        return any(all(map(is_awaitable, members(kind))) for kind in kinds)

    def _add(
        self,
        into: dict[tuple[int, int, str], Finding],
        at: Place,
        rule: str,
        wrong: str,
        right: str = "",
    ) -> None:
        if self._seen.ignored & set(range(at.line, at.end_line + 1)):
            return
        source = self._lines[at.line - 1] if at.line <= len(self._lines) else ""
        end = at.end_column if at.end_line == at.line else len(source) + 1
        into.setdefault(
            (at.line, at.column, rule), Finding(rule, at.line, at.column, end, source, wrong, right)
        )

    def _text(self, at: Place) -> str:
        if at.line != at.end_line or at.line > len(self._lines):
            return ""
        return self._lines[at.line - 1][at.column - 1 : at.end_column - 1]

    def _readable(self, message: str) -> str:
        """Write what ty says without our names of records, which nobody has seen."""
        message = re.sub(r"\bCoroutineType\[.*\]", "a call that was not awaited", message)
        return re.sub(
            r"_(?:mcp|script|dspy)__\w+",
            lambda found: (
                self._keys.describe(found.group()) if found.group() in self._records else found.group()
            ),
            message,
        )


def _not_awaited(what: str) -> tuple[str, str]:
    name = what.partition("(")[0].strip()
    if name == "asyncio.gather":
        return "`asyncio.gather(…)` is used without being awaited.", "Write `await asyncio.gather(…)`."
    if not name or not re.fullmatch(r"[\w.]+", name):
        return "this is used without being awaited.", "Write `await` before the call that it comes from."
    called = f"`{name}(…)`" if "(" in what or "__" in name else f"`{name}`"
    return (
        f"{called} is used without being awaited: the call is not made by that.",
        f"Write `await {name}(…)`."
        if called.endswith("(…)`")
        else "Write `await` before the call that it comes from.",
    )
