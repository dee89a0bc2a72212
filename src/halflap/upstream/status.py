"""How a server is doing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["State", "Status", "Trouble"]

State = Literal["idle", "starting", "ready", "reconnecting", "failed", "needs-sign-in", "disabled"]
Trouble = Literal[
    "misconfigured",
    "command-not-found",
    "command-not-run",
    "process-ended",
    "answered-an-error",
    "not-mcp",
    "answer-unusable",
    "start-timeout",
    "not-reached",
]
"""What kept a server from getting ready."""


@dataclass(frozen=True, slots=True)
class Status:
    """A server's state, and what is known of how it got there."""

    name: str
    state: State
    reason: str | None = None
    trouble: Trouble | None = None
    start_seconds: float | None = None
    protocol_version: str | None = None
    server_info: str | None = None
    pid: int | None = None
    starts: int = 0
    warnings: tuple[str, ...] = ()
