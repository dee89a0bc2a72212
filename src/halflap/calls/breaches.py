"""Remember which declarations results have broken: none of them is certain knowledge any more."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.errors import StoreError
from halflap.learn import is_name
from halflap.store import Breach

if TYPE_CHECKING:
    from halflap.errors import ArgumentProblem
    from halflap.store import Store
    from halflap.values import Tool

__all__ = ["Breaches"]

logger = logging.getLogger(__name__)

_LONGEST_PATH = 500
_MOST_PATHS = 100
"""Of one definition; that there are more makes it no worse."""
_PAUSE_SECONDS = 1.0

_STEP = re.compile(r'\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.\[\]]+)')
_Key = tuple[str, str, str, str]


class Breaches:
    """What was seen to be broken, from the first time on; written down behind."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._paths: dict[tuple[str, str], set[str]] = {}
        self._new: dict[_Key, Breach] = {}
        self._writer: asyncio.Task[None] | None = None

    async def load(self) -> None:
        """Read what earlier gateways saw."""
        for one in await self._store.breaches():
            self._paths.setdefault((one.server, one.definition_hash), set()).add(one.path)

    def has(self, tool: Tool) -> bool:
        """Say whether a result has broken what this tool declares, as it is declared now."""
        return (tool.server, tool.hash) in self._paths

    def note(self, tool: Tool, problem: ArgumentProblem) -> None:
        """Note a breach."""
        path = _general(problem.path)[:_LONGEST_PATH]
        known = self._paths.setdefault((tool.server, tool.hash), set())
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
        key, now = (tool.server, tool.original_name, tool.hash, path), time.time()
        waiting = self._new.get(key)
        self._new[key] = (
            Breach(*key, expected=problem.expected[:_LONGEST_PATH], first_at=now, last_at=now, times=1)
            if waiting is None
            else replace(waiting, last_at=now, times=waiting.times + 1)
        )
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write(), name="record breaches")

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


def _general(path: str) -> str:
    """Write a place as it is for every result: no item's number, and no key that is data rather than a name."""
    return _STEP.sub(_step, path[: _LONGEST_PATH * 4])


def _step(found: re.Match[str]) -> str:
    number, quoted, name = found.groups()
    if number is not None:
        return "[]"
    if quoted is not None:
        return found.group() if is_name(quoted) else "[key]"
    return name if is_name(name) else "[key]"
