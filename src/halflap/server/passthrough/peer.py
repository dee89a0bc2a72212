"""The client behind one request, as far as servers may reach it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from halflap.core.errors import ClientRefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server import ServerRequestContext
    from mcp.server.connection import Connection

__all__ = ["ANSWER_SECONDS", "LEVELS", "Peer", "connection_of", "is_modern", "set_log_level"]

ANSWER_SECONDS = 600.0
"""How long a person may take to answer."""
LEVELS: tuple[str, ...] = get_args(types.LoggingLevel)
"""From the least to the most severe."""
_LEVEL = "halflap.log_level"
_ASKABLE = ("elicitation", "sampling", "roots")


class _Question:
    """A server's request as it came, with what the library needs of its own requests."""

    def __init__(self, request: Mapping[str, Any]) -> None:
        self.method = request["method"]
        self._request = request

    def model_dump(self, **_options: Any) -> dict[str, Any]:
        return {"method": self.method, "params": {**(self._request.get("params") or {})}}


class _Answer:
    """A client's answer as it came."""

    @classmethod
    def model_validate(cls, answer: Any, **_options: Any) -> Any:
        return answer


def is_modern(context: ServerRequestContext[Any, Any]) -> bool:
    """Return whether the client speaks the newer era, in which it cannot be asked while it waits."""
    return context.protocol_version in MODERN_PROTOCOL_VERSIONS


def connection_of(context: ServerRequestContext[Any, Any]) -> Connection:
    """Return the connection of a client of the older era, which lasts for many requests."""
    return context.session._connection  # noqa: SLF001 -- the library shows it to middleware only in its next version


def set_log_level(context: ServerRequestContext[Any, Any], level: str) -> None:
    """Note from which level on a client of the older era wants log messages."""
    connection_of(context).state[_LEVEL] = level


class Peer:
    """A client of the older era: it is asked by requests of our own while it waits. A `ClientChannel`."""

    def __init__(self, context: ServerRequestContext[Any, Any]) -> None:
        self.context = context
        self._progress = -1.0
        self._total: float | None = None

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
        level = connection_of(self.context).state.get(_LEVEL)
        return level if isinstance(level, str) else None

    async def ask(self, requests: Mapping[str, Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        """Send each request to the client, on the stream of its own request."""
        return {key: await self._ask(request) for key, request in requests.items()}

    async def _ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        question: Any = _Question(request)
        as_it_came: Any = _Answer
        try:
            answer: Mapping[str, Any] = await self.context.session.send_request(
                question,
                as_it_came,
                request_read_timeout_seconds=ANSWER_SECONDS,
                metadata=ServerMessageMetadata(related_request_id=self.context.request_id),
            )
        except MCPError as error:
            raise ClientRefusedError(error.code, error.message, error.error.data) from error
        except ValidationError as error:
            raise ClientRefusedError(types.INTERNAL_ERROR, "The client's answer is malformed.") from error
        return answer

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Pass a notification on, on the stream of the client's own request."""
        notification: types.ServerNotification
        if method == "notifications/message":
            if not self._wants(params.get("level")):
                return
            notification = types.LoggingMessageNotification.model_validate(
                {"method": method, "params": params}
            )
        else:
            notification = types.ElicitCompleteNotification.model_validate(
                {"method": method, "params": params}
            )
        await self.context.session.send_notification(notification, self.context.request_id)

    def _wants(self, level: Any) -> bool:
        # Until it says otherwise, a client of the older era gets what its server sends.
        lowest = self.log_level or LEVELS[0]
        return level in LEVELS and LEVELS.index(level) >= LEVELS.index(lowest)

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Report progress: it only increases, and keeps its first total."""
        if progress <= self._progress:
            return
        if self._progress < 0:
            self._total = total
        self._progress = progress
        shown = self._total if self._total is not None and progress <= self._total else None
        await self.context.session.report_progress(progress, shown, message)
