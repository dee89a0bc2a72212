"""What a gateway knows of what its tools return: declared, learned, and where the two part."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.core.errors import StoreError, UsageError
from halflap.gateway.parts import Parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from halflap.catalog import Hit
    from halflap.core.values import Tool
    from halflap.observe import Imported, Known
    from halflap.store import Breach, DriftEvent, StoredShape, ToolKey

__all__ = ["Knowing"]

logger = logging.getLogger(__name__)


class Knowing(Parts):
    """The part of a gateway that asks what was learned."""

    async def known(self, tool: Tool) -> Known | None:
        """Say what was learned of a tool, with all that was answered so far; None where nothing was."""
        if self._knowledge is None:
            return None
        if self._learning is not None:
            await self._learning.flush()
        return await self._knowledge.of(tool)

    async def known_of_all(self, tools: Iterable[Tool]) -> dict[str, Known]:
        """Say what was learned of many tools, by their names."""
        await self.prepare()
        if self._knowledge is None:
            return {}
        if self._learning is not None:
            await self._learning.flush()
        return await self._knowledge.of_all(tools)

    async def outputs(self) -> dict[str, int]:
        """Count of how many tools it is declared what they return, of how many learned, of how many unknown."""
        counts = {"declared": 0, "learned": 0, "unknown": 0}
        for kind in (await self.output_kinds()).values():
            counts[kind] += 1
        return counts

    async def output_kinds(self) -> dict[str, str]:
        """Say of each tool whether it is `declared`, `learned` or `unknown` what it returns."""
        from halflap.schema import returned  # noqa: PLC0415 -- see the top of `parts`

        tools = list(self.snapshot.tools.values())
        known = await self.known_of_all(tools)
        kinds = {}
        for tool in tools:
            # A declaration that names no field declares nothing.
            declares = await asyncio.to_thread(returned, tool.output_schema) is not None
            kinds[tool.name] = "declared" if declares else "learned" if tool.name in known else "unknown"
        return kinds

    async def learned_rows(self, server: str | None = None, tool: str | None = None) -> Sequence[StoredShape]:
        """Give all that is kept of what was learned, of every origin and definition, as servers name tools."""
        await self.prepare()
        if not self.config.learning.enabled:
            return ()
        assert self._store is not None
        if self._learning is not None:
            await self._learning.flush()
        rows = await self._store.learned(server=server, tool=tool)
        if self.config.learning.values:
            return rows
        # What is still in the store from when values were kept is not shown.
        return await asyncio.to_thread(
            lambda: [replace(row, learned=row.learned.without_values()) for row in rows]
        )

    async def unlisted(self, name: str) -> Sequence[StoredShape]:
        """Give what was learned of a tool that the catalogue does not have, by the name that it would get there."""
        from halflap.catalog.naming import namespaced  # noqa: PLC0415 -- see the top of `parts`

        known = {(tool.server, tool.original_name) for tool in self.snapshot.tools.values()}
        return [
            row
            for row in await self.learned_rows()
            if (row.server, row.tool) not in known and name == namespaced(row.server, row.tool)
        ]

    async def drift(
        self, server: str | None = None, tool: str | None = None
    ) -> tuple[Sequence[DriftEvent], Sequence[Breach]]:
        """Give what drifted, and which declarations results have broken; of one tool as its server names it."""
        await self.prepare()
        assert self._store is not None
        assert self._breaches is not None
        if self._learning is not None:
            await self._learning.flush()
        await self._breaches.flush()
        enabled = self.config.learning.enabled
        events = await self._store.drift(server=server, tool=tool) if enabled else ()
        breaches = [
            one
            for one in await self._store.breaches()
            if server in {None, one.server} and tool in {None, one.tool}
        ]
        return events, breaches

    async def export_learned(self) -> dict[str, Any]:
        """Give all that was learned, by whomever, in a form that another gateway takes.

        Raises `UsageError` where learning is switched off.
        """
        self._expect_learning("Nothing was exported")
        from halflap.observe import exported, iso  # noqa: PLC0415 -- see the top of `parts`

        rows = await self.learned_rows()
        assert self._store is not None
        name, values = await self._store.installation(), self.config.learning.values
        lineage = await self._store.lineage() if self.config.learning.enabled else {}
        return await asyncio.to_thread(exported, rows, name, iso(time.time()), lineage, values=values)

    def _expect_learning(self, otherwise: str) -> None:
        if not self.config.learning.enabled:
            raise UsageError(f"{otherwise}: learning is switched off (`learning.enabled`).")

    async def import_learned(self, data: Any) -> Imported:
        """Take what another gateway learned. However often it is taken, it counts once.

        Raises `ShapeError`, and takes nothing, where anything in it is not as it should be.
        """
        self._expect_learning("Nothing was imported")
        from halflap.observe import read_export  # noqa: PLC0415 -- see the top of `parts`

        await self.prepare()
        assert self._store is not None
        if self.store_trouble is not None:
            raise StoreError(f"{self.store_trouble} Nothing was imported.")
        imported: Imported = await asyncio.to_thread(
            read_export, data, await self._store.installation(), values=self.config.learning.values
        )
        before = {(row.origin, row.key): row.learned.observations for row in await self._store.learned()}
        for origin in {**imported.shapes, **imported.lineage}:
            await self._store.replace_learned(
                origin, imported.shapes.get(origin, {}), imported.lineage.get(origin)
            )
        if self._knowledge is not None:
            self._knowledge.forget()
        new = sum(
            max(0, one.observations - before.get((origin, key), 0))
            for origin, shapes in imported.shapes.items()
            for key, one in shapes.items()
        )
        return imported._replace(new=new)

    async def forget_learned(
        self, server: str | None = None, tool: str | None = None, *, origin: str | None = None
    ) -> Sequence[tuple[str, ToolKey]]:
        """Forget what was learned: of a server, of one of its tools as it names it, from one origin; gives what.

        What logs told of it counts again when they are read again.
        """
        from halflap.backfill import LEARNED_ORIGIN, forgotten  # noqa: PLC0415 -- see the top of `parts`

        await self.prepare()
        assert self._store is not None
        if self.store_trouble is not None:
            raise StoreError(f"{self.store_trouble} Nothing was forgotten.")
        if self._learning is not None:
            await self._learning.flush()

        def remark(name: str, mark: str) -> str | None:
            return forgotten(name, mark, server, tool) if origin in {None, LEARNED_ORIGIN} else mark

        gone = await self._store.forget_learned(origin, server, tool, remark=remark)
        if self._knowledge is not None:
            self._knowledge.forget()
        return gone

    async def _told(self, tool: Tool) -> tuple[dict[str, Any] | None, str | None]:
        """Give what `inspect_tool` tells of what was learned, and the note on it."""
        if self._knowledge is None:
            return None, None
        from halflap.observe import drift_told, observed_told, use_of  # noqa: PLC0415 -- see the top of `parts`

        known = await self.known(tool)
        told = {} if known is None else observed_told(known)
        try:
            events, breaches = await self.drift(tool.server, tool.original_name)
        except StoreError as error:
            # What a tool takes is worth telling without it.
            logger.warning("%s What drifted is not told.", error)
            events, breaches = (), ()
        drift = drift_told(
            [one for one in events if one.definition_hash in {tool.schema_hash, ""}],
            [one for one in breaches if one.definition_hash == tool.schema_hash],
        )
        if drift:
            told["drift"] = drift
        return told, None if known is None else use_of(known)

    async def _signed(self, hits: list[Hit]) -> list[Hit]:
        """Say of tools that were found what they return, where only that is known which was learned."""
        if self._knowledge is None:
            return hits
        tools = self.snapshot.tools
        schemas = await asyncio.gather(
            *(self._schema_of(tools[hit.name]) for hit in hits if hit.name in tools)
        )
        learned = {
            one.tool_name: one.format_compact()
            for one in schemas
            if one.output_type is None and one.learned_type is not None
        }
        return [replace(hit, signature=learned[hit.name]) if hit.name in learned else hit for hit in hits]
