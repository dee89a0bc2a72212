"""Check programs before they run: types for the tools that a program names, an examination, a judgement."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from halflap.calls import aside
from halflap.core.errors import ToolNotFoundError
from halflap.sandbox.check.edited import Edited
from halflap.sandbox.check.finding import Checked, Finding
from halflap.sandbox.check.inferred import OWN_NAMES, written_types
from halflap.sandbox.check.judge import Judge
from halflap.sandbox.check.reading import CheckSkipped
from halflap.sandbox.check.seen import read_facts
from halflap.sandbox.named import PREFIXES, names_in
from halflap.sandbox.sandbox import Readiness
from halflap.schema import parse_schema
from halflap.schema.stub import make_stub, write_stubs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from halflap.catalog import Snapshot
    from halflap.core.values import Tool
    from halflap.sandbox.check.examiner import Examiner
    from halflap.sandbox.check.reading import Diagnostic
    from halflap.sandbox.check.seen import Place, Seen
    from halflap.schema import ToolSchema, Type
    from halflap.schema.stub import Record, Stub

__all__ = ["Checker"]

logger = logging.getLogger(__name__)

_MOST_STUBS = 2_000
_MOST_KEPT = 500
_MOST_NAMED = 10
_SECONDS = 2.0
_ROUNDS = 2
"""What one function returns may be what another one is called with."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known of a tool."""

    schema: ToolSchema
    stub: Stub
    certain: Stub | None = None
    """The stub without what is not certain, where something in it is not."""


class Checker:
    """Checks programs against the tools that there are."""

    def __init__(
        self,
        examiner: Examiner,
        *,
        snapshot: Callable[[], Snapshot],
        settle: Callable[[], Awaitable[None]],
        servers: Sequence[str],
        is_broken: Callable[[str], bool] = lambda _: False,
        is_breached: Callable[[Tool], bool],
        learned: Callable[[Tool], Awaitable[tuple[Type, str] | None]] | None = None,
    ) -> None:
        self.examiner = examiner
        self._snapshot = snapshot
        self._settle = settle
        self._servers = servers
        """All that are configured, also those that have not said yet what tools they have."""
        self._is_broken = is_broken
        """Says whether there is something by a name that only cannot be called; a call says why."""
        self._is_breached = is_breached
        self._learned = learned
        """Says what a tool was seen to return, and gives a text that is another one when that is."""
        self._stubs: OrderedDict[tuple[str, str, bool, str], _Known] = OrderedDict()
        self._kept: OrderedDict[bytes, Checked] = OrderedDict()

    async def ready(self) -> Readiness:
        """Have the process started that examines, and say what holds it."""
        try:
            await self.examiner.ready()
        except CheckSkipped as skipped:
            return Readiness("ty", trouble=skipped.reason)
        return Readiness("ty", layers=self.examiner.layers, missing=self.examiner.missing)

    async def check(self, code: str) -> Checked:
        """Say what is wrong with a program, what may be, or why that could not be found out."""
        known = await self._known(code)
        key = _key(code, known.values())
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        try:
            checked = await self._examine(code, _module(known), known)
            if checked.mistakes and any(one.certain is not None for one in known.values()):
                checked = await self._confirm(code, known, checked)
        except CheckSkipped as skipped:
            return Checked(skipped=skipped.reason)
        except Exception:
            # A mistake of ours is no reason to keep anybody's program from running.
            logger.exception("The check crashed.")
            return Checked(skipped="it crashed; the log says where")
        if not any(name.startswith(PREFIXES) and name not in known for name in names_in(code)):
            # Whether there is such a tool may change, and no stub with it.
            self._kept[key] = checked
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return checked

    async def _confirm(self, code: str, known: Mapping[str, _Known], checked: Checked) -> Checked:
        """Take for mistakes only what is one by certain knowledge alone; the rest are doubts.

        A text or a number does not tell whether it comes of what was only seen, so the program is examined again.
        """
        sure = {
            name: one if one.certain is None else _Known(one.schema, one.certain)
            for name, one in known.items()
        }
        try:
            certain = await self._examine(code, _module(sure), sure)
        except CheckSkipped:
            certain = Checked()
        return _confirmed(checked, certain)

    async def _known(self, code: str) -> dict[str, _Known]:
        """Give the tools that a program names."""
        names = names_in(code)
        tools = self._snapshot().tools
        if any(name.startswith(PREFIXES) and name not in tools for name in names):
            await self._settle()
            tools = self._snapshot().tools
        return {name: await self._stub(tools[name]) for name in sorted(names & tools.keys())}

    async def _stub(self, tool: Tool) -> _Known:
        breached = self._is_breached(tool)
        seen = None if self._learned is None else await self._learned(tool)
        kind, version = (None, "") if seen is None else seen
        key = (tool.name, tool.hash, breached, version)
        if key not in self._stubs:
            self._stubs[key] = await aside(
                lambda: _stub_of(tool, kind, breached=breached), tool.input_schema, tool.output_schema
            )
            if len(self._stubs) > _MOST_STUBS:
                self._stubs.popitem(last=False)
        return self._stubs[key]

    async def _examine(self, code: str, text: str, known: Mapping[str, _Known]) -> Checked:
        began = asyncio.get_running_loop().time()
        examined = await self.examiner.examine(code, text)
        seen = read_facts(examined.facts)
        if seen.syntax_error is not None:
            return Checked([_syntax(code, seen)])
        records = _records(known)
        limit = began + _SECONDS
        put = await self._inferred(code, text, seen, records, limit)
        diagnostics = examined.diagnostics
        if put:
            edited = Edited(code, put=put)
            told = await self._ask(edited, text, limit)
            put = put if told else {}
            diagnostics = edited.original(told) if told else diagnostics
        judge = Judge(
            code,
            seen,
            schemas={name: one.schema for name, one in known.items()},
            records=records,
            closed={name for name, one in known.items() if one.stub.closed},
            suggest=self._suggest,
        )
        places = judge.unclear(diagnostics)
        types = {}
        if places:
            edited = Edited(code, asked=places, put=put)
            types = edited.revealed(await self._ask(edited, text, limit))
        return await asyncio.to_thread(judge.judge, diagnostics, types)

    async def _inferred(
        self, code: str, text: str, seen: Seen, records: Mapping[str, Record], limit: float
    ) -> dict[Place, str]:
        """Find out what the program's own functions take and return, where that is something of a tool's."""
        put: dict[Place, str] = {}
        for _ in range(_ROUNDS if records else 0):
            open_ = [slot for slot in seen.slots if slot.at not in put]
            if not open_:
                break
            edited = Edited(code, asked=[value for slot in open_ for value in slot.values], put=put)
            types = edited.revealed(await self._ask(edited, text, limit))
            found = written_types(open_, types, records)
            if not found:
                break
            put |= found
        return put

    async def _ask(self, edited: Edited, text: str, limit: float) -> tuple[Diagnostic, ...]:
        """Have another text read; what is not known in time stops nobody."""
        try:
            async with asyncio.timeout_at(limit):
                return (await self.examiner.examine(edited.text, text)).diagnostics
        except (CheckSkipped, TimeoutError):
            return ()

    def _suggest(self, name: str) -> str | None:
        """Say what may be meant by a name that means nothing; None if it is probably no tool."""
        snapshot = self._snapshot()
        if self._is_broken(name):
            return None
        try:
            snapshot.find(name, self._servers)
        except ToolNotFoundError as error:
            if error.server is not None and error.server not in snapshot.by_server:
                # Its server may yet come.
                return None
            if name.startswith(PREFIXES) or ("__" in name and error.suggestions):
                return _instead(error)
            same = [tool.name for tool in snapshot.tools.values() if tool.original_name == name]
            return f"Did you mean {' or '.join(same[:_MOST_NAMED])}?" if same else None
        return None

    async def close(self) -> None:
        """End what examines."""
        await self.examiner.close()


def _key(code: str, known: Iterable[_Known]) -> bytes:
    """Name a program over these types; how sure they are does not stand in them."""
    made = sha256(code.encode("utf-8", "surrogatepass"))
    for one in known:
        made.update(f"\0{one.certain is None}\0{one.stub.text}".encode("utf-8", "surrogatepass"))
    return made.digest()


def _stub_of(tool: Tool, learned: Type | None, *, breached: bool) -> _Known:
    schema = parse_schema(tool)
    # What was seen is never certain: it need not be all.
    thought = learned if schema.output_type is None else schema.output_type if breached else None
    if thought is None:
        return _Known(schema, make_stub(schema))
    return _Known(
        schema,
        make_stub(schema, returns=thought, source="doubtful"),
        make_stub(replace(schema, output_type=None)),
    )


def _module(known: Mapping[str, _Known]) -> str:
    return f"{write_stubs(one.stub for one in known.values())}\n{OWN_NAMES}"


def _confirmed(checked: Checked, certain: Checked) -> Checked:
    """Give what is certain, and everything else that was found as doubts."""
    mistaken = {_place(one) for one in certain.mistakes}
    lines = {one.line for one in certain.mistakes}
    thought = [_thought(one) for one in checked.mistakes if _place(one) not in mistaken]
    doubts = {
        _place(one): one for one in (*certain.doubts, *checked.doubts, *thought) if one.line not in lines
    }
    return Checked(certain.mistakes, sorted(doubts.values(), key=lambda one: (one.line, one.column)))


def _place(one: Finding) -> tuple[int, int, str]:
    return one.line, one.column, one.rule


def _thought(one: Finding) -> Finding:
    said = one.wrong.removesuffix(".")
    return one if "as far as is known" in said else replace(one, wrong=f"{said}, as far as is known.")


def _instead(error: ToolNotFoundError) -> str:
    if error.suggestions:
        return f"Did you mean {' or '.join(error.suggestions)}?"
    if error.of_server:
        more = ["…"] if len(error.of_server) > _MOST_NAMED else []
        return f"Tools of {error.server}: {', '.join([*error.of_server[:_MOST_NAMED], *more])}."
    return "`search_tools` finds the tools that there are."


def _records(known: Mapping[str, _Known]) -> dict[str, Record]:
    return {record.name: record for one in known.values() for record in one.stub.records}


def _syntax(code: str, seen: Seen) -> Finding:
    assert seen.syntax_error is not None
    line, column = seen.syntax_error.line, seen.syntax_error.column
    lines = code.split("\n")
    source = lines[line - 1] if line <= len(lines) else ""
    return Finding("syntax", line, column, column + 1, source, f"SyntaxError: {seen.syntax_error.message}")
