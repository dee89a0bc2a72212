"""Which of a server's resources clients watch, kept up across reconnections."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING

import anyio

from halflap.core.errors import UsageError
from halflap.core.values import CallContext
from halflap.upstream.connection import RequestFailedError
from halflap.upstream.questions import Pending

if TYPE_CHECKING:
    from halflap.upstream.session import Session

logger = logging.getLogger(__name__)

_MAX_URIS = 1_000
"""Resources of one server that are watched at the same time."""
_AGAIN_SECONDS = 30.0
"""When a stream of changes ended, how long until the next one is opened."""


class Subscriptions:
    """Counts who watches what; the server hears of the first and of the last one."""

    def __init__(self) -> None:
        self.log_level: str | None = None
        self._uris = Counter[str]()
        self._changed = asyncio.Event()
        self._lock = asyncio.Lock()

    def __contains__(self, uri: str) -> bool:
        return uri in self._uris

    async def add(self, uri: str, session: Session) -> None:
        async with self._lock:
            if uri not in self._uris:
                if len(self._uris) >= _MAX_URIS:
                    raise UsageError(f"{_MAX_URIS} resources of this server are watched already.")
                await self._tell("resources/subscribe", uri, session)
            self._uris[uri] += 1

    async def remove(self, uri: str, session: Session) -> None:
        async with self._lock:
            if self._uris[uri] > 1:
                self._uris[uri] -= 1
            else:
                del self._uris[uri]
                await self._tell("resources/unsubscribe", uri, session)

    async def set_log_level(self, level: str, session: Session | None) -> None:
        """Ask a server of the older era for log messages from this level; the newer era asks with each request."""
        self.log_level = level
        if session is not None and not session.is_modern and session.capabilities.logging is not None:
            await session.request("logging/setLevel", {"level": level}, Pending(CallContext()))

    async def _tell(self, method: str, uri: str, session: Session) -> None:
        if session.is_modern:
            self._changed.set()
        else:
            await session.request(method, {"uri": uri}, Pending(CallContext()))

    async def keep(self, session: Session) -> None:
        """Watch on a new session what was watched before, until it ends."""
        try:
            if self.log_level is not None:
                await self.set_log_level(self.log_level, session)
            for uri in () if session.is_modern else list(self._uris):
                await self._tell("resources/subscribe", uri, session)
        except RequestFailedError as failed:
            logger.debug("a subscription was not renewed: %s", failed.message)
        while session.is_modern:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch, session)
                await self._changed.wait()
                self._changed.clear()
                tasks.cancel_scope.cancel()

    async def _watch(self, session: Session) -> None:
        while True:
            await session.watch(tuple(self._uris))
            await anyio.sleep(_AGAIN_SECONDS)
