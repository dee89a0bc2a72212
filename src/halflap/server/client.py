"""The client behind a request: calls are made on its behalf, and servers can ask it questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.methods import validate_client_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from halflap.core.errors import ClientRefusedError
from halflap.core.values import CallContext, Forwarded
from halflap.server.tokens import principal_of

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext
    from mcp.server.connection import Connection

    Context = ServerRequestContext[Any, Any]

ANSWER_SECONDS = 600.0
"""How long a person may take to answer a question."""
LEVELS: tuple[str, ...] = get_args(types.LoggingLevel)
"""From the least to the most severe."""
_LEVEL = "halflap.log_level"
_ASKABLE = ("elicitation", "sampling", "roots")


def is_modern(context: Context) -> bool:
    """Return whether the client speaks the newer era, in which it cannot be asked while it waits."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def connection_of(context: Context) -> Connection:
    """Return the connection of a client of the older era, which spans many requests."""
    return context.session._connection  # noqa: SLF001 -- public only in the library's next version


def set_log_level(context: Context, level: str) -> None:
    """Set the lowest level of log messages that a client of the older era gets."""
    connection_of(context).state[_LEVEL] = level


def is_answer(method: str, answer: Any) -> bool:
    """Return whether a client's answer to a server's request is valid."""
    try:
        validate_client_result(method, LATEST_HANDSHAKE_VERSION, answer)
    except (ValidationError, KeyError):
        return False
    return True


@dataclass(frozen=True, slots=True)
class Consent:
    """The user's decision: the tools that may be called, or the reason why none may."""

    confirmed: frozenset[str] = frozenset()
    unconfirmed: str = ""


class Client:
    """A client of the older era: questions are sent to it while its request is in progress. A `ClientChannel`."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.principal = principal_of(context)
        meta = (context.params or {}).get("_meta")
        self.forwarded = Forwarded(meta={**meta} if isinstance(meta, dict) else {})
        """The parts of its request that are forwarded to the server."""
        self._progress = -1.0
        self._total: float | None = None

    def on_behalf(self, consent: Consent = Consent(), *, forwards: bool = False) -> CallContext:
        """Return the context for calls on the client's behalf.

        `forwards` passes the metadata of its request on, for a request that causes exactly one call.
        """
        return CallContext(
            principal=self.principal,
            confirmations=consent.confirmed,
            unconfirmed=consent.unconfirmed,
            progress=self.progress,
            client=self,
            forwarded=self.forwarded if forwards else None,
        )

    @property
    def identity(self) -> object:
        return connection_of(self.context)

    @property
    def is_local(self) -> bool:
        # Over stdio there is no HTTP request: the client started us.
        return self.context.request is None

    @property
    def capabilities(self) -> Mapping[str, Any]:
        declared = self.context.session.client_capabilities
        if declared is None:
            return {}
        wire = declared.model_dump(by_alias=True, mode="json", exclude_none=True)
        return {key: wire[key] for key in _ASKABLE if key in wire}

    @property
    def log_level(self) -> str | None:
        # A client of the older era gets every message until it sets a level.
        return str(connection_of(self.context).state.get(_LEVEL, LEVELS[0]))

    @property
    def _channel(self) -> Any:
        """The response stream of the client's request. The library's own methods rebuild the messages they send."""
        return self.context.session._request_outbound  # noqa: SLF001 -- see above

    async def ask(self, requests: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        """Send each request to the client; raises `ClientRefusedError`."""
        return {key: await self._ask(one["method"], one.get("params")) for key, one in requests.items()}

    async def _ask(self, method: str, params: Any) -> Mapping[str, Any]:
        try:
            answer: dict[str, Any] = await self._channel.send_raw_request(
                method, params or {}, {"timeout": ANSWER_SECONDS}
            )
        except MCPError as error:
            raise ClientRefusedError(error.code, error.message, error.error.data) from error
        if not is_answer(method, answer):
            raise ClientRefusedError(types.INTERNAL_ERROR, "The client's answer is malformed.")
        return answer

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Forward a notification; a log message only from the client's level on."""
        if method == "notifications/message":
            level, lowest = params.get("level"), self.log_level
            if level not in LEVELS or lowest is None or LEVELS.index(level) < LEVELS.index(lowest):
                return
        await self._channel.notify(method, {key: value for key, value in params.items() if key != "_meta"})

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress: it only increases, and keeps its first total."""
        if progress <= self._progress:
            return
        if self._progress < 0:
            self._total = total
        self._progress = progress
        shown = self._total if self._total is not None and progress <= self._total else None
        await self.context.session.report_progress(progress, shown, message)
