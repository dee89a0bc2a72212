"""A server's state as `halflap doctor` shows it."""

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
    "certificate-not-accepted",
    "proxy-failed",
    "sign-in-needed",
]
"""Why a server is not ready; each is also the code of a finding of `halflap doctor`."""


@dataclass(frozen=True, slots=True)
class Status:
    name: str
    state: State
    reason: str | None = None
    """Why it is not ready, or why the last connection was lost."""
    trouble: Trouble | None = None
    start_seconds: float | None = None
    protocol_version: str | None = None
    server_info: str | None = None
    pid: int | None = None
    starts: int = 0
    warnings: tuple[str, ...] = ()
