"""Learned schemas: look them up, compare them with declarations, export, import and forget them."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from halflap.calls import aside, configured_secrets
from halflap.core.errors import StoreError, UsageError
from halflap.core.text import iso
from halflap.observe import drift_json, exported, observed_json, read_export, usage_note
from halflap.schema import parse_schema, result_type

if TYPE_CHECKING:
    from halflap.backfill import Backfill
    from halflap.calls import Recorder
    from halflap.catalog import Catalog
    from halflap.config import Config
    from halflap.core.values import Tool
    from halflap.observe import Imported, Knowledge, Known, Learner
    from halflap.schema import ToolSchema, Type
    from halflap.store import Breach, DriftEvent, Store, StoredShape, ToolKey

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LearnedSchemas:
    """Everything that was learned from the results of tools."""

    config: Config
    store: Store
    catalog: Catalog
    knowledge: Knowledge
    learner: Learner
    recorder: Recorder
    _declares: dict[str, bool] = field(default_factory=dict, init=False)
    """By hash of a definition: whether it declares any output field."""
    _signatures: dict[str, tuple[Tool, Known | None, str]] = field(default_factory=dict, init=False)
    """By name, with what each was written from."""

    async def catch_up(self) -> None:
        """Wait until all results so far have been learned."""
        await self.learner.flush()

    async def of(self, tool: Tool) -> Known | None:
        """Return what was learned about a tool from all results so far, if anything."""
        await self.catch_up()
        return await self.knowledge.of(tool)

    async def of_all(self, tools: Iterable[Tool]) -> dict[str, Known]:
        """Return what was learned about many tools, by name."""
        await self.catch_up()
        return await self.knowledge.of_all(tools)

    async def type_of(self, tool: Tool) -> tuple[Type, str] | None:
        """Return the learned type of a tool's results and its version; the newest results may be missing."""
        known = await self.knowledge.of(tool)
        return None if known is None or known.type is None else (known.type, known.version)

    async def schema_of(self, tool: Tool) -> ToolSchema:
        """Return a tool's parsed schema with the learned one; the newest results may be missing."""
        schema = await aside(partial(parse_schema, tool), tool.input_schema, tool.output_schema)
        known = await self.knowledge.of(tool)
        if known is None:
            return schema
        return replace(schema, learned_schema=known.schema, learned_type=known.type)

    async def signatures(self, tools: Sequence[Tool]) -> list[str]:
        """Return each tool in one line, as declared and learned; the newest results may be missing."""
        known = await self.knowledge.of_all(tools)
        return [await self._signature(tool, known.get(tool.name)) for tool in tools]

    async def _signature(self, tool: Tool, known: Known | None) -> str:
        # Parsing would take most of the time of a search.
        written = self._signatures.get(tool.name)
        if written is None or written[0] is not tool or written[1] is not known:
            text = (await self.schema_of(tool)).format_compact()
            written = self._signatures[tool.name] = (tool, known, text)
        return written[2]

    async def output_kinds(self) -> dict[str, str]:
        """Return for each tool whether its output is `declared`, `learned` or `unknown`."""
        tools = list(self.catalog.snapshot.tools.values())
        known = await self.of_all(tools)
        # In a thread: schemas may be large.
        declared = await asyncio.to_thread(lambda: {tool.name for tool in tools if self._is_declared(tool)})
        return {
            tool.name: "declared" if tool.name in declared else "learned" if tool.name in known else "unknown"
            for tool in tools
        }

    def _is_declared(self, tool: Tool) -> bool:
        if tool.hash not in self._declares:
            # A declaration that names no field counts as none.
            self._declares[tool.hash] = result_type(tool.output_schema) is not None
        return self._declares[tool.hash]

    async def rows(self, server: str | None = None, tool: str | None = None) -> Sequence[StoredShape]:
        """Return all stored shapes, of every origin and definition; `tool` is the original name."""
        if not self.knowledge.is_used:
            return ()
        await self.catch_up()
        rows = await self.store.learned(server=server, tool=tool)
        if self.config.learning.values:
            return rows
        # Values may remain from a time when they were kept.
        return await asyncio.to_thread(
            lambda: [replace(row, learned=row.learned.without_values()) for row in rows]
        )

    async def drift(
        self, server: str | None = None, tool: str | None = None
    ) -> tuple[Sequence[DriftEvent], Sequence[Breach]]:
        """Return the drift from learned schemas, and the breaches of declared ones."""
        await self.catch_up()
        events = [] if not self.knowledge.is_used else await self.store.drift(server=server, tool=tool)
        return events, [
            one for one in await self.breaches() if server in {None, one.server} and tool in {None, one.tool}
        ]

    async def breaches(self) -> Sequence[Breach]:
        """Return the breaches of declared schemas."""
        await self.recorder.flush()
        return await self.store.breaches()

    async def drift_of(self, tools: Iterable[Tool], since: float = 0.0) -> dict[str, list[dict[str, Any]]]:
        """Return drift and breaches since a time, by name, of these tools as they are defined now."""
        names = {
            (tool.server, tool.original_name, digest): tool.name
            for tool in tools
            for digest in (tool.schema_hash, "")
        }
        events, breaches = await self.drift()
        drifted, broken = defaultdict(list), defaultdict(list)
        for event in events:
            if event.at >= since:
                drifted[names.get((event.server, event.tool, event.definition_hash))].append(event)
        for breach in breaches:
            if breach.last_at >= since:
                broken[names.get((breach.server, breach.tool, breach.definition_hash))].append(breach)
        return {
            name: drift_json(drifted[name], broken[name]) for name in (drifted | broken) if name is not None
        }

    async def described(self, tool: Tool) -> tuple[dict[str, Any] | None, str | None]:
        """Return the learned fields of `inspect_tool`, and the note on them."""
        if not self.knowledge.is_used:
            return None, None
        known = await self.of(tool)
        shown = {} if known is None else observed_json(known)
        try:
            if drift := (await self.drift_of([tool])).get(tool.name):
                shown["drift"] = drift
        except StoreError as error:
            logger.warning("%s Drift is not shown.", error)
        return shown, None if known is None else usage_note(known)

    async def export(self) -> dict[str, Any]:
        """Return everything that was learned, in a form that another gateway can import."""
        self._expect_enabled("Nothing was exported")
        rows, values = await self.rows(), self.config.learning.values
        name, lineage = await self.store.installation_id(), await self.store.lineage()
        return await asyncio.to_thread(exported, rows, name, iso(time.time()), lineage, values=values)

    async def import_from(self, data: Any) -> Imported:
        """Import what another gateway learned; the same export counts only once.

        Raises `ShapeError`, and imports nothing, where anything in it is invalid.
        """
        self._expect_enabled("Nothing was imported")
        self._expect_store("Nothing was imported")
        imported: Imported = await asyncio.to_thread(
            read_export, data, await self.store.installation_id(), values=self.config.learning.values
        )
        new = 0
        for origin in {**imported.shapes, **imported.lineage}:
            shapes, lineage = imported.shapes.get(origin, {}), imported.lineage.get(origin)
            new += await self.store.replace_learned(origin, shapes, lineage)
        self.knowledge.forget()
        return imported._replace(new=new)

    async def forget(
        self, server: str | None = None, tool: str | None = None, *, origin: str | None = None
    ) -> Sequence[tuple[str, ToolKey]]:
        """Forget what was learned about a server or a tool, or from one origin; return what was forgotten.

        After everything from logs is forgotten, the same logs can be read again.
        """
        backfill = await asyncio.to_thread(import_module, "halflap.backfill")
        self._expect_store("Nothing was forgotten")
        await self.catch_up()
        forgets_logs = server is None and origin in {None, backfill.LEARNED_ORIGIN}
        watermarks = backfill.ORIGIN_PREFIX if forgets_logs else None
        gone = await self.store.forget_learned(origin, server, tool, watermarks=watermarks)
        self.knowledge.forget()
        return gone

    async def backfill(
        self,
        server: str | None = None,
        *,
        jobs: int | None = None,
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> Backfill:
        """Return a reader of logs: `await (await gateway.learned.backfill()).run([path])`.

        `server` owns the tools that a log names without a server. Raises `StoreError` if nothing could be stored.
        """
        await self.recorder.flush()
        if not dry_run:
            self._expect_store("Nothing was read: what is learned could not be kept")
        self._expect_enabled("Nothing was read")
        module = await asyncio.to_thread(import_module, "halflap.backfill")
        rules = await asyncio.to_thread(
            module.Rules.of,
            self.catalog.snapshot.tools.values(),
            server=server,
            salt=await self.store.salt(),
            values=self.config.learning.values,
            secrets=configured_secrets(self.config),
            lineage=self.config.graph.lineage,
        )
        made: Backfill = module.Backfill(self.store, rules, jobs=jobs, dry_run=dry_run, progress=progress)
        return made

    async def drop_values(self) -> None:
        """Remove values that were learned while `learning.values` was on."""
        try:
            if await self.store.drop_values():
                logger.info("Values that were learned while `learning.values` was on were removed.")
        except StoreError as error:
            # They are never shown.
            logger.warning("Values that were learned before could not be removed: %s", error)

    def _expect_enabled(self, otherwise: str) -> None:
        if not self.config.learning.enabled:
            raise UsageError(f"{otherwise}: learning is switched off (`learning.enabled`).")

    def _expect_store(self, otherwise: str) -> None:
        if self.store.trouble is not None:
            raise StoreError(f"{self.store.trouble} {otherwise}.")
