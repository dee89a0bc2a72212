"""Check programs before they run: types for the tools that a program names, an examination, a judgement."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import sha256
from typing import TYPE_CHECKING

from halflap.calls import aside
from halflap.core.errors import ToolNotFoundError
from halflap.sandbox.check.answer import CheckSkipped
from halflap.sandbox.check.finding import Checked, Finding
from halflap.sandbox.check.inside.edits import lines_of
from halflap.sandbox.check.probes import Probes
from halflap.sandbox.check.verdicts import judge
from halflap.sandbox.named import PREFIXES, names_in
from halflap.sandbox.sandbox import Readiness
from halflap.schema import parse_schema
from halflap.schema.stub import TRACED_TYPES, make_stub, write_stubs

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from halflap.catalog import Snapshot
    from halflap.core.values import Tool
    from halflap.sandbox.check.answer import SyntaxTrouble
    from halflap.sandbox.check.examiner import Examiner
    from halflap.schema import ToolSchema, Type
    from halflap.schema.stub import Source, Stub

__all__ = ["Checker"]

logger = logging.getLogger(__name__)

_MOST_STUBS = 2_000
_MOST_KEPT = 500
_MOST_NAMED = 10
_STARTED = """
from collections.abc import AsyncGenerator, Coroutine
from typing import TypeVar
HalflapReturned = TypeVar("HalflapReturned")
halflap_maybe: bool
def halflap_started(value: HalflapReturned) -> Coroutine[Any, Any, HalflapReturned]: ...
def halflap_yielding(value: HalflapReturned | None) -> AsyncGenerator[HalflapReturned, Any]: ...
"""
"""What the calls of async functions are wrapped in (see `inside/facts`)."""


@dataclass(frozen=True)
class _Known:
    """What is known about a tool."""

    schema: ToolSchema
    observed: Type | None
    """What its result is thought to be, where no declaration makes that certain."""

    @cached_property
    def stub(self) -> Stub:
        return self._stub(traced=False)

    @cached_property
    def traced(self) -> Stub:
        """The stub by which ty can tell declared values from the program's own, and from what was only observed."""
        return self._stub(traced=True)

    def _stub(self, *, traced: bool) -> Stub:
        source: Source = "declared" if self.observed is None else "doubtful"
        return make_stub(self.schema, returns=self.observed, source=source, traced=traced)


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
            checked = await self._examine(code, known)
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
                lambda: _read(tool, kind, breached=breached), tool.input_schema, tool.output_schema
            )
            if len(self._stubs) > _MOST_STUBS:
                self._stubs.popitem(last=False)
        return self._stubs[key]

    async def _examine(self, code: str, known: Mapping[str, _Known]) -> Checked:
        stubs = [one.stub for one in known.values()]
        answer = await self.examiner.examine(code, f"{write_stubs(stubs)}\n{_STARTED}")
        if answer.syntax_error is not None:
            return Checked([_syntax(code, answer.syntax_error)])
        assert answer.facts is not None
        probes = Probes()
        verdict = partial(
            judge,
            code,
            answer,
            probes,
            schemas={name: one.schema for name, one in known.items()},
            stubs=stubs,
            suggest=self._suggest,
        )
        checked = await asyncio.to_thread(verdict)
        if not probes:
            return checked
        edited = probes.text(code, answer.facts.wraps, answer.facts.without)
        traced = await asyncio.to_thread(lambda: write_stubs(one.traced for one in known.values()))
        try:
            failed = await self.examiner.probe(
                edited.text, f"{TRACED_TYPES}\n{traced}\n{_STARTED}\n{probes.stubs()}"
            )
        except CheckSkipped:
            # What cannot be confirmed in time stops nothing.
            return checked
        probes.read(edited, failed)
        return await asyncio.to_thread(verdict)

    def _suggest(self, name: str) -> str | None:
        """Return what was probably meant by a name that has no meaning; None if it is probably no tool."""
        snapshot = self._snapshot()
        if "." in name:
            # `mcp.time.get_time` and `time.get_time` are how one would write it elsewhere.
            full = "__".join(["mcp", *name.removeprefix("mcp.").split(".")])
            known = name.startswith("mcp.") or full in snapshot.tools
            return (self._suggest(full) or f"Did you mean {full}?") if known else None
        try:
            snapshot.find(name, self._servers)
        except ToolNotFoundError as error:
            is_late = error.server is not None and error.server not in snapshot.by_server
            if is_late or self._is_broken(name):
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
    """Identify a program over these types, and how certain they are."""
    made = sha256(code.encode("utf-8", "surrogatepass"))
    for one in known:
        made.update(f"\0{one.observed is None}\0{one.stub.text}".encode("utf-8", "surrogatepass"))
    return made.digest()


def _read(tool: Tool, learned: Type | None, *, breached: bool) -> _Known:
    schema = parse_schema(tool)
    # A declaration that results were seen to break is worth no more than what was observed.
    observed = learned if schema.output_type is None else schema.output_type if breached else None
    known = _Known(schema, observed)
    _ = known.stub
    return known


def _instead(error: ToolNotFoundError) -> str:
    if error.suggestions:
        return f"Did you mean {' or '.join(error.suggestions)}?"
    if error.of_server:
        more = ["…"] if len(error.of_server) > _MOST_NAMED else []
        return f"Tools of {error.server}: {', '.join([*error.of_server[:_MOST_NAMED], *more])}."
    return "`search_tools` finds the tools that there are."


def _syntax(code: str, error: SyntaxTrouble) -> Finding:
    lines = lines_of(code)
    source = lines[error.line - 1] if error.line <= len(lines) else ""
    return Finding(
        "syntax", error.line, error.column, error.column + 1, source, f"SyntaxError: {error.message}"
    )
