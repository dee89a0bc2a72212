"""Answers of tools, to be learned from."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from halflap.calls import Answered
from halflap.core.values import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

NOW = time.time()
TOOL = Tool("mcp__x__t", "x", "t", "A tool.", {"type": "object"}, hash="h1")


def structured(value: Any) -> dict[str, Any]:
    return {"content": [], "structuredContent": value}


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}], **more}


def called(
    tool: str, result: Any, number: int, run: str | None = "r", principal: str = "local", **arguments: Any
) -> Answered:
    """Return a call of a run, with its value."""
    defined = Tool(f"mcp__x__{tool}", "x", tool, "A tool.", {"type": "object"}, hash="h1")
    wire = json.dumps(structured(result))
    at = NOW + number
    return Answered(f"c{number}", defined, json.dumps(arguments), wire, at, run, principal, at + 0.5)


def answered(result: Mapping[str, Any], number: int = 0, tool: Tool = TOOL) -> Answered:
    return Answered(f"c{number}", tool, json.dumps({"n": number}), json.dumps(result), float(number))
