"""A fair queue: a bounded number of places, shared by principals, whoever asks most."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from halflap.core.errors import BusyError

__all__ = ["Turns"]

_ALONE = "local"
"""The principal of stdio and of Python: beside it nobody else comes, so no place is kept for others."""


class Turns:
    """Places for `what`, such as programs.

    A free place goes to the waiting principal who holds the fewest, in turn among equals. The last free place is kept
    for one who holds none, so that a newcomer need not wait for somebody's endless programs.
    """

    def __init__(self, places: int, what: str) -> None:
        self._places = places
        self._what = what
        self._held: Counter[str] = Counter()
        self._most: dict[str, int] = {}
        """How many a principal who waits may hold."""
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """In the order of their turns."""

    @asynccontextmanager
    async def turn(
        self, principal: str, patience: float | None = None, most: int | None = None
    ) -> AsyncIterator[None]:
        """Hold a place, of at most so many for the principal. Raises `BusyError` if none was free for `patience` seconds."""
        self._most[principal] = self._places if most is None else most
        await self._wait(principal, patience)
        try:
            yield
        finally:
            self._leave(principal)

    async def _wait(self, principal: str, patience: float | None) -> None:
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(principal, deque()).append(place)
        self._hand_out()
        try:
            async with asyncio.timeout(patience):
                await place
        except BaseException as error:
            if place.cancelled():
                self._forget(principal, place)
            else:
                # It was given a place at the same moment.
                self._leave(principal)
            if isinstance(error, TimeoutError):
                raise BusyError(self._held.total(), self._what) from None
            raise

    def _forget(self, principal: str, place: asyncio.Future[None]) -> None:
        queue = self._waiting.get(principal, deque())
        if place in queue:
            queue.remove(place)
            if not queue:
                del self._waiting[principal]

    def _leave(self, principal: str) -> None:
        self._held[principal] -= 1
        self._held += Counter()  # drops those who hold none
        self._hand_out()

    def _hand_out(self) -> None:
        while (principal := self._next()) is not None:
            queue = self._waiting.pop(principal)
            place = queue.popleft()
            if queue:
                self._waiting[principal] = queue
            # One that was cancelled just now has not come to leave the queue yet.
            if not place.cancelled():
                self._held[principal] += 1
                place.set_result(None)

    def _next(self) -> str | None:
        """Return whose turn it is; None if no place is free for anyone who waits."""
        free = self._places - self._held.total()
        if free < 1:
            return None
        may = [one for one in self._waiting if self._held[one] < self._most[one]]
        may = [one for one in may if free > 1 or one == _ALONE or one not in self._held]
        return min(may, key=self._held.__getitem__, default=None)
