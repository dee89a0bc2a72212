"""Hears a canary: a program that tries to break out of its sandbox before any other is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from halflap.sandbox.sandbox import ToolRefusal

__all__ = ["Listener", "escapes"]

_LONGEST = 10_000


class Listener:
    """A `Host` that keeps what the canary prints, and refuses its calls."""

    def __init__(self) -> None:
        self.printed = b""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        raise ToolRefusal(f"{name!r} is not for the canary ({len(arguments)} arguments).")

    def output(self, data: bytes) -> bool:
        self.printed += data
        return len(self.printed) < _LONGEST

    def show(self, block: Mapping[str, Any]) -> bool:
        return not block


def escapes(listener: Listener) -> str | None:
    """Return what the canary could do that it should not; None if it could do nothing.

    It prints a JSON object: what it tried, and whether it succeeded.
    """
    try:
        attempts = json.loads(listener.printed)
        got = [what for what, succeeded in attempts.items() if succeeded]
    except (ValueError, AttributeError):
        return "the canary reported nothing"
    if not attempts:
        return "the canary reported nothing"
    return f"a program could {', '.join(got)}" if got else None
