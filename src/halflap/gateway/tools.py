"""Questions about the tools: which there are, what they take and return, and which fit a query."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from halflap.calls import aside, describe
from halflap.core.values import RegisteredTool
from halflap.gateway.lazy import FIRST_LISTING_SECONDS
from halflap.schema import parse_schema

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from halflap.calls import Calls
    from halflap.catalog import Catalog, Finder, Hit, Refresher
    from halflap.core.values import Result, Tool
    from halflap.gateway.lazy import Lazy
    from halflap.gateway.learned import LearnedSchemas
    from halflap.schema import ToolSchema
    from halflap.schema.stub import Source
    from halflap.upstream import Pool

__all__ = ["Tools"]


@dataclass(frozen=True)
class Tools:
    """Answers from the catalogue and from what was learned; asks servers only where a list is missing or stale."""

    catalog: Catalog
    listings: Refresher
    finder: Finder
    pool: Lazy[Pool]
    calls: Calls
    call: Callable[[str, Mapping[str, Any]], Awaitable[Result]]
    learned: LearnedSchemas

    def unavailable(self) -> dict[str, str]:
        return self.listings.unavailable(self.pool.made or ())

    async def all(self) -> tuple[RegisteredTool, ...]:
        snapshot, reasons = self.catalog.snapshot, self.unavailable()
        # In a thread: everything is copied, and there may be much of it.
        return await asyncio.to_thread(
            lambda: tuple(
                self._registered(snapshot.tools[name], reasons.get(snapshot.tools[name].server))
                for name in snapshot.callable
            )
        )

    def _registered(self, tool: Tool, unavailable: str | None) -> RegisteredTool:
        async def handler(**arguments: Any) -> Result:
            return await self.call(tool.name, arguments)

        own = _copy(tool)
        return RegisteredTool(
            name=tool.name,
            description=tool.description,
            parameters=own.input_schema,
            output_schema=own.output_schema,
            handler=handler,
            server=tool.server,
            original_name=tool.original_name,
            annotations=tool.annotations,
            definition_hash=tool.hash,
            unavailable=unavailable,
        )

    async def inspect(self, name: str) -> dict[str, Any]:
        tool, _ = await self._find(name)
        shown, note = await self.learned.described(tool)
        work = partial(
            describe,
            tool,
            self.catalog.snapshot,
            self.calls.policy,
            self.unavailable().get(tool.server),
            await self.calls.validators.unchecked(tool),
            learned=shown,
            use=note,
        )
        return await aside(work, tool.description, tool.input_schema, tool.output_schema, shown)

    async def search(self, query: str, limit: int, server: str | None, *, refresh_stale: bool) -> list[Hit]:
        await self.listings.ensure_listed(wait_seconds=FIRST_LISTING_SECONDS, refresh_stale=refresh_stale)
        hits = await self.finder.search(query, limit, server)
        tools = self.catalog.snapshot.tools
        schemas = await asyncio.gather(
            *(self.learned.schema_of(tools[hit.name]) for hit in hits if hit.name in tools)
        )
        signatures = {
            schema.tool_name: schema.format_compact()
            for schema in schemas
            if schema.output_type is None and schema.learned_type is not None
        }
        return [replace(hit, signature=signatures.get(hit.name, hit.signature)) for hit in hits]

    async def schema(self, name: str) -> ToolSchema:
        tool, stale = await self._find(name)
        await self.learned.catch_up()
        own = await aside(partial(_copy, tool), tool.input_schema, tool.output_schema)
        return replace(await self.learned.schema_of(own), stale=stale)

    async def schemas(self, names: Iterable[str]) -> dict[str, ToolSchema]:
        found = await asyncio.gather(*map(self.schema, dict.fromkeys(names)), return_exceptions=True)
        schemas = {}
        for one in found:
            if isinstance(one, BaseException):
                raise one
            schemas[one.tool_name] = one
        return schemas

    async def callable_schema(self, name: str) -> tuple[ToolSchema, bool]:
        schema = await self.schema(name)
        snapshot, policy = self.catalog.snapshot, self.calls.policy
        tool = snapshot.find(name)
        policy.admit(tool, snapshot)
        return schema, policy.is_repeatable(tool)

    async def stubs(self, server: str | None, name: str | None) -> str:
        from halflap.schema.stub import make_stub, write_stubs  # noqa: PLC0415 -- few ask for stubs

        snapshot = self.catalog.snapshot
        tools = [snapshot.tools[name] for name in snapshot.callable]
        tools = [tool for tool in tools if server in {None, tool.server} and name in {None, tool.name}]
        known = await self.learned.of_all(tools)

        def write() -> str:
            stubs = []
            for tool in tools:
                schema = parse_schema(tool)
                learned = known[tool.name].stub if tool.name in known and schema.output_type is None else None
                source: Source = "declared" if learned is None else "doubtful"
                stubs.append(make_stub(schema, returns=learned, source=source, described=True))
            return write_stubs(stubs)

        return await asyncio.to_thread(write)

    async def _find(self, name: str) -> tuple[Tool, bool]:
        """Find a tool, and whether its definition is stale; if so, refresh it in the background."""
        tool = await self.listings.find(name, self.pool.made or ())
        stale = self.catalog.is_stale_schema(tool)
        if stale:
            self.listings.ask(tool.server)
        return tool, stale


def _copy(tool: Tool) -> Tool:
    """Copy the schemas, so that nothing a caller does to them reaches the catalogue."""
    return replace(tool, input_schema=deepcopy(tool.input_schema), output_schema=deepcopy(tool.output_schema))
