"""`Gateway`: all of a person's tools in one place, behind one class."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halflap.config import Config, ServerConfig, load_config
from halflap.core.errors import ArgumentProblem, RunNotFoundError, StoreError, UsageError
from halflap.core.values import OWN, CallContext
from halflap.gateway.lazy import Lazy
from halflap.gateway.sign_ins import sign_ins

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

    Opening loads the stored catalogue; no server starts before it is needed.
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
        self._reload_listeners: list[Callable[[], Coroutine[Any, Any, None]]] = []
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

        `servers` are server objects of the `mcp` package in this process, by name, in addition to the configured
        ones. With `refresh_stale`, stale lists of tools are refreshed in the background.
        """
        gateway = cls(await _configured(config), servers, refresh_stale=refresh_stale)
        try:
            await gateway.prepare()
            yield gateway
        finally:
            await gateway.close()

    def seen_by(self, principal: str) -> Gateway:
        """Return this gateway as a principal sees it: what its profile leaves out does not exist."""
        seen = copy.copy(self)
        seen.principal = principal
        return seen

    async def prepare(self) -> Parts:
        """Open the store and the catalogue, and return the parts. Other methods do this when they need to."""
        return (await self._parts.get()).seen_by(self.principal)

    @property
    def parts(self) -> Parts:
        """The parts, for Halflap's own commands, server and page; only after `prepare`."""
        assert self._parts.made is not None, "the gateway is not prepared"
        return self._parts.made.seen_by(self.principal)

    async def reload(self, config: Config) -> None:
        """Use another configuration from now on. Calls and programs in progress finish with the old one."""
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
        following = [listener() for listener in self._reload_listeners]
        for work in (self._retire(old, before.execution.timeout_seconds), *following):
            task = asyncio.create_task(work)
            self._retiring.add(task)
            task.add_done_callback(self._retiring.discard)

    async def close(self) -> None:
        """Stop every server, and write what is still queued."""
        self._closing.set()
        await asyncio.gather(*self._retiring, return_exceptions=True)
        await self._parts.close()

    async def _retire(self, parts: Lazy[Parts], seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), seconds)
        await parts.close()

    @property
    def snapshot(self) -> Snapshot:
        """The present catalogue."""
        if self._parts.made is not None:
            return self.parts.seen.snapshot
        from halflap.catalog import Snapshot  # noqa: PLC0415 -- takes a while, see `build`

        return Snapshot()

    # Tools

    async def tools(self) -> tuple[RegisteredTool, ...]:
        """Return all callable tools, sorted by name. Waits a few seconds for servers that were never listed."""
        await self.settle()
        return (await self.prepare()).tools.all()

    async def settle(self) -> None:
        """List the servers that were never listed, and wait a few seconds for them."""
        await (await self.prepare()).catalog.ensure_listed()

    async def warm_up(self) -> None:
        """Start listing servers that were never listed, and start the sandbox and the check."""
        parts = await self.prepare()
        parts.catalog.ask_unlisted()
        programs = parts.programs
        await programs.ready()
        await programs.check_ready()

    async def refresh(self, server: str | None = None) -> Changes:
        """List one server or all again, and return the added, removed and changed tools.

        A server that cannot be listed keeps its tools. If only one was named, its `UpstreamError` is raised.
        """
        return await (await self.prepare()).catalog.refresh(server)

    def unavailable(self) -> dict[str, str]:
        """Return the servers that cannot be reached at present, with the reasons."""
        return {} if self._parts.made is None else self.parts.seen.unavailable()

    async def inspect(self, name: str) -> dict[str, Any]:
        """Return a tool's schemas, declared and learned, and its server's claims about it."""
        return await (await self.prepare()).tools.inspect(name)

    async def search(self, query: str, *, limit: int = 10, server: str | None = None) -> list[Hit]:
        """Search callable tools by what they do, best first; an exact name is always first."""
        parts = await self.prepare()
        await parts.catalog.ensure_listed()
        return await parts.finder.search(query, limit, server)

    async def get_schema(self, tool_name: str) -> ToolSchema:
        """Return a tool's parsed schema. A stale one is marked, and refreshed in the background."""
        return await (await self.prepare()).tools.schema(tool_name)

    async def get_schemas(self, tool_names: Iterable[str]) -> dict[str, ToolSchema]:
        """Return several schemas by name; raises `ToolNotFoundError` for an unknown name."""
        found = await asyncio.gather(*map(self.get_schema, dict.fromkeys(tool_names)))
        return {schema.tool_name: schema for schema in found}

    async def validate_arguments(self, tool_name: str, arguments: Mapping[str, Any]) -> list[ArgumentProblem]:
        """Return everything that is wrong with these arguments, without calling the tool."""
        schema = await self.get_schema(tool_name)
        return await asyncio.to_thread(schema.validate_arguments, arguments)

    # Calls and programs

    async def call(self, name: str, /, **arguments: Any) -> Result:
        """Call a tool by its namespaced name."""
        return await self.call_tool(name, arguments)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None
    ) -> Result:
        """Call a tool with its arguments as a mapping; `context` has the principal and the limits of the call."""
        return await (await self.prepare()).calls.call(
            name, arguments, context or CallContext(self.principal)
        )

    async def execute(
        self, code: str, context: CallContext | None = None, *, kind: str = "program", name: str | None = None
    ) -> Execution:
        """Run a Python program over the tools in the sandbox; `kind` and `name` are recorded.

        A failed program is a result, not an exception: see `Execution.outcome`. Raises `SandboxError` if no program can
        run here, and `BusyError` if too many are running.
        """
        programs = await self._programs_for(code)
        return await programs.execute(code, context or CallContext(self.principal), kind=kind, name=name)

    async def check(self, code: str) -> Checked:
        """Return the mistakes and doubts in a program, without running it."""
        return await (await self._programs_for(code)).check(code, self.principal)

    async def needing_confirmation(self, code: str) -> tuple[Tool, ...]:
        """Return the tools that a program, or a script it names, may call only with the user's confirmation."""
        return await (await self._programs_for(code)).destructive(code, self.principal)

    async def _programs_for(self, code: str) -> Programs:
        """Return the programs part, after reloading the scripts and DSPy programs that the code may name."""
        parts = await self.prepare()
        if any(f"{own}__" in code for own in OWN):
            await parts.catalog.reread()
        return parts.programs

    @property
    def scripts(self) -> Scripts:
        """The saved scripts; only after `prepare`."""
        return self.parts.scripts

    # Events and roots

    def on_event(self, listener: Callable[[ServerEvent], None]) -> None:
        """Call this when a server announces a changed list or an updated resource."""
        self._listeners.append(listener)

    def on_reload(self, listener: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Await this in the background after each reload: servers are connected anew then."""
        self._reload_listeners.append(listener)

    def _announce(self, event: ServerEvent) -> None:
        for listener in self._listeners:
            listener(event)

    def offer_roots(self, roots: Callable[[], Awaitable[Sequence[Mapping[str, Any]]]]) -> None:
        """Answer servers that ask for roots with those of a client; only before `prepare`."""
        self._client_roots = roots

    async def roots_changed(self) -> None:
        """Notify the servers that the roots changed."""
        if self._parts.made is not None and self._parts.made.pool.made is not None:
            await self._parts.made.pool.made.roots_changed()

    async def _list_roots(self, client: ClientChannel | None) -> list[dict[str, Any]]:
        """Return the configured roots, then those of the client behind a call, or of the only client."""
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
        """Return the store, after everything so far was written to it."""
        parts = await self.prepare()
        await parts.recorder.flush()
        await parts.recorder.mark_interrupted()
        return parts.store

    async def runs(
        self, limit: int = 20, principal: str | None = None, before: float | None = None
    ) -> Sequence[RunRecord]:
        """Return the newest runs, newest first, without their output: all, or those of a principal."""
        return await (await self.records()).runs(limit, principal=principal, before=before)

    async def run(
        self, identifier: str, principal: str | None = None, *, values: bool = True
    ) -> tuple[RunRecord, Sequence[CallRecord]]:
        """Return a run and its calls, by the beginning of its identifier; a principal sees only its own.

        Without `values`, the calls have no arguments and results, which may be large: see `Store.call`.
        """
        store = await self.records()
        found = await store.run(identifier, principal=principal)
        if found is None:
            raise RunNotFoundError(identifier)
        return found, await store.calls_of_run(found.id, values=values)

    async def purge_runs(self, *, older_than: float | None = None, everything: bool = False) -> Purged:
        """Delete the runs and calls that began before a time, or all; by default, apply the retention rules."""
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
        """Return the newest calls, newest first: all, or those of a tool or a principal."""
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
        """Why the store keeps nothing, or None."""
        return None if self._parts.made is None else self._parts.made.store.trouble

    @property
    def learned(self) -> LearnedSchemas:
        """What was learned: `of` a tool, `rows`, `drift`, `export`, `import_from`, `forget`, `backfill`; after `prepare`."""
        return self.parts.learned

    # How tools fit together

    async def graph(self) -> Graph:
        """Return the data-flow graph over all callable tools."""
        return await (await self._composer()).graph()

    async def explain_edge(self, source: str, target: str) -> Explanation:
        """Return the evidence that one tool can feed another, or the closest fields and why they do not match."""
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
        """Return workflows for `want`, or candidates for a goal, with what is missing. Nothing is called.

        `want` names tools or fields; without it, `goal` is searched for. `have` has values by name, None for one that
        is supplied later. With `may_change`, steps may include tools that may change something. With `nets`, each
        workflow is also returned as a net.
        """
        composer = await self._composer()
        return await composer.suggest(goal, have, want, limit, may_change=may_change, nets=nets)

    async def _composer(self) -> Composer:
        return await (await self.prepare()).composer()

    async def metrics(self) -> dict[str, Any]:
        """Count tools by how their output is known, edges by coverage and evidence, and the cost of learning."""
        return await (await self.prepare()).metrics.current()

    # Health

    async def lint(self, servers: Collection[str] = ()) -> Linted:
        """List the tools of these servers, or of all, and lint them."""
        return await (await (await self.prepare()).linter()).lint(servers)

    async def statuses(self) -> tuple[Status, ...]:
        """Return the state of every server, in the order of the configuration."""
        return tuple(upstream.status() for upstream in await (await self.prepare()).pool.get())

    async def sign_ins(self) -> dict[str, list[dict[str, Any]]]:
        """Return the sign-ins to each server, with when they expire."""
        return await asyncio.to_thread(sign_ins, self.config)

    async def examine(
        self,
        servers: Sequence[str] = (),
        *,
        on_progress: Callable[[Sequence[str], int], None] | None = None,
        stop: asyncio.Event | None = None,
    ) -> dict[str, Any]:
        """Start every server, or only these, and return the report of `halflap doctor`; see `Doctor.examine`."""
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
