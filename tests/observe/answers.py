"""Answers of tools, to be learned from."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.core.values import Tool
from store.rows import call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.store import CallRecord

NOW = time.time()
TOOL = Tool("mcp__x__t", "x", "t", "A tool.", {"type": "object"}, hash="h1")


def structured(value: Any) -> dict[str, Any]:
    return {"content": [], "structuredContent": value}


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


def called(
    tool: str, result: Any, number: int, run: str | None = "r", principal: str = "local", **arguments: Any
) -> tuple[Tool, CallRecord]:
    """Return a call of a run, with its value."""
    defined = replace(TOOL, name=f"mcp__x__{tool}", original_name=tool)
    return defined, record(
        defined, structured(result), number, arguments, run=run, principal=principal, started_at=NOW + number
    )


def answered(result: Mapping[str, Any], number: int = 0, tool: Tool = TOOL) -> tuple[Tool, CallRecord]:
    return tool, record(tool, result, number, {"n": number}, started_at=float(number))


def record(tool: Tool, result: Any, number: int, arguments: Mapping[str, Any], **more: Any) -> CallRecord:
    key = {"server": tool.server, "tool": tool.original_name, "definition_hash": tool.hash}
    values = {"arguments": json.dumps(arguments), "result": json.dumps(result), "duration_ms": 500.0}
    return call(number, id=f"c{number}", **key, **values, **more)
