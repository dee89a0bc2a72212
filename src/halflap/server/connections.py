"""Bounds on HTTP connections before anyone has sent a token: how many one address may hold, and how long it may say nothing."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from halflap.core.text import visible

if TYPE_CHECKING:
    from halflap.server.audit import Audit

__all__ = ["Connections", "Refusals"]

logger = logging.getLogger(__name__)

_HEADER_SECONDS = 10.0
"""How long a client may take for the headers of a request."""
_PER_ADDRESS = 256
"""Connections of one address. Doubling it lets one machine hold twice as many of our file descriptors."""


_LOGGED_SECONDS = 60.0
"""An address is named in the log once in this time, however often it is refused."""
_MAX_ADDRESSES = 1_000
_MAX_PATH = 200
_REASONS = {
    "host": "a request with a foreign Host header",
    "origin": "a request of another site",
    "token": "a request without a valid token",
    "many": "a connection beyond those it may have",
    "slow": "a connection without a request",
}


class Refusals:
    """Counts and logs what was refused before it was known whose it is."""

    def __init__(self, audit: Audit | None = None) -> None:
        self.counts: Counter[str] = Counter(dict.fromkeys(_REASONS, 0))
        self._audit = audit
        self._logged: dict[tuple[str, str], float] = {}

    def add(self, reason: str, address: str, path: str = "") -> None:
        self.counts[reason] += 1
        now = time.monotonic()
        if now - self._logged.get((reason, address), -_LOGGED_SECONDS) >= _LOGGED_SECONDS:
            if len(self._logged) >= _MAX_ADDRESSES:
                self._logged.clear()
            self._logged[reason, address] = now
            path = visible(path, _MAX_PATH)
            logger.warning("Refused %s from %s %s", _REASONS[reason], address, path)
            if self._audit is not None:
                self._audit.write(address=address, path=path, outcome=f"refused: {reason}")


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

    def protocol(self, *arguments: Any, **named: Any) -> _Connection:
        """Return a connection for uvicorn, which calls this as the `http` class."""
        return _Connection(self, *arguments, **named)

    def add(self, connection: _Connection) -> bool:
        """Return whether there is room. A connection that waits without a request makes room for a new one."""
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
    """uvicorn's connection, which by itself waits forever for headers."""

    def __init__(self, connections: Connections, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._connections = connections
        self._deadline: asyncio.TimerHandle | None = None
        self.address = ""

    @property
    def is_idle(self) -> bool:
        """Whether no request is being answered."""
        cycle: Any = self.cycle  # None before the first request, whatever its type says
        return cycle is None or bool(cycle.response_complete)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self.address = self.client[0] if self.client else ""
        if self._connections.add(self):
            self._await_headers()
        else:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._await_headers()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connections.remove(self)
        self._forget_deadline()

    def _await_headers(self) -> None:
        """Begin to wait for headers, or end waiting once they are there."""
        if not self.is_idle:
            self._forget_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self._connections.header_seconds, self._too_slow)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._deadline = None
        if self.is_idle:
            self._connections.refusals.add("slow", self.address)
            self.transport.abort()
