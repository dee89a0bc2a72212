"""Questions about the tools, and calls: which there are, what they take and return, and which fit a query."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from halflap.calls import aside, describe
from halflap.core.errors import ToolHeldError
from halflap.core.values import OWN, CallContext, RegisteredTool, Result, Tool

if TYPE_CHECKING:
    from halflap.calls import Calls
    from halflap.catalog import Catalog, Refresher
    from halflap.gateway.lazy import Lazy
    from halflap.gateway.learned import LearnedSchemas
    from halflap.schema import ToolSchema
    from halflap.schema.stub import Source, Stub
    from halflap.upstream import Pool

__all__ = ["Tools"]

_OWN_PREFIXES = tuple(f"{own}__" for own in OWN)


@dataclass(frozen=True)
class Tools:
    """Answers from the catalogue and from what was learned; asks servers only where a list is missing or stale."""

    catalog: Catalog
    listings: Refresher
    pool: Lazy[Pool]
    calls: Calls
    learned: LearnedSchemas

    def all(self) -> tuple[RegisteredTool, ...]:
        snapshot, reasons = self.catalog.snapshot, self.listings.unavailable()
        tools = (snapshot.tools[name] for name in snapshot.callable)
        return tuple(self._registered(tool, reasons.get(tool.server)) for tool in tools)

    def _registered(self, tool: Tool, unavailable: str | None) -> RegisteredTool:
        async def handler(**arguments: Any) -> Result:
            return await self.call(tool.name, arguments)

        return RegisteredTool(
            name=tool.name,
            description=tool.description,
            parameters=tool.input_schema,
            output_schema=tool.output_schema,
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
        tool = await self.listings.find(name)
        self.listings.is_stale(tool)  # lists its server again if so
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

    async def schema(self, name: str) -> ToolSchema:
        tool = await self.listings.find(name)
        await self.learned.catch_up()
        return replace(await self.learned.schema_of(tool), stale=self.listings.is_stale(tool))

    async def callable_schema(self, name: str) -> tuple[ToolSchema, bool]:
        schema = await self.schema(name)
        snapshot, policy = self.catalog.snapshot, self.calls.policy
        tool = snapshot.find(name)
        policy.admit(tool, snapshot)
        return schema, policy.is_repeatable(tool)

    async def stubs(self, server: str | None = None, name: str | None = None) -> str:
        from halflap.schema.stub import make_stub, write_stubs  # noqa: PLC0415 -- few ask for stubs

        await self.learned.catch_up()
        snapshot = self.catalog.snapshot
        tools = [snapshot.tools[one] for one in snapshot.callable if name in {None, one}]
        schemas = [await self.learned.schema_of(tool) for tool in tools if server in {None, tool.server}]

        def stub(schema: ToolSchema) -> Stub:
            source: Source = "doubtful" if schema.output_type is None else "declared"
            return make_stub(schema, returns=schema.returns, source=source, described=True)

        return await asyncio.to_thread(lambda: write_stubs(map(stub, schemas)))
