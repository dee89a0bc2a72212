"""A fair queue: a bounded number of places, shared by principals."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from halflap.core.errors import BusyError

__all__ = ["Turns"]

_ALONE = "local"
"""The principal over stdio and in Python. It has no others beside it, so no place is kept free for them."""


class _Waiter(NamedTuple):
    principal: str
    most: int
    """How many places the principal may hold."""
    place: asyncio.Future[None]


class Turns:
    """Places for `what`, such as `"program"`.

    A free place goes to the waiting principal who holds the fewest; among equals, to the one whose last turn is longest
    ago. The last free place is kept for a principal who holds none, so that they need not wait for the endless programs of others.
    """

    def __init__(self, places: int, what: str) -> None:
        self._places = places
        self._what = what
        self._held: Counter[str] = Counter()
        self._waiting: list[_Waiter] = []
        """In the order in which they came; those of a principal who just got a place last."""

    @asynccontextmanager
    async def turn(
        self, principal: str, patience: float | None = None, most: int | None = None
    ) -> AsyncIterator[None]:
        """Hold a place, at most `most` per principal. Raises `BusyError` after waiting for `patience` seconds."""
        place = asyncio.get_running_loop().create_future()
        waiter = _Waiter(principal, self._places if most is None else most, place)
        self._waiting.append(waiter)
        self._assign()
        try:
            if not place.done():
                async with asyncio.timeout(patience):
                    await place
        except BaseException as error:
            if waiter in self._waiting:
                self._waiting.remove(waiter)
            else:
                # It was given a place at the same moment.
                self._release(principal)
            if isinstance(error, TimeoutError):
                raise BusyError(self._held.total(), self._what) from None
            raise
        try:
            yield
        finally:
            self._release(principal)

    def _release(self, principal: str) -> None:
        self._held -= Counter([principal])
        self._assign()

    def _assign(self) -> None:
        """Pass free places to the waiting."""
        while (free := self._places - self._held.total()) > 0:
            eligible = [one for one in self._waiting if self._may_hold_one_more(one, free)]
            chosen = min(eligible, key=lambda one: self._held[one.principal], default=None)
            if chosen is None:
                return
            self._waiting.remove(chosen)
            self._waiting.sort(key=lambda one: one.principal == chosen.principal)
            self._held[chosen.principal] += 1
            chosen.place.set_result(None)

    def _may_hold_one_more(self, waiter: _Waiter, free: int) -> bool:
        if waiter.place.cancelled():
            # It is about to leave the list.
            return False
        held = self._held[waiter.principal]
        return held < waiter.most and (free > 1 or not held or waiter.principal == _ALONE)
