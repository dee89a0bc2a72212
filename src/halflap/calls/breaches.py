"""Remember which declarations results have broken: none of them is certain knowledge any more."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.core.errors import StoreError
from halflap.learn import is_name
from halflap.schema import declared_names, general_path
from halflap.store import Breach

if TYPE_CHECKING:
    from halflap.core.errors import ArgumentProblem
    from halflap.core.values import Tool
    from halflap.store import Store

__all__ = ["Breaches", "breached_place"]

logger = logging.getLogger(__name__)

_LONGEST_PATH = 500
_MOST_PATHS = 100
"""Of one definition; that there are more makes it no worse."""
_PAUSE_SECONDS = 1.0

_MOST_KEPT = 200
_Key = tuple[str, str, str, str]


def breached_place(problem: ArgumentProblem, names: frozenset[str]) -> str:
    """Write where a declaration was broken, for everybody: only names that it has itself, and of data nothing.

    A key that it does not allow is new in a record, not data in a map: it is written if it looks like a name.
    """
    path = general_path(problem.path, names, is_name if problem.what == "unknown" else lambda _: False)
    return path[:_LONGEST_PATH]


class Breaches:
    """What was seen to be broken, from the first time on; written down behind."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._paths: dict[tuple[str, str], set[str]] = {}
        self._new: dict[_Key, Breach] = {}
        self._writer: asyncio.Task[None] | None = None
        self._names: dict[str, frozenset[str]] = {}
        """What names of keys a definition has, for those that were broken."""

    async def load(self) -> None:
        """Read what earlier gateways saw."""
        for one in await self._store.breaches():
            self._paths.setdefault((one.server, one.definition_hash), set()).add(one.path)

    def has(self, tool: Tool) -> bool:
        """Say whether a result has broken what this tool declares, as it is declared now."""
        return (tool.server, tool.schema_hash) in self._paths

    def note(self, tool: Tool, problem: ArgumentProblem) -> None:
        """Note a breach."""
        path = self._place(tool, problem)
        known = self._paths.setdefault((tool.server, tool.schema_hash), set())
        if path not in known and len(known) >= _MOST_PATHS:
            return
        if path not in known:
            known.add(path)
            logger.info(
                "A result of %s is not what the tool declares: %s: expected %s.",
                tool.name,
                path or "(the whole)",
                problem.expected,
            )
        key, now = (tool.server, tool.original_name, tool.schema_hash, path), time.time()
        waiting = self._new.get(key)
        self._new[key] = (
            Breach(*key, expected=problem.expected[:_LONGEST_PATH], first_at=now, last_at=now, times=1)
            if waiting is None
            else replace(waiting, last_at=now, times=waiting.times + 1)
        )
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write(), name="record breaches")

    def _place(self, tool: Tool, problem: ArgumentProblem) -> str:
        names = self._names.get(tool.schema_hash)
        if names is None:
            names = self._names[tool.schema_hash] = declared_names(tool.output_schema)
            if len(self._names) > _MOST_KEPT:
                del self._names[next(iter(self._names))]
        return breached_place(problem, names)

    async def _write(self) -> None:
        while self._new:
            await self.flush()
            await asyncio.sleep(_PAUSE_SECONDS)

    async def flush(self) -> None:
        """Write down what is not written yet."""
        new, self._new = self._new, {}
        try:
            await self._store.add_breaches(list(new.values()))
        except StoreError as error:
            # It is known as long as we live, and will be noted again.
            logger.warning("Broken declarations could not be written down: %s", error)

    async def close(self) -> None:
        """Write what is left."""
        if self._writer is not None:
            self._writer.cancel()
            with suppress(asyncio.CancelledError):
                await self._writer
        if self._new:
            await self.flush()
