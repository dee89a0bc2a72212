"""A fair queue: a bounded number of places, shared by principals."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

from halflap.core.errors import BusyError

_ALONE = "local"
"""The principal over stdio and in Python. It has no others beside it, so no place is kept free for them."""


class Turns:
    """Places for `what`, such as `"program"`.

    A principal can hold all of them but one, and only so many of their turns wait beside those of others. So nobody has to
    wait for the endless programs of somebody else.
    """

    def __init__(self, places: int, what: str) -> None:
        self._places = places
        self._what = what
        self._held = 0
        self._free = asyncio.Semaphore(places)
        self._own: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """The places that each principal may hold, as long as they hold or wait for one."""

    @asynccontextmanager
    async def turn(
        self, principal: str, patience: float | None = None, most: int | None = None
    ) -> AsyncIterator[None]:
        """Hold a place, at most `most` per principal. Raises `BusyError` after waiting for `patience` seconds."""
        most = min(most or self._places, self._places if principal == _ALONE else max(self._places - 1, 1))
        own = self._own.setdefault(principal, asyncio.Semaphore(most))
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(patience):
                    await held.enter_async_context(own)
                    await held.enter_async_context(self._free)
            except TimeoutError:
                raise BusyError(self._held, self._what) from None
            self._held += 1
            try:
                yield
            finally:
                self._held -= 1
