"""Limits on HTTP connections before authentication: how many an address may open, and how long a request may take to arrive."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from halflap.server.audit import Refusals

__all__ = ["Connections"]

_HEADER_SECONDS = 10.0
"""How long a client may take to send the headers of a request."""
_PER_ADDRESS = 256
"""Connections of one address. Doubling it lets one machine hold twice as many of our file descriptors."""


class Connections:
    """The open connections of each address."""

    def __init__(
        self,
        refusals: Refusals,
        *,
        header_seconds: float = _HEADER_SECONDS,
        per_address: int = _PER_ADDRESS,
    ) -> None:
        self.refusals = refusals
        self.header_seconds = header_seconds
        self._per_address = per_address
        self._open: dict[str, dict[_Connection, None]] = {}
        """By address, the oldest first."""

    def protocol(self, *arguments: Any, **options: Any) -> _Connection:
        """Return a connection for uvicorn, which calls this in place of its `http` class."""
        return _Connection(self, *arguments, **options)

    def add(self, connection: _Connection) -> bool:
        """Return whether there is room. At the limit, the oldest connection without a request is closed."""
        own = self._open.setdefault(connection.address, {})
        if len(own) >= self._per_address:
            idle = next((one for one in own if one.is_idle), None)
            self.refusals.add("many", connection.address)
            if idle is None:
                return False
            idle.transport.abort()
            del own[idle]
        own[connection] = None
        return True

    def remove(self, connection: _Connection) -> None:
        own = self._open.get(connection.address, {})
        own.pop(connection, None)
        if not own:
            self._open.pop(connection.address, None)


class _Connection(H11Protocol):
    """uvicorn's connection, with a deadline for the headers of each request."""

    def __init__(self, connections: Connections, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._connections = connections
        self._deadline: asyncio.TimerHandle | None = None
        self.address = ""

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        cycle: Any = self.cycle  # None before the first request, although its type does not allow it
        return cycle is None or bool(cycle.response_complete)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        if self._connections.add(self):
            self._update_deadline()
        else:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._update_deadline()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connections.remove(self)
        self._clear_deadline()

    def _update_deadline(self) -> None:
        """Set a deadline while headers are awaited, and clear it when they have arrived."""
        if not self.is_idle:
            self._clear_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self._connections.header_seconds, self._too_slow)

    def _clear_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._deadline = None
        if self.is_idle:
            self._connections.refusals.add("slow", self.address)
            self.transport.abort()
