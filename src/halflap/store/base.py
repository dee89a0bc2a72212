"""What is kept between runs: the values, and the protocol of whatever keeps them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["CallRecord", "ServerRows", "Store", "StoredCatalog", "StoredServer", "StoredTool"]


@dataclass(frozen=True, slots=True)
class StoredServer:
    """What a server said of itself when it was last listed."""

    name: str
    fingerprint: str
    listed_at: float
    ttl_seconds: float | None = None
    protocol_version: str | None = None
    server_info: str | None = None
    instructions: str | None = None


@dataclass(frozen=True, slots=True)
class StoredTool:
    """A tool's definition as last listed, and as it was when it was accepted."""

    server: str
    original_name: str
    name: str
    definition: Mapping[str, Any]
    hash: str
    accepted: Mapping[str, Any]
    accepted_hash: str
    first_seen: float
    last_seen: float
    position: int
    removed: bool = False


@dataclass(frozen=True, slots=True)
class ServerRows:
    """All that is kept of one server, and every name that any server's tool ever got."""

    server: StoredServer | None = None
    tools: Sequence[StoredTool] = ()
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Namespaced name → (server, original name)."""


@dataclass(frozen=True, slots=True)
class StoredCatalog:
    """The whole catalogue as it was left."""

    servers: Mapping[str, StoredServer] = field(default_factory=dict)
    tools: Sequence[StoredTool] = ()
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One call: who, what, when, how it ended. No argument and no result is kept."""

    id: str
    run: str | None
    parent: str | None
    principal: str
    server: str
    tool: str
    definition_hash: str
    started_at: float
    duration_ms: float
    outcome: str
    """`ok`, `tool_error` (the tool said so), or the code of the error that was raised."""
    argument_bytes: int
    result_bytes: int
    breach: str | None = None
    """Where the result broke the declared output schema."""


class Store(Protocol):
    """Keeps the catalogue and the calls. Every method may raise `StoreError`."""

    @property
    def place(self) -> str:
        """Where it is, fit to be shown: no password."""
        ...

    async def load_catalog(self) -> StoredCatalog:
        """Give the whole catalogue."""
        ...

    async def update_server(self, server: str, change: Callable[[ServerRows], ServerRows]) -> ServerRows:
        """Change one server's rows in one transaction. `change` is pure, and may run more than once."""
        ...

    async def record_calls(self, records: Sequence[CallRecord]) -> None:
        """Append calls."""
        ...

    async def recent_calls(self, limit: int) -> Sequence[CallRecord]:
        """Give the newest calls, newest first."""
        ...

    async def close(self) -> None:
        """Let go of it."""
        ...
