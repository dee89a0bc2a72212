"""Parts of a gateway that are created on first use."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    async def close(self) -> None: ...


Part = TypeVar("Part", bound=Closable)


class Lazy(Generic[Part]):
    """A part that is created on first use, and only once, even with concurrent callers."""

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
        # The lock waits for a part that is being created.
        async with self._lock:
            if self.made is not None:
                await self.made.close()
