"""Calls and results in logs of MCP's own JSON-RPC messages, bare or wrapped in a log record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.backfill.formats.calls import arguments_of
from halflap.core.values import Result
from halflap.schema import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from halflap.backfill.formats.calls import PendingCalls, Sink

__all__ = ["JsonRpc", "wrapped_message"]

_WRAPPERS = ("message", "msg", "payload", "data", "body", "raw")
_SENDERS = ("direction", "dir", "from", "sender")
_SESSIONS = ("session", "session_id", "sessionId", "connection")
_MAX_LABEL = 200


def wrapped_message(record: Mapping[str, Any]) -> Any:
    """Return the JSON-RPC message, or batch of messages, inside a record; None if there is none."""
    for key in _WRAPPERS:
        inner = record.get(key)
        if type(inner) is str and '"jsonrpc"' in inner:
            try:
                inner = parse_json(inner)
            except (ValueError, RecursionError):
                continue
        batch = inner if type(inner) is list else [inner]
        if batch and all(type(one) is dict and "jsonrpc" in one for one in batch):
            return inner
    return None


class JsonRpc:
    """Reads JSON-RPC messages in order."""

    def __init__(self, sink: Sink, pending: Callable[[], PendingCalls], run: Callable[[], Hashable]) -> None:
        self._sink = sink
        self._pending = pending
        self._run = run

    def read(self, message: Any, around: Mapping[str, Any], at: float | None) -> None:
        """Read a message; `around` is the log record that contains it."""
        if type(message) is list:
            for one in message:
                self.read(one, around, at)
            return
        identifier = message.get("id") if type(message) is dict else None
        if type(identifier) is not int and type(identifier) is not str:
            return
        server, sender = _label(around, ("server", "server_name")), _label(around, _SENDERS)
        # Ids are unique per session only, and 1 is not "1".
        key = (server, _label(around, _SESSIONS), type(identifier).__name__, identifier)
        if message.get("method") == "tools/call":
            params = message.get("params") if type(message.get("params")) is dict else {}
            pending, run = self._pending(), self._run()
            arguments = arguments_of(params.get("arguments"))
            pending.add(key, self._sink.called(server, params.get("name"), arguments, sender=sender, run=run))
        elif "method" not in message and ("result" in message or "error" in message):
            self._answer(key, message, sender, at)

    def _answer(self, key: Any, message: Mapping[str, Any], sender: str | None, at: float | None) -> None:
        pending = self._pending()
        call = pending.get(key)
        # Servers number their own requests from 1 as well; what the caller itself sends is not an answer.
        if call is None or (sender is not None and sender == call.sender):
            return
        if "error" in message:
            pending.pop(key)
            self._sink.unpaired(1)  # a protocol error says nothing about what the tool returns
        elif _is_tool_result(message["result"]):
            pending.pop(key)
            self._sink.returned(call, Result.from_wire(message["result"]), at, is_error=False)


def _is_tool_result(result: Any) -> bool:
    return type(result) is dict and (type(result.get("content")) is list or "structuredContent" in result)


def _label(around: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    values = (around.get(key) for key in keys)
    return next((one for one in values if type(one) is str and 0 < len(one) <= _MAX_LABEL), None)
