"""Logs of calls, and helpers to read them."""

from __future__ import annotations

import json
import tempfile
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.backfill import Backfill, Rules
from halflap.backfill.logfile import LogFile
from halflap.backfill.summary import Counts
from halflap.backfill.workers import Part, learn_parts
from halflap.store import ToolKey, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from halflap.backfill import Summary
    from halflap.backfill.learner import Knowledge
    from halflap.store import Store

SHOP = Rules(server="shop")
KEY = ToolKey("shop", "get_order", "")


def trace(number: int, result: Any = None, tool: str = "mcp__shop__get_order", **more: Any) -> dict[str, Any]:
    """Return a record in the form of our traces."""
    value = {"id": number, "total": number / 2} if result is None else result
    return {"run": "r", "seq": number, "tool": tool, "arguments": {"id": number}, "result": value, **more}


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def traces(start: int, end: int) -> bytes:
    return lines(*(trace(number) for number in range(start, end)))


class Read(NamedTuple):
    """What was found in a log."""

    counts: Counts
    knowledge: Knowledge


def found_in(data: bytes, rules: Rules = SHOP, *, step: int | None = None) -> Read:
    """Read a log in one piece, or in steps of about this many bytes."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        log = LogFile(file.name)
        cuts = [0, log.end]
        while step is not None and cuts[-2] + step < log.end:
            cuts.insert(-1, log.line_start(cuts[-2] + step))
        parts = [Part(file.name, *cut, 1 << 20) for cut in pairwise(cuts)]
        learned = learn_parts(parts, rules)
    assert learned is not None
    counts = Counts()
    for one in learned[0]:
        assert isinstance(one, Counts)
        counts.add(one)
    return Read(counts, learned[1])


@asynccontextmanager
async def opened(path: Path | None = None) -> AsyncIterator[Store]:
    store = await open_store(path)
    try:
        yield store
    finally:
        await store.close()


async def backfill(store: Store, *paths: Path | str, rules: Rules = SHOP, **options: Any) -> Summary:
    return await Backfill(store, rules, **options).run([str(path) for path in paths])


async def observations(store: Store) -> int:
    """Return how many results are counted in all."""
    return sum(one.learned.observations for one in await store.learned())
