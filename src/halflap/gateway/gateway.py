"""The class that everything else uses: all of a person's tools in one place."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.config import Config, ServerConfig, load_config
from halflap.core.errors import ArgumentProblem, RunNotFoundError, StoreError, UsageError
from halflap.core.values import OWN, CallContext
from halflap.gateway.lazy import Lazy

if TYPE_CHECKING:
    from halflap.catalog import Hit, Snapshot
    from halflap.core.values import Changes, ClientChannel, RegisteredTool, Result, ServerEvent, Tool
    from halflap.gateway.build import Parts
    from halflap.gateway.compose import Composer
    from halflap.gateway.learned import LearnedSchemas
    from halflap.graph.edges import Explanation, Graph
    from halflap.lint.live import Linted
    from halflap.sandbox.check.finding import Checked
    from halflap.sandbox.programs import Programs
    from halflap.sandbox.run.report import Execution
    from halflap.schema import ToolSchema
    from halflap.scripts import Scripts
    from halflap.store import CallRecord, Purged, RunRecord, Store
    from halflap.upstream import Status


class Gateway:
    """All of a person's tools in one place.

        async with Gateway.open(config) as gateway:
            for tool in await gateway.tools():
                print(tool.name)
            result = await gateway.call("mcp__time__get_current_time", timezone="Europe/Berlin")

    Opening reads the catalogue that the last run left; no server starts before it is needed.
    """

    def __init__(
        self, config: Config, servers: Mapping[str, Any] | None = None, *, refresh_stale: bool = True
    ) -> None:
        self.config = _with_servers(config, servers or {})
        self._in_process = servers or {}
        self.principal = "local"
        self._refresh_stale = refresh_stale
        self._client_roots: Callable[[], Awaitable[Sequence[Mapping[str, Any]]]] | None = None
        self._listeners: list[Callable[[ServerEvent], None]] = []
        self._parts = Lazy(self._build)
        self._closing = asyncio.Event()
        self._retiring: set[asyncio.Task[None]] = set()

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        config: Config | Mapping[str, Any] | str | Path | None = None,
        *,
        servers: Mapping[str, Any] | None = None,
        refresh_stale: bool = True,
    ) -> AsyncIterator[Gateway]:
        """Open a gateway on a `Config`, a mapping in its form, a file's path, or the user's own file.

        `servers` are MCP server objects of the `mcp` package that live in this process, by name; they are used
        beside the configured ones. `refresh_stale` lists servers whose list is stale again in the background, which a
        program that ends soon does not need.
        """
        gateway = cls(await _configured(config), servers, refresh_stale=refresh_stale)
        try:
            await gateway.prepare()
            yield gateway
        finally:
            await gateway.close()

    def seen_by(self, principal: str) -> Gateway:
        """Return the same gateway for someone's request: only what exists for them can be found, asked about and called."""
        seen = copy.copy(self)
        seen.principal = principal
        return seen

    async def prepare(self) -> Parts:
        """Open the store and the catalogue, and return the parts. Other methods do it when they need them."""
        return (await self._parts.get()).seen_by(self.principal)

    @property
    def parts(self) -> Parts:
        """The parts that Halflap's own faces use; only once the gateway is prepared."""
        assert self._parts.made is not None, "the gateway is not prepared"
        return self._parts.made.seen_by(self.principal)

    async def reload(self, config: Config) -> None:
        """Use another configuration from now on. What is running finishes with the old one, within its time limit."""
        before, old = self.config, self._parts
        self.config = _with_servers(config, self._in_process)
        new = Lazy(self._build)
        try:
            await new.get()
        except BaseException:
            self.config = before
            raise
        self._parts = new
        if old.made is not None:
            old.made.calls.policy.access = config
        task = asyncio.create_task(self._retire(old, before.execution.timeout_seconds))
        self._retiring.add(task)
        task.add_done_callback(self._retiring.discard)

    async def close(self) -> None:
        """Stop every server, and write what is left to write."""
        self._closing.set()
        await asyncio.gather(*self._retiring, return_exceptions=True)
        await self._parts.close()

    async def _retire(self, parts: Lazy[Parts], seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), seconds)
        await parts.close()

    @property
    def snapshot(self) -> Snapshot:
        """The catalogue as it is now."""
        if self._parts.made is not None:
            return self.parts.seen.snapshot
        from halflap.catalog import Snapshot  # noqa: PLC0415 -- takes a while, see `build`

        return Snapshot()

    # Tools

    async def tools(self) -> tuple[RegisteredTool, ...]:
        """Return all callable tools, sorted by name. Servers that were never listed are awaited for a few seconds."""
        await self.settle()
        return (await self.prepare()).tools.all()

    async def settle(self) -> None:
        """List the servers that were never listed, and wait for them for a few seconds."""
        await (await self.prepare()).catalog.ensure_listed()

    async def warm_up(self) -> None:
        """Begin to list servers that were never listed, and start the sandbox and the check."""
        parts = await self.prepare()
        parts.catalog.ask_unlisted()
        programs = parts.programs
        await programs.ready()
        await programs.check_ready()

    async def refresh(self, server: str | None = None) -> Changes:
        """List one server or all of them again, and return what was added, removed and changed.

        A server that cannot be listed keeps the tools it had. If only one was asked for, its `UpstreamError` is raised.
        """
        return await (await self.prepare()).catalog.refresh(server)

    def unavailable(self) -> dict[str, str]:
        """Return the servers that cannot be reached right now, with the reason."""
        return {} if self._parts.made is None else self.parts.seen.unavailable()

    async def inspect(self, name: str) -> dict[str, Any]:
        """Return what a tool takes and returns, declared and learned, and what its server says about it."""
        return await (await self.prepare()).tools.inspect(name)

    async def search(self, query: str, *, limit: int = 10, server: str | None = None) -> list[Hit]:
        """Find callable tools by what they do, best first; an exact name is always first."""
        parts = await self.prepare()
        await parts.catalog.ensure_listed()
        return await parts.finder.search(query, limit, server)

    async def get_schema(self, tool_name: str) -> ToolSchema:
        """Return a tool's parsed schema. A stale one is marked so, and refreshed in the background."""
        return await (await self.prepare()).tools.schema(tool_name)

    async def get_schemas(self, tool_names: Iterable[str]) -> dict[str, ToolSchema]:
        """Return several schemas by name; raises `ToolNotFoundError` for a name that is unknown."""
        found = await asyncio.gather(*map(self.get_schema, dict.fromkeys(tool_names)))
        return {schema.tool_name: schema for schema in found}

    async def validate_arguments(self, tool_name: str, arguments: Mapping[str, Any]) -> list[ArgumentProblem]:
        """Return everything that is wrong with these arguments, without calling anything."""
        schema = await self.get_schema(tool_name)
        return await asyncio.to_thread(schema.validate_arguments, arguments)

    # Calls and programs

    async def call(self, name: str, /, **arguments: Any) -> Result:
        """Call a tool by its namespaced name."""
        return await self.call_tool(name, arguments)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None
    ) -> Result:
        """Call a tool with its arguments as a mapping; `context` says on whose behalf."""
        return await (await self.prepare()).calls.call(
            name, arguments, context or CallContext(self.principal)
        )

    async def execute(
        self, code: str, context: CallContext | None = None, *, kind: str = "program", name: str | None = None
    ) -> Execution:
        """Run a Python program over the tools, in the sandbox; `kind` and `name` are for the record.

        A program that fails is an answer too: see `Execution.outcome`. Raises `SandboxError` where no program can run, and
        `BusyError` where too many are running.
        """
        programs = await self._programs_for(code)
        return await programs.execute(code, context or CallContext(self.principal), kind=kind, name=name)

    async def check(self, code: str) -> Checked:
        """Return what is wrong with a program without running it: certain mistakes, and doubts."""
        return await (await self._programs_for(code)).check(code, self.principal)

    async def needing_confirmation(self, code: str) -> tuple[Tool, ...]:
        """Return the tools that a program, or a script it names, may call only after the person confirmed it."""
        return await (await self._programs_for(code)).destructive(code, self.principal)

    async def _programs_for(self, code: str) -> Programs:
        """Return what runs programs, once the scripts and DSPy programs that the code may name are read again."""
        parts = await self.prepare()
        if any(f"{own}__" in code for own in OWN):
            await parts.catalog.look()
        return parts.programs

    @property
    def scripts(self) -> Scripts:
        """The saved scripts; only once the gateway is prepared."""
        return self.parts.scripts

    # Events and roots

    def on_event(self, listener: Callable[[ServerEvent], None]) -> None:
        """Call this whenever a server announces that a list or a watched resource has changed."""
        self._listeners.append(listener)

    def _announce(self, event: ServerEvent) -> None:
        for listener in self._listeners:
            listener(event)

    def offer_roots(self, roots: Callable[[], Awaitable[Sequence[Mapping[str, Any]]]]) -> None:
        """Ask a client for its roots when a server wants them; call it before the gateway is prepared."""
        self._client_roots = roots

    async def roots_changed(self) -> None:
        """Notify the servers that the roots changed."""
        if self._parts.made is not None and self._parts.made.pool.made is not None:
            await self._parts.made.pool.made.roots_changed()

    async def _list_roots(self, client: ClientChannel | None) -> list[dict[str, Any]]:
        """Return the configured roots, and those of the client behind a call, or of the only client there is."""
        roots: list[dict[str, Any]] = [{"uri": uri} for uri in self.config.roots]
        with suppress(Exception):
            if client is not None:
                answer = (await client.ask({"roots": {"method": "roots/list"}}))["roots"]
                roots += [dict(root) for root in answer["roots"]]
            elif self._client_roots is not None:
                roots += [dict(root) for root in await self._client_roots()]
        return roots

    # Records, and what was learned from them

    async def records(self) -> Store:
        """Return the store once it has everything that happened so far."""
        parts = await self.prepare()
        await parts.recorder.flush()
        await parts.recorder.mark_interrupted()
        return parts.store

    async def runs(
        self, limit: int = 20, principal: str | None = None, before: float | None = None
    ) -> Sequence[RunRecord]:
        """Return the newest runs, newest first and without their output: all, or one principal's."""
        return await (await self.records()).runs(limit, principal=principal, before=before)

    async def run(
        self, identifier: str, principal: str | None = None, *, values: bool = True
    ) -> tuple[RunRecord, Sequence[CallRecord]]:
        """Return a run and its calls, by its identifier or the beginning of it; a principal sees only its own.

        Without `values`, the calls come without arguments and results, which may be large: see `Store.call`.
        """
        store = await self.records()
        found = await store.run(identifier, principal=principal)
        if found is None:
            raise RunNotFoundError(identifier)
        return found, await store.calls_of_run(found.id, values=values)

    async def purge_runs(self, *, older_than: float | None = None, everything: bool = False) -> Purged:
        """Delete runs and calls: those that began before a time, or all; by default what retention would delete."""
        store = await self.records()
        if store.trouble is not None:
            raise StoreError(f"{store.trouble} Nothing was deleted.")
        if everything or older_than is not None:
            return await store.purge(older_than=older_than, everything=everything)
        return await self.parts.retention.enforce()

    async def recent_calls(
        self,
        limit: int = 20,
        *,
        tool: str | None = None,
        principal: str | None = None,
        values: bool = True,
    ) -> Sequence[CallRecord]:
        """Return the newest calls, newest first: all, or those of one tool or principal."""
        store = await self.records()
        key = None if tool is None else self.snapshot.find(tool)
        return await store.recent_calls(
            limit,
            server=None if key is None else key.server,
            tool=None if key is None else key.original_name,
            principal=principal,
            values=values,
        )

    @property
    def store_trouble(self) -> str | None:
        """Why nothing is kept, if so."""
        return None if self._parts.made is None else self._parts.made.store.trouble

    @property
    def learned(self) -> LearnedSchemas:
        """What was learned: `of` a tool, `rows`, `drift`, `export`, `import_from`, `forget`, `backfill`; once prepared."""
        return self.parts.learned

    # How tools fit together

    async def graph(self) -> Graph:
        """Return the data-flow graph over all callable tools, as it is now."""
        return await (await self._composer()).graph()

    async def explain_edge(self, source: str, target: str) -> Explanation:
        """Return why one tool can feed another, or what comes closest and why that is not enough."""
        return await (await self._composer()).explain(source, target)

    async def suggest_workflow(
        self,
        goal: str | None = None,
        have: Mapping[str, Any] | None = None,
        want: str | Sequence[str] | None = None,
        limit: int | None = None,
        *,
        may_change: bool = False,
        nets: bool = False,
    ) -> dict[str, Any]:
        """Return workflows for what is wanted, or candidates for a goal, with what is missing. Nothing is called.

        `want` names tools or fields; without it, `goal` is searched for. `have` has values by name, None for one that
        is supplied later. With `may_change`, tools that may change something can be on the way. With `nets`, each
        workflow comes as a net, too.
        """
        composer = await self._composer()
        return await composer.suggest(goal, have, want, limit, may_change=may_change, nets=nets)

    async def _composer(self) -> Composer:
        return await (await self.prepare()).composer()

    async def metrics(self) -> dict[str, Any]:
        """Count tools by what is known of their results, edges by coverage and evidence, and the cost of learning."""
        return await (await self.prepare()).metrics.current()

    # Health

    async def lint(self, servers: Collection[str] = ()) -> Linted:
        """List the tools of these servers, or all, and apply the linter's rules to them."""
        return await (await (await self.prepare()).linter()).lint(servers)

    async def statuses(self) -> tuple[Status, ...]:
        """Return every server's state, in the order of the configuration."""
        return tuple(upstream.status() for upstream in await (await self.prepare()).pool.get())

    async def sign_ins(self) -> dict[str, list[dict[str, Any]]]:
        """Return who is signed in to which server, and until when."""
        if not await asyncio.to_thread((self.config.data_dir / "sign-ins").exists):
            return {}
        pool = await (await self.prepare()).pool.get()
        found = await pool.sign_ins()
        return {server: [one.to_json() for one in held] for server, held in found.items() if held}

    async def examine(
        self,
        servers: Sequence[str] = (),
        *,
        on_progress: Callable[[Sequence[str], int], None] | None = None,
        stop: asyncio.Event | None = None,
    ) -> dict[str, Any]:
        """Start every server, or only these, and return what `halflap doctor --json` prints; see `Doctor.examine`."""
        return await (await self.prepare()).doctor.examine(servers, on_progress=on_progress, stop=stop)

    # Parts

    async def _build(self) -> Parts:
        module = await asyncio.to_thread(import_module, "halflap.gateway.build")
        host = module.Host(self._in_process, self._list_roots, self._announce, self._refresh_stale)
        parts: Parts = await module.build(self.config, host)
        return parts


async def _configured(config: Config | Mapping[str, Any] | str | Path | None) -> Config:
    if isinstance(config, Config):
        return config
    if config is None or isinstance(config, str | Path):
        return await asyncio.to_thread(load_config, config)
    return await asyncio.to_thread(Config.from_mapping, dict(config))


def _with_servers(config: Config, names: Iterable[str]) -> Config:
    added = tuple(ServerConfig(name=name, transport="memory") for name in names)
    for server in config.servers:
        if server.name in {one.name for one in added}:
            raise UsageError(
                f"Server {server.name!r} is in the configuration and among `servers`. Rename one of them."
            )
    return replace(config, servers=(*config.servers, *added)) if added else config
