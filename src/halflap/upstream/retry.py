"""The retry policy: when a call is sent again, and when a server is reconnected."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mcp.shared.exceptions import MCPError

from halflap.upstream.connection import LOST, NOT_SENT

T = TypeVar("T")

CALL_ATTEMPTS = 3
"""How often a call is sent at most, even if it provably never arrived."""
START_PAUSE_SECONDS = 2.0
"""A server that did not start is not started again for this long."""
RECONNECTS = 6
"""Reconnect attempts before giving up; the next call tries again."""
BACKOFF_SECONDS = 0.5
"""Wait before the second attempt to reconnect; it doubles with each further one."""
STABLE_SECONDS = 30.0
"""Connections stable for this long reset the retry counter."""


async def repeat(attempt: Callable[[], Awaitable[T]], *, repeatable: bool) -> T:
    """Make a request, again if the server did not get it, or if repeating it is harmless."""
    for attempts_left in reversed(range(CALL_ATTEMPTS)):
        try:
            return await attempt()
        except MCPError as failed:
            may_repeat = failed.code == NOT_SENT or (failed.code == LOST and repeatable)
            if not may_repeat or not attempts_left:
                raise
    raise AssertionError("unreachable")


class Backoff:
    """Counts how often in a row one server was lost."""

    def __init__(self) -> None:
        self._losses = 0

    def pause(self, ready_seconds: float | None) -> float | None:
        """Return how long to wait before reconnecting; None to give up.

        `ready_seconds` is how long the last connection could be used, None if never.
        """
        if ready_seconds is None and self._losses == 0:
            return None  # it did not even start
        is_stable = ready_seconds is not None and ready_seconds >= STABLE_SECONDS
        self._losses = 1 if is_stable else self._losses + 1
        if self._losses > RECONNECTS:
            return None
        # With jitter: many gateways may have lost the same server.
        jitter = random.uniform(1, 1.5)  # noqa: S311 -- nothing secret depends on it
        return 0.0 if self._losses == 1 else BACKOFF_SECONDS * 2 ** (self._losses - 2) * jitter
