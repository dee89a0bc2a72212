"""Parts of a gateway that are made when they are first needed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    async def close(self) -> None: ...


Part = TypeVar("Part", bound=Closable)


class Lazy(Generic[Part]):
    """A part that is made when it is first needed, once, however many ask for it at the same time."""

    def __init__(self, make: Callable[[], Awaitable[Part]]) -> None:
        self._make = make
        self._lock = asyncio.Lock()
        self.made: Part | None = None

    async def get(self) -> Part:
        async with self._lock:
            if self.made is None:
                self.made = await self._make()
            return self.made

    async def close(self) -> None:
        # If it is being made, it is closed as soon as it is there.
        async with self._lock:
            if self.made is not None:
                await self.made.close()
