"""Logs of calls, and helpers to read them."""

from __future__ import annotations

import json
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.backfill import Backfill, Rules
from halflap.backfill.learner import Learner
from halflap.backfill.logfile import LogFile
from halflap.backfill.worker import learn_lines
from halflap.store import ToolKey

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from halflap.backfill import Summary
    from halflap.backfill.found import Counts, Knowledge
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


class NoControl:
    def is_stopped(self) -> bool:
        return False

    def advance(self, count: int) -> None:
        pass


def found_in(data: bytes, rules: Rules = SHOP) -> Read:
    """Read a log in one piece."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return read_lines(LogFile(file.name).lines(), rules)


def read_lines(texts: Iterable[bytes], rules: Rules = SHOP) -> Read:
    learner = Learner(rules)
    learner.begin(alone=False)
    return Read(learn_lines(texts, learner, None, NoControl()), learner.knowledge())


async def backfill(store: Store, *paths: Path | str, rules: Rules = SHOP, **options: Any) -> Summary:
    return await Backfill(store, rules, **options).run([str(path) for path in paths])


async def observations(store: Store) -> int:
    """Return how many results are counted in all."""
    return sum(one.learned.observations for one in await store.learned())
