"""React to a server's announcements: changed lists, and watched resources, also across reconnections."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING

import anyio
from mcp.shared.exceptions import MCPError

from halflap.core.values import ServerEvent
from halflap.upstream.listing import list_features

if TYPE_CHECKING:
    from halflap.config import ServerConfig
    from halflap.upstream.connection import Hooks
    from halflap.upstream.session import Change, Session

logger = logging.getLogger(__name__)

_LISTEN_SECONDS = 30.0
"""Wait before reopening a stream of changes that ended."""
_SETTLE_SECONDS = 0.05
"""Wait before listing again, because servers often announce several changes in a row."""
_REST_SECONDS = 2.0
"""Minimum time between two listings, however many changes a server announces."""
_MAX_REST_SECONDS = 60.0
"""The minimum doubles up to this while a server keeps announcing changes."""


class Announcements:
    """Lists again after changes, and subscribes to resources from their first watcher until the last one leaves."""

    def __init__(
        self, config: ServerConfig, hooks: Hooks, list_tools: Callable[[Session], Awaitable[None]]
    ) -> None:
        self.has_features = asyncio.Event()
        """Set when prompts and resources have been listed."""
        self._config = config
        self._hooks = hooks
        self._list_tools = list_tools
        self._changed_lists: set[Change] = set()
        self._list_changed = asyncio.Event()
        self._watched = Counter[str]()
        self._watched_changed = asyncio.Event()
        self._watching = asyncio.Lock()
        self._log_level: str | None = None

    def on_change(self, change: Change, uri: str) -> None:
        """Handle an announcement."""
        if change != "updated":
            self._changed_lists.add(change)
            self._list_changed.set()
        elif uri in self._watched:
            self._hooks.on_event(ServerEvent(self._config.name, change, uri))

    async def follow(self, session: Session) -> None:
        """Keep lists and subscriptions current until the session ends."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._keep_listed, session)
            tasks.start_soon(self._keep_watching, session)

    async def _keep_listed(self, session: Session) -> None:
        await self._list_features(session, ())
        rest = _REST_SECONDS
        while True:
            await self._list_changed.wait()
            await anyio.sleep(_SETTLE_SECONDS)
            self._list_changed.clear()
            changed, self._changed_lists = self._changed_lists, set()
            if "tools" in changed:
                try:
                    await self._list_tools(session)
                except Exception:  # noqa: BLE001 -- the old listing stays; the next request lists again
                    logger.warning(
                        "server %r announced changed tools but did not list them", self._config.name
                    )
                self._hooks.on_event(ServerEvent(self._config.name, "tools"))
            if changed - {"tools"}:
                await self._list_features(session, changed)
            await anyio.sleep(rest)
            rest = min(2 * rest, _MAX_REST_SECONDS) if self._list_changed.is_set() else _REST_SECONDS

    async def _list_features(self, session: Session, changed: Collection[Change]) -> None:
        with anyio.move_on_after(self._config.start_timeout_seconds):
            are_new = await self._hooks.on_features(self._config.name, await list_features(session))
            self.has_features.set()
            for change in ("prompts", "resources"):
                if are_new or change in changed:
                    self._hooks.on_event(ServerEvent(self._config.name, change))

    # Resources

    async def watch(self, uri: str, session: Session, *, on: bool) -> None:
        """Add or remove a watcher of a resource."""
        async with self._watching:
            if on and uri not in self._watched:
                await self._subscribe("resources/subscribe", uri, session)
            self._watched[uri] += 1 if on else -1
            if self._watched[uri] <= 0:
                del self._watched[uri]
                await self._subscribe("resources/unsubscribe", uri, session)

    async def set_log_level(self, level: str, session: Session | None) -> None:
        """Set the minimum level of log messages (older era); in the newer era each request names it."""
        self._log_level = level
        if session is not None and not session.is_modern and session.capabilities.logging is not None:
            await session.send("logging/setLevel", {"level": level})

    async def _subscribe(self, method: str, uri: str, session: Session) -> None:
        if session.is_modern:
            self._watched_changed.set()
        else:
            await session.send(method, {"uri": uri})

    async def _keep_watching(self, session: Session) -> None:
        """Renew the subscriptions on a new session."""
        try:
            if self._log_level is not None:
                await self.set_log_level(self._log_level, session)
            for uri in () if session.is_modern else list(self._watched):
                await self._subscribe("resources/subscribe", uri, session)
        except MCPError:
            logger.debug("a subscription was not renewed", exc_info=True)
        while session.is_modern:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._listen, session)
                await self._watched_changed.wait()
                self._watched_changed.clear()
                tasks.cancel_scope.cancel()

    async def _listen(self, session: Session) -> None:
        while True:
            await session.listen(tuple(self._watched))
            await anyio.sleep(_LISTEN_SECONDS)
