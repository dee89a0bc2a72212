"""Saved scripts as tools, run in the sandbox."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.core.errors import InvalidArgumentsError, ScriptError, UsageError
from halflap.core.values import SCRIPTS, CallContext, Listing, Result, Tool
from halflap.sandbox.run.report import calls_made
from halflap.schema import argument_problems, compile_schema, parse_schema
from halflap.scripts.definition import read_definition

if TYPE_CHECKING:
    from halflap.core.folder import Saved
    from halflap.sandbox.programs import Programs
    from halflap.sandbox.run.report import Execution
    from halflap.scripts.folder import Script, ScriptFolder

logger = logging.getLogger(__name__)

_PREFIX = f"{SCRIPTS}__"
_MAX_OUTPUT = 2_000
"""Characters of a failed script's output that its caller gets, from the end."""


@dataclass(frozen=True, slots=True)
class ScriptResult(Result):
    """The result of a script, with the whole report of its run."""

    execution: Execution = field(kw_only=True)


class Scripts:
    """A `ToolSource` that can also save, remove and run scripts."""

    def __init__(
        self,
        folder: ScriptFolder,
        *,
        absorb: Callable[[Listing], Awaitable[None]],
        programs: Programs,
        call: Callable[[str, Mapping[str, Any], CallContext], Awaitable[Result]],
        accept: Callable[[Sequence[str]], Awaitable[Sequence[str]]],
    ) -> None:
        self._folder = folder
        self._absorb = absorb
        self._programs = programs
        self._call = call
        self._accept = accept
        self._saved: Saved[Script] | None = None
        self._lock = asyncio.Lock()

    @property
    def name(self) -> str:
        return SCRIPTS

    async def reread(self) -> dict[str, ScriptError]:
        """Reload changed files; return the tools that cannot be called, and why."""
        broken = (await self.saved()).broken
        return {
            f"{_PREFIX}{name}": ScriptError(f"'{_PREFIX}{name}' cannot be called: {reason}")
            for name, reason in broken.items()
        }

    async def saved(self) -> Saved[Script]:
        async with self._lock:
            saved = await asyncio.to_thread(self._folder.read)
            if saved is not self._saved:
                before = {} if self._saved is None else self._saved.broken
                for name, reason in saved.broken.items():
                    if name not in before:
                        logger.warning("script %r cannot be used: %s", name, reason)
                await self._absorb(_listing(saved))
                self._saved = saved
            return saved

    async def find(self, name: str) -> Script:
        saved = await self.saved()
        if name in saved.broken:
            raise ScriptError(f"The script {name!r} cannot be used: {saved.broken[name]}")
        if name not in saved.valid:
            known = ", ".join(saved.valid) or "none"
            raise UsageError(
                f"There is no script {name!r}. Scripts: {known}. To run a file, give a path or a name that ends in .py.",
                code="script-not-found",
            )
        return saved.valid[name]

    async def list(self) -> Listing:
        return _listing(await self.saved())

    def is_broken(self, tool: str) -> bool:
        """Return whether a tool is a script that could not be used when it was last read."""
        return self._saved is not None and tool.removeprefix(_PREFIX) in self._saved.broken

    def code_of(self, tool: str) -> str | None:
        """Return the source of a script, as last read."""
        if self._saved is None or not tool.startswith(_PREFIX):
            return None
        script = self._saved.valid.get(tool.removeprefix(_PREFIX))
        return None if script is None else script.code

    async def save(self, name: str, code: str, *, force: bool = False) -> Script:
        """Save a program under a name, and accept its definition."""
        async with self._lock:
            script = await asyncio.to_thread(lambda: self._folder.write(name, code.encode(), force=force))
        await self.saved()
        await self._accept([f"{_PREFIX}{name}"])
        return script

    async def remove(self, name: str) -> None:
        """Remove a script, broken or not."""
        if name not in (await self.saved()).broken:
            await self.find(name)
        async with self._lock:
            await asyncio.to_thread(self._folder.remove, name)
        await self.saved()

    async def run(self, name: str, arguments: Mapping[str, Any], context: CallContext) -> Execution:
        """Call a script like any tool, and return the whole report of its run."""
        await self.find(name)
        result = await self._call(f"{_PREFIX}{name}", arguments, context)
        assert isinstance(result, ScriptResult)
        return result.execution

    async def run_unsaved(self, code: str, arguments: Mapping[str, Any], context: CallContext) -> Execution:
        """Run a program that is not saved; its `main` gets the arguments unless it calls `main` itself."""
        definition = await asyncio.to_thread(read_definition, code, as_file=True)
        if definition.calls_main is not None and arguments:
            raise UsageError(
                f"It takes no arguments: it calls main() itself, in line {definition.calls_main}. Remove that call, and "
                "Halflap calls main() with the arguments."
            )
        if problems := argument_problems(arguments, compile_schema(definition.input_schema)):
            tool = Tool("main", "", "main", "", definition.input_schema)
            raise InvalidArgumentsError("main", problems, parse_schema(tool).format_compact())
        return await self._programs.execute(
            code, context, arguments=arguments if definition.has_main else None
        )

    async def call(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        context: CallContext,
        *,
        repeatable: bool,
        admit: Callable[[], Coroutine[Any, Any, None]],
    ) -> Result:
        """Run a script as part of its caller's run, with its caller's permissions and deadline."""
        del repeatable
        script = await self.find(tool)
        await admit()
        # The admitted version must be the one that runs, so a file that changed meanwhile is checked again.
        while (now := await self.find(tool)).code != script.code:
            script = now
            await admit()
        execution = await self._programs.execute(
            script.code,
            context,
            kind="script",
            name=tool,
            arguments=arguments if script.definition.has_main else None,
        )
        return _result(execution, script)


def _listing(saved: Saved[Script]) -> Listing:
    tools = tuple(script.definition.as_tool(name) for name, script in saved.valid.items())
    return Listing(SCRIPTS, tools)


def _result(execution: Execution, script: Script) -> ScriptResult:
    """Return what `main` returned, or else what was printed."""
    value, text = execution.value, execution.output
    declares = script.definition.output_schema is not None
    has_value = execution.ok and (declares or value is not None)
    if not execution.ok:
        text = _failure(execution, script.name)
    elif has_value:
        value = {"result": value} if declares else value
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    written = ({"type": "text", "text": text},) if text or not execution.shown else ()
    return ScriptResult(
        content=(*written, *execution.shown),
        structured_content=value if has_value else None,
        has_structured_content=has_value,
        is_error=not execution.ok,
        meta={"halflap": {"run": execution.run, "outcome": execution.outcome}},
        execution=execution,
    )


def _failure(execution: Execution, name: str) -> str:
    """Describe a failure: the error first, then its location, then the calls made."""
    lines = execution.error.splitlines()
    what = next((line for line in lines if line[:1].strip() and not line.startswith("Traceback ")), "")
    rest = lines if lines != [what] else []
    printed = execution.output.removesuffix("\n")
    if printed:
        end = printed if len(printed) <= _MAX_OUTPUT else f"…{printed[-_MAX_OUTPUT:]}"
        rest = [*rest, "It had printed:", end]
    return "\n".join([f"{_PREFIX}{name} failed: {what}", *rest, *calls_made(execution.calls)])
