"""Parts of a gateway that are made when they are first needed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["Lazy", "P"]


class _Part(Protocol):
    async def close(self) -> None: ...


P = TypeVar("P", bound=_Part)


class Lazy(Generic[P]):
    """A part that is made when it is first needed, once, however many ask for it at the same time."""

    def __init__(self, make: Callable[[], Awaitable[P]]) -> None:
        self._make = make
        self._lock = asyncio.Lock()
        self.made: P | None = None

    async def get(self) -> P:
        async with self._lock:
            if self.made is None:
                self.made = await self._make()
            return self.made

    async def close(self) -> None:
        if self.made is not None:
            await self.made.close()
