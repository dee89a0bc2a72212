"""Logs of calls, and helpers to read them."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

from halflap.backfill import Backfill, Rules
from halflap.backfill.kernel import learn_open
from halflap.backfill.pieces import LOOKED_AT, is_document
from halflap.store import ToolKey

if TYPE_CHECKING:
    from pathlib import Path

    from halflap.backfill import Found, Summary
    from halflap.store import Store

SHOP = Rules(server="shop")
KEY = ToolKey("shop", "get_order", "")


def trace(number: int, result: Any = None, tool: str = "mcp__shop__get_order", **more: Any) -> dict[str, Any]:
    """Give a record of our own form."""
    value = {"id": number, "total": number / 2} if result is None else result
    return {"run": "r", "seq": number, "tool": tool, "arguments": {"id": number}, "result": value, **more}


def lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def traces(start: int, end: int) -> bytes:
    return lines(*(trace(number) for number in range(start, end)))


def found_in(data: bytes, rules: Rules = SHOP, *, document: bool | None = None) -> Found:
    """Read a log in one piece."""
    if document is None:
        document = is_document([line for line in data.splitlines(keepends=True) if line.strip()][:LOOKED_AT])
    return learn_open(io.BytesIO(data), rules, document=document).found


async def backfill(store: Store, *paths: Path | str, rules: Rules = SHOP, **options: Any) -> Summary:
    return await Backfill(store, rules, **options).run([str(path) for path in paths])


async def observations(store: Store) -> int:
    """Say how many results are counted in all."""
    return sum(one.learned.observations for one in await store.learned())
