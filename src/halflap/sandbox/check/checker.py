"""Checks programs before they run: writes types for the tools that a program names, and has it examined."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from halflap.calls import aside
from halflap.core.errors import ToolNotFoundError
from halflap.core.suggest import did_you_mean
from halflap.sandbox.check.arguments import call_mistakes
from halflap.sandbox.check.finding import Checked, Finding
from halflap.sandbox.check.inside.answer import Answer, Place, Verdict, lines_of
from halflap.sandbox.check.process import CheckSkipped
from halflap.sandbox.functions import PREFIXES, names_in
from halflap.sandbox.sandbox import Readiness, ToolHelp
from halflap.schema import parse_schema
from halflap.schema.stub import TRACED_TYPES, make_stub, write_stubs

if TYPE_CHECKING:
    from halflap.catalog.view import Seen
    from halflap.core.values import Tool
    from halflap.sandbox.check.process import Examiner
    from halflap.schema import ToolSchema, Type
    from halflap.schema.stub import Source, Stub

logger = logging.getLogger(__name__)

_CALLING = frozenset({"call_tool", "dspy", "mcp", "script"})
"""Names that a program may call tools by, or believe that it may."""
_MOST_STUBS = 2_000
_MOST_KEPT = 500
_MOST_NAMED = 10


@dataclass(frozen=True, eq=False)
class KnownTool:
    """What is known about a tool that a program names."""

    schema: ToolSchema
    observed: Type | None
    """The likely type of its result, where no declaration makes that certain."""

    @cached_property
    def help(self) -> ToolHelp:
        return ToolHelp(self.schema.format_compact(), self.schema.positional)

    @cached_property
    def stub(self) -> Stub:
        return self._stub(traced=False)

    @cached_property
    def traced(self) -> Stub:
        """The stub of the second run: declared values have types that the program's own and observed ones do not have."""
        return self._stub(traced=True)

    def _stub(self, *, traced: bool) -> Stub:
        source: Source = "declared" if self.observed is None else "doubtful"
        return make_stub(self.schema, returns=self.observed, source=source, traced=traced)


class Checker:
    """Checks programs against the tools in the catalogue."""

    def __init__(
        self,
        examiner: Examiner,
        *,
        seen_by: Callable[[str], Seen],
        settle: Callable[[], Awaitable[None]],
        is_broken: Callable[[str], bool] = lambda _: False,
        is_breached: Callable[[Tool], bool],
        learned: Callable[[Tool], Awaitable[tuple[Type, str] | None]] | None = None,
    ) -> None:
        self.examiner = examiner
        self._seen_by = seen_by
        """Returns the catalogue as far as it exists for a principal."""
        self._settle = settle
        self._is_broken = is_broken
        """Whether something by that name exists but cannot be called; a call reports why."""
        self._is_breached = is_breached
        self._learned = learned
        """Returns the type that a tool was observed to return, and a version of it."""
        self._stubs: dict[tuple[str, str, bool, str], KnownTool] = {}
        self._kept: dict[tuple[object, ...], Checked] = {}

    async def ready(self) -> Readiness:
        """Start the process that examines, and return the layers that confine it."""
        try:
            server = await self.examiner.ready()
        except CheckSkipped as skipped:
            return Readiness("ty", trouble=skipped.reason)
        return Readiness("ty", layers=server.report["layers"], missing=server.report["missing"])

    async def check(self, code: str, principal: str = "local") -> Checked:
        """Return the mistakes and doubts in a program, or why it could not be checked."""
        known = await self.tools_in(code, principal)
        # What is suggested instead of a name depends on what exists for the principal.
        key = (principal, sha256(code.encode("utf-8", "surrogatepass")).digest(), *known.values())
        if key in self._kept:
            return self._kept[key]
        try:
            checked = await self._examine(code, known, principal)
        except CheckSkipped as skipped:
            return Checked(skipped=skipped.reason)
        except Exception:
            # A bug of ours must not stop a program from running.
            logger.exception("The check crashed.")
            return Checked(skipped="it crashed; the log says where")
        if not any(name.startswith(PREFIXES) and name not in known for name in names_in(code)):
            # Whether there is such a tool may change, and no stub with it.
            _keep(self._kept, key, checked, _MOST_KEPT)
        return checked

    def may_call(self, code: str, principal: str) -> bool:
        """Return whether a program names a tool, or something that looks like one."""
        names = names_in(code)
        if names & _CALLING or any(name.startswith(PREFIXES) for name in names):
            return True
        short = {tool.original_name for tool in self._seen_by(principal).snapshot.tools.values()}
        return bool(names & short)

    async def tools_in(self, code: str, principal: str) -> dict[str, KnownTool]:
        """Return the tools that a program names, by name."""
        names = names_in(code)
        tools = self._seen_by(principal).snapshot.tools
        if any(name.startswith(PREFIXES) and name not in tools for name in names):
            await self._settle()
            tools = self._seen_by(principal).snapshot.tools
        return {name: await self._stub(tools[name]) for name in sorted(names & tools.keys())}

    async def _stub(self, tool: Tool) -> KnownTool:
        breached = self._is_breached(tool)
        seen = None if self._learned is None else await self._learned(tool)
        kind, version = (None, "") if seen is None else seen
        key = (tool.name, tool.hash, breached, version)
        if key not in self._stubs:
            read = partial(_read, tool, kind, breached=breached)
            _keep(self._stubs, key, await aside(read, tool.input_schema, tool.output_schema), _MOST_STUBS)
        return self._stubs[key]

    async def _examine(self, code: str, known: Mapping[str, KnownTool], principal: str) -> Checked:
        question = await asyncio.to_thread(_question, code, known)
        answer = await self.examiner.examine(question, principal)
        seen = self._seen_by(principal)
        return _checked(code, [*answer.findings, *self._about_calls(answer, known, seen)])

    def _about_calls(
        self, answer: Answer, known: Mapping[str, KnownTool], seen: Seen
    ) -> Iterator[tuple[Place, Verdict]]:
        for call in answer.calls:
            if call.name in known:
                tool = known[call.name]
                yield from call_mistakes(call, tool.schema, closed=tool.stub.closed)
        by_text = [(one.name, one.at) for one in answer.calls if one.by_text]
        for name, at in (*by_text, *answer.unbound):
            if name not in known and (hint := self._suggest(name, seen)):
                yield at, Verdict(True, "unknown-tool", f"there is no tool {name}.", hint)

    def _suggest(self, name: str, seen: Seen) -> str | None:
        """Return what was probably meant by a name that has no meaning; None if it is probably no tool."""
        snapshot = seen.snapshot
        before, _, last = name.rpartition(".")
        same = [tool.name for tool in snapshot.tools.values() if tool.original_name == last]
        probably = f"Did you mean {' or '.join(same[:_MOST_NAMED])}?" if same else None
        if last == "call_tool":
            return "Write call_tool(…) without anything before it."
        if before:
            # `mcp.time.get_time` and `time.get_time` are how one would write it elsewhere.
            full = "__".join(["mcp", *name.removeprefix("mcp.").split(".")])
            known = name.startswith("mcp.") or full in snapshot.tools
            return (self._suggest(full, seen) or f"Did you mean {full}?") if known else probably
        try:
            snapshot.find(name, seen.configured)
        except ToolNotFoundError as error:
            is_late = error.server is not None and error.server not in snapshot.by_server
            if is_late or self._is_broken(name):
                return None
            if name.startswith(PREFIXES) or ("__" in name and error.suggestions):
                return _instead(error)
            return probably
        return None

    async def close(self) -> None:
        """End the process that examines."""
        await self.examiner.close()


def _keep(kept: dict[Any, Any], key: Any, value: Any, most: int) -> None:
    """Keep a value; when there are too many, forget the others."""
    if len(kept) >= most:
        kept.clear()
    kept[key] = value


def _read(tool: Tool, learned: Type | None, *, breached: bool) -> KnownTool:
    schema = replace(parse_schema(tool), learned_type=learned)
    # A declaration that results were seen to break is worth no more than what was observed.
    observed = learned if schema.output_type is None else schema.output_type if breached else None
    known = KnownTool(schema, observed)
    _ = known.stub
    return known


def _instead(error: ToolNotFoundError) -> str:
    if error.suggestions:
        return f"Did you mean {' or '.join(error.suggestions)}?"
    if error.of_server:
        more = ["…"] if len(error.of_server) > _MOST_NAMED else []
        return f"Tools of {error.server}: {', '.join([*error.of_server[:_MOST_NAMED], *more])}."
    return "`search_tools` lists the tools."


def _question(code: str, known: Mapping[str, KnownTool]) -> dict[str, Any]:
    stubs = [one.stub for one in known.values()]
    return {
        "code": code,
        "stubs": write_stubs(stubs),
        "traced": f"{TRACED_TYPES}\n{write_stubs(one.traced for one in known.values())}",
        "records": [astuple(record) for stub in stubs for record in stub.records],
    }


def _checked(code: str, found: Iterable[tuple[Place, Verdict]]) -> Checked:
    lines = lines_of(code)
    findings: dict[bool, dict[tuple[int, int, str], Finding]] = {True: {}, False: {}}
    for (line, column, end_line, end_column), verdict in found:
        source = lines[line - 1] if 0 < line <= len(lines) else ""
        end = end_column if end_line == line else len(source) + 1
        right = verdict.right or (did_you_mean(verdict.name, verdict.keys) if verdict.name else "")
        finding = Finding(verdict.rule, line, column, end, source, verdict.wrong, right)
        findings[verdict.certain].setdefault((line, column, verdict.rule), finding)
    mistakes, doubts = ([one[key] for key in sorted(one)] for one in findings.values())
    mistaken = {one.line for one in mistakes}
    return Checked(mistakes, [one for one in doubts if one.line not in mistaken])
