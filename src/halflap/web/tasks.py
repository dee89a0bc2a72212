"""Work that takes longer than a request: started by one request, and polled by others."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any

from halflap.core.errors import UsageError

__all__ = ["Task", "Tasks"]

_MAX_RUNNING = 4
"""Tasks of one principal at the same time."""
_MAX_KEPT = 50
_KEPT_SECONDS = 600.0


@dataclass(eq=False)
class Task:
    """Work in progress, or its outcome."""

    id: str
    principal: str
    about: str
    work: asyncio.Task[Any]
    limit_seconds: float | None = None
    """The time limit of the work, if it has one."""
    began: float = field(default_factory=time.monotonic)

    @property
    def is_done(self) -> bool:
        return self.work.done()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


class Tasks:
    """The tasks of the page, bounded in number and time."""

    def __init__(self) -> None:
        self._tasks: dict[str, Task] = {}

    def start(
        self, principal: str, about: str, work: Coroutine[Any, Any, Any], limit_seconds: float | None = None
    ) -> Task:
        self._forget_old()
        running = sum(not one.is_done for one in self._tasks.values() if one.principal == principal)
        if running >= _MAX_RUNNING:
            work.close()
            raise UsageError(f"{running} of your tasks are still running. Wait for one of them to end.")
        identifier = secrets.token_urlsafe(12)
        started = asyncio.create_task(work, name=f"page: {about}")
        # Without this, asyncio logs an exception that nobody polls for.
        started.add_done_callback(lambda done: done.cancelled() or done.exception())
        task = self._tasks[identifier] = Task(identifier, principal, about, started, limit_seconds)
        return task

    def find(self, identifier: str, principal: str) -> Task | None:
        """Return a task of this principal."""
        found = self._tasks.get(identifier)
        return found if found is not None and found.principal == principal else None

    def _forget_old(self) -> None:
        done = [one for one in self._tasks.values() if one.is_done]
        old = [one for one in done if one.seconds > _KEPT_SECONDS]
        for one in {*old, *done[: max(0, len(self._tasks) - _MAX_KEPT + 1)]}:
            del self._tasks[one.id]
