"""Questions about the tools, and calls: which there are, what they take and return, and which fit a query."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from halflap.calls import aside, describe
from halflap.core.errors import ToolHeldError
from halflap.core.values import OWN, CallContext, RegisteredTool, Result, Tool
from halflap.schema import parse_schema

if TYPE_CHECKING:
    from halflap.calls import Calls
    from halflap.catalog import Catalog, Finder, Hit, Refresher
    from halflap.gateway.lazy import Lazy
    from halflap.gateway.learned import LearnedSchemas
    from halflap.schema import ToolSchema
    from halflap.schema.stub import Source
    from halflap.upstream import Pool

__all__ = ["Tools"]

_OWN_PREFIXES = tuple(f"{own}__" for own in OWN)


@dataclass(frozen=True)
class Tools:
    """Answers from the catalogue and from what was learned; asks servers only where a list is missing or stale."""

    catalog: Catalog
    listings: Refresher
    finder: Finder
    pool: Lazy[Pool]
    calls: Calls
    learned: LearnedSchemas

    async def all(self) -> tuple[RegisteredTool, ...]:
        snapshot, reasons = self.catalog.snapshot, self.listings.unavailable()
        tools = [snapshot.tools[name] for name in snapshot.callable]
        # In a thread: everything is copied, and there may be much of it.
        return await asyncio.to_thread(
            lambda: tuple(self._registered(tool, reasons.get(tool.server)) for tool in tools)
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

    async def call(
        self, name: str, arguments: Mapping[str, Any], context: CallContext | None = None
    ) -> Result:
        context = context or CallContext()
        with self.calls.finding(name, arguments, context):
            if not name.startswith(_OWN_PREFIXES):
                await self.pool.get()  # has the source that the call goes to
            await self.listings.find(name)
        try:
            return await self.calls.call(name, arguments, context)
        except ToolHeldError:
            # `halflap trust` in another process may have accepted it meanwhile.
            await self.catalog.load()
            if name in self.catalog.snapshot.held:
                raise
            return await self.calls.call(name, arguments, context)

    async def inspect(self, name: str) -> dict[str, Any]:
        tool, _ = await self._find(name)
        shown, note = await self.learned.described(tool)
        work = partial(
            describe,
            tool,
            self.catalog.snapshot,
            self.calls.policy,
            self.listings.unavailable().get(tool.server),
            await self.calls.validators.unchecked(tool),
            learned=shown,
            use=note,
        )
        return await aside(work, tool.description, tool.input_schema, tool.output_schema, shown)

    async def search(self, query: str, limit: int, server: str | None) -> list[Hit]:
        await self.listings.ensure_listed()
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
        """Find a tool, and whether its definition is stale."""
        tool = await self.listings.find(name)
        return tool, self.listings.is_stale(tool)


def _copy(tool: Tool) -> Tool:
    """Copy the schemas, so that nothing a caller does to them reaches the catalogue."""
    return replace(tool, input_schema=deepcopy(tool.input_schema), output_schema=deepcopy(tool.output_schema))
