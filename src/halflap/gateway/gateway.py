"""All of a person's tools in one place: what can be asked of a gateway.

What the answers need is loaded when the gateway is opened, and imported where it is used: see `parts`.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from copy import deepcopy
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from halflap.config import Config, load_config
from halflap.core.errors import RunNotFoundError, StoreError
from halflap.core.values import DSPY, SCRIPTS, CallContext, Changes, RegisteredTool
from halflap.gateway.examining import Examining
from halflap.gateway.linting import Linting
from halflap.gateway.parts import FIRST_LISTING_SECONDS, with_learned

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence

    from halflap.backfill import Backfill
    from halflap.catalog import Hit
    from halflap.core.errors import ArgumentProblem
    from halflap.core.values import Result, Tool
    from halflap.execution import Checked, Execution
    from halflap.programs.source import ProgramResult
    from halflap.schema import ToolSchema
    from halflap.schema.stub import Source, Stub
    from halflap.store import CallRecord, Purged, RunRecord

__all__ = ["Gateway"]


class Gateway(Examining, Linting):
    """All of a person's tools in one place.

        async with Gateway.open(config) as gateway:
            for tool in await gateway.tools():
                print(tool.name)
            result = await gateway.call("mcp__time__get_current_time", timezone="Europe/Berlin")

    Opening reads the catalogue that the last run left; no server starts before it is needed.
    """

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        config: Config | Mapping[str, Any] | str | Path | None = None,
        *,
        servers: Mapping[str, Any] | None = None,
    ) -> AsyncIterator[Gateway]:
        """Open a gateway on a `Config`, a mapping in its form, a file's path, or the user's own file.

        `servers` are MCP server objects of the `mcp` package that live in this process, by name; they are used
        beside the configured ones.
        """
        gateway = cls(await _configured(config), servers)
        try:
            await gateway.prepare()
            yield gateway
        finally:
            await gateway.close()

    # What there is -----------------------------------------------------------------------------------

    async def tools(self, *, wait_seconds: float = FIRST_LISTING_SECONDS) -> tuple[RegisteredTool, ...]:
        """Give all callable tools, sorted by name.

        Servers never listed before are started and waited for, at most so long; a list that is past
        its time is given as it is, and brought up to date behind.
        """
        await self.settle(wait_seconds=wait_seconds)
        snapshot = self.snapshot
        reasons = self.unavailable()
        # In a thread: everything is copied, and there may be much of it.
        return await asyncio.to_thread(
            lambda: tuple(self._registered(snapshot.tools[name], reasons) for name in snapshot.callable)
        )

    async def settle(self, *, wait_seconds: float, behind: bool = True) -> None:
        """List the servers that were never listed, and wait for them; `behind` that, the stale ones too."""
        await (await self._asker()).ensure_listed(wait_seconds=wait_seconds, refresh_stale=behind)

    async def warm_up(self) -> None:
        """Open, and list behind the servers that nothing is known of yet; the others wait until needed.

        The sandbox and the check are made ready, too: the first program then starts as quickly as any.
        """
        (await self._asker()).ask_unlisted()
        programs = await self.programs()
        await programs.ready()
        await programs.check_ready()

    async def refresh(self, server: str | None = None) -> Changes:
        """List one server or all of them anew, and say what was added, removed and changed.

        A server that cannot be listed keeps the tools it had. If only one was asked for, its
        `UpstreamError` is raised.
        """
        return await (await self._asker()).refresh(server)

    async def inspect(self, name: str) -> dict[str, Any]:
        """Say what a tool takes and returns, who serves it, and what its server says of itself.

        What was learned of its results stands beside what it declares.
        """
        tool, _ = await self._look_up(name)
        from halflap.calls import aside, describe  # noqa: PLC0415 -- see the top

        assert self._calls is not None
        unchecked = await self._calls.checks.unchecked(tool)
        learned, use = await self._told(tool)
        work = partial(
            describe,
            tool,
            self.snapshot,
            self._calls.policy,
            self.unavailable().get(tool.server),
            unchecked,
            learned=learned,
            use=use,
        )
        return await aside(work, tool.description, tool.input_schema, tool.output_schema, learned)

    async def search(
        self, query: str, *, limit: int = 10, server: str | None = None, behind: bool = True
    ) -> list[Hit]:
        """Find callable tools by what they do, best first; an exact name is always first."""
        await self.settle(wait_seconds=FIRST_LISTING_SECONDS, behind=behind)
        assert self._finder is not None
        return await self._signed(await self._finder.search(query, limit, server))

    async def get_schema(self, tool_name: str) -> ToolSchema:
        """Give a tool's schema, parsed. One past its time is given marked stale, and asked for anew behind."""
        tool, stale = await self._look_up(tool_name)
        from halflap.calls import aside  # noqa: PLC0415 -- see the top

        parsed = await aside(partial(_parsed, tool, stale=stale), tool.input_schema, tool.output_schema)
        return with_learned(parsed, await self.known(tool))

    async def callable_schema(self, tool_name: str) -> tuple[ToolSchema, bool]:
        """Give the schema of a tool, and whether calling it twice is known to do no harm; raises if it may not be called."""
        schema = await self.get_schema(tool_name)
        assert self._calls is not None
        snapshot, policy = self.snapshot, self._calls.policy
        tool = snapshot.find(tool_name)
        policy.admit(tool, snapshot)
        return schema, policy.is_repeatable(tool)

    async def get_schemas(self, tool_names: Iterable[str]) -> dict[str, ToolSchema]:
        """Give several; an unknown name raises `ToolNotFoundError` after all others are resolved."""
        names = list(dict.fromkeys(tool_names))
        found = await asyncio.gather(*(self.get_schema(name) for name in names), return_exceptions=True)
        schemas = {}
        for one in found:
            if isinstance(one, BaseException):
                raise one
            schemas[one.tool_name] = one
        return schemas

    async def stubs(self, server: str | None = None, *, name: str | None = None) -> str:
        """Write the callable tools, of one server, of one name or all, as a module of typed Python functions.

        What a tool returns is written as it declares it, else as it was learned.
        """
        from halflap.schema import parse_schema  # noqa: PLC0415 -- see the top
        from halflap.schema.stub import make_stub, write_stubs  # noqa: PLC0415 -- see the top

        await self.prepare()
        snapshot = self.snapshot
        tools = [snapshot.tools[name] for name in snapshot.callable]
        wanted = [tool for tool in tools if server in {None, tool.server} and name in {None, tool.name}]
        known = await self.known_of_all(wanted)

        def stub(tool: Tool) -> Stub:
            schema = with_learned(parse_schema(tool), known.get(tool.name))
            learned = schema.learned_type if schema.output_type is None else None
            source: Source = "declared" if learned is None else "doubtful"
            return make_stub(schema, returns=learned, source=source, described=True)

        return await asyncio.to_thread(lambda: write_stubs(map(stub, wanted)))

    async def validate_arguments(self, tool_name: str, arguments: Mapping[str, Any]) -> list[ArgumentProblem]:
        """Say everything that is wrong with these arguments, without calling anything."""
        schema = await self.get_schema(tool_name)
        return await asyncio.to_thread(schema.validate_arguments, arguments)

    # What happened -----------------------------------------------------------------------------------

    async def runs(
        self, limit: int = 20, principal: str | None = None, before: float | None = None
    ) -> Sequence[RunRecord]:
        """Give the newest runs, newest first and without their output: all, or one principal's."""
        return await (await self._traces()).runs(limit, principal=principal, before=before)

    async def run(
        self, identifier: str, principal: str | None = None
    ) -> tuple[RunRecord, Sequence[CallRecord]]:
        """Give a run and its calls, by its identifier or the beginning of it.

        For a principal, the runs of others do not exist.
        """
        store = await self._traces()
        found = await store.run(identifier, principal=principal)
        if found is None:
            raise RunNotFoundError(identifier)
        return found, await store.calls_of_run(found.id)

    async def purge_runs(self, *, older_than: float | None = None, everything: bool = False) -> Purged:
        """Take out runs and calls: those that began before a time, or all; else what retention would.

        Raises `StoreError` where the store could not be opened: then nothing can be taken out of it.
        """
        store = await self._traces()
        if self.store_trouble is not None:
            raise StoreError(f"{self.store_trouble} Nothing was deleted.")
        if everything or older_than is not None:
            return await store.purge(older_than=older_than, everything=everything)
        assert self._retention is not None
        return await self._retention.enforce()

    async def recent_calls(self, limit: int = 20) -> Sequence[CallRecord]:
        """Give the newest calls, newest first."""
        return await (await self._traces()).recent_calls(limit)

    # What can be done --------------------------------------------------------------------------------

    async def call(self, name: str, /, **arguments: Any) -> Result:
        """Call a tool by its namespaced name."""
        return await self.call_tool(name, arguments)

    async def execute(
        self, code: str, context: CallContext | None = None, *, kind: str = "program", name: str | None = None
    ) -> Execution:
        """Run a Python program over the tools, in the sandbox; `kind` and `name` are what the record says that it is.

        A program that fails is an answer, too: see `Execution.outcome`. Raises `SandboxError` where no
        program can run.
        """
        await self._know_own_of(code)
        return await (await self.programs()).execute(code, context or CallContext(), kind=kind, name=name)

    async def check(self, code: str) -> Checked:
        """Say what is wrong with a program without running it: certain mistakes, and doubts."""
        await self._know_own_of(code)
        return await (await self.programs()).check(code)

    async def needing_confirmation(self, code: str) -> tuple[Tool, ...]:
        """Give the tools that a program, or a script that it names, may call only with the person's word."""
        await self._know_own_of(code)
        return await (await self.programs()).destructive(code)

    async def execute_dspy(
        self, name: str, inputs: Mapping[str, Any], context: CallContext | None = None
    ) -> ProgramResult:
        """Execute a saved DSPy program by its own name, as any tool is called.

        Raises `ProgramError` if there is none of that name, the inputs do not fit it, or it fails.
        """
        programs = await self.dspy()
        stored = (await programs.find(name)).stored
        work = await asyncio.to_thread(import_module, "halflap.programs.inputs")
        work.check_inputs(stored.manifest, inputs)
        context = self.under_rule(context or CallContext())
        if self.config.uses_programs:
            result = await self.call_tool(f"{DSPY}__{name}", inputs, context)
        else:
            # Without a model it will not come far; that is what whoever asks has to be told.
            result = await programs.call(name, inputs, context, repeatable=False, admit=_nothing)
        return cast("ProgramResult", result)

    def under_rule(self, context: CallContext) -> CallContext:
        """Add the rule of what programs may call to what goes along with calls."""
        from halflap.execution.rule import Rule  # noqa: PLC0415 -- see the top

        assert self._calls is not None
        return replace(context, rule=Rule(self._calls.policy, self.config.execution, context))

    async def dspy_needing_confirmation(self, name: str) -> tuple[Tool, ...]:
        """Give the tools that a DSPy program, or what it calls, may call only with the person's word."""
        programs = await self.dspy()
        await programs.find(name)
        tool = f"{DSPY}__{name}"
        if not programs.code_of(tool):
            # It calls nothing, so no server has to be asked for its tools.
            itself = self.snapshot.tools.get(tool)
            assert self._calls is not None
            needs = itself is not None and self._calls.policy.is_destructive(itself)
            return (
                (itself,)
                if itself is not None and needs and self.config.execution.confirm_destructive
                else ()
            )
        return await (await self.programs()).destructive_within(tool)

    async def backfill(
        self,
        server: str | None = None,
        *,
        jobs: int | None = None,
        strict: bool = False,
        dry_run: bool = False,
        told: Callable[[int, int], None] | None = None,
    ) -> Backfill:
        """Give what turns history into knowledge: `await (await gateway.backfill()).run([path])`.

        `server` is whose the tools are that a log names without a server. Raises `StoreError` where nothing would be
        kept.
        """
        store = await self._traces()
        if self.store_trouble is not None and not dry_run:
            raise StoreError(f"{self.store_trouble} Nothing was read: what is learned could not be kept.")
        work = await asyncio.to_thread(import_module, "halflap.backfill")
        salt, tools = await store.salt(), self.snapshot.tools.values()
        self._expect_learning("Nothing was read")
        from halflap.calls import configured_secrets  # noqa: PLC0415 -- see the top

        values, secrets = self.config.learning.values, configured_secrets(self.config)
        rules = await asyncio.to_thread(
            work.rules_for,
            tools,
            server=server,
            salt=salt,
            values=values,
            secrets=secrets,
            lineage=self.config.graph.lineage,
        )
        made: Backfill = work.Backfill(store, rules, jobs=jobs, strict=strict, dry_run=dry_run, told=told)
        return made

    # Within ------------------------------------------------------------------------------------------

    async def _look_up(self, name: str) -> tuple[Tool, bool]:
        """Find a tool, and say whether its definition is past its time; if so, it is asked for behind."""
        listings = await self._asker()
        tool = await listings.find(name, self._pool or ())
        assert self._catalog is not None
        stale = self._catalog.is_stale_schema(tool)
        if stale:
            listings.ask(tool.server)
        return tool, stale

    async def _know_own_of(self, code: str) -> None:
        """See to it that the catalogue has scripts and DSPy programs as they are now, if a program names any."""
        await self.prepare()
        if f"{SCRIPTS}__" in code:
            await self.scripts.look()
        if f"{DSPY}__" in code and self.config.uses_programs:
            await self._look_at_dspy()

    def _registered(self, tool: Tool, reasons: Mapping[str, str]) -> RegisteredTool:
        return RegisteredTool(
            name=tool.name,
            description=tool.description,
            # Copies: what a caller does to them must not reach the catalogue.
            parameters=deepcopy(tool.input_schema),
            output_schema=deepcopy(tool.output_schema),
            handler=partial(self.call, tool.name),
            server=tool.server,
            original_name=tool.original_name,
            annotations=tool.annotations,
            definition_hash=tool.hash,
            unavailable=reasons.get(tool.server),
        )


async def _nothing() -> None:
    pass


def _parsed(tool: Tool, *, stale: bool) -> ToolSchema:
    # Copies: what a caller does to them must not reach the catalogue.
    own = replace(tool, input_schema=deepcopy(tool.input_schema), output_schema=deepcopy(tool.output_schema))
    from halflap.schema import parse_schema  # noqa: PLC0415 -- see the top

    return parse_schema(own, stale=stale)


async def _configured(config: Config | Mapping[str, Any] | str | Path | None) -> Config:
    if isinstance(config, Config):
        return config
    if config is None or isinstance(config, str | Path):
        return await asyncio.to_thread(load_config, config)
    return await asyncio.to_thread(Config.from_mapping, dict(config))
