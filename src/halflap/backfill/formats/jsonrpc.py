"""Calls and results in logs of MCP's own JSON-RPC messages, bare or wrapped in a log record."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from halflap.backfill.formats.events import NO_RESULT, Answer, Event, called, label
from halflap.core.values import Result
from halflap.schema import parse_json

__all__ = ["rpc_events", "wrapped_message"]

_WRAPPERS = ("message", "msg", "payload", "data", "body", "raw")
_SERVERS = ("server", "server_name")
_SENDERS = ("direction", "dir", "from", "sender")
_SESSIONS = ("session", "session_id", "sessionId", "connection")


def wrapped_message(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the JSON-RPC message inside a record, as an object or as text."""
    for key in _WRAPPERS:
        inner = record.get(key)
        if type(inner) is str and '"jsonrpc"' in inner:
            try:
                inner = parse_json(inner)
            except (ValueError, RecursionError):
                continue
        if type(inner) is dict and "jsonrpc" in inner:
            return inner
    return None


def rpc_events(
    message: Mapping[str, Any], around: Mapping[str, Any], at: float | None, run: Hashable
) -> Iterator[Event]:
    """Yield the call or the result in a message; `around` is the log record that contains it."""
    number = message.get("id")
    if type(number) is not int and type(number) is not str:
        return
    server, sender = (_text(label(around, keys)) for keys in (_SERVERS, _SENDERS))
    # Ids are unique per session only, and 1 is not "1".
    id_ = ("rpc", server, label(around, _SESSIONS), type(number).__name__, number)
    if message.get("method") == "tools/call":
        params = message.get("params")
        name, arguments = (
            (params.get("name"), params.get("arguments")) if type(params) is dict else (None, None)
        )
        yield called(id_, server, name, arguments, run=run, sender=sender)
    elif "method" not in message and ("result" in message or "error" in message):
        # A protocol error says nothing about what the tool returns.
        if "error" in message:
            yield Answer(id_, NO_RESULT, at, sender=sender, may_be_other=True)
        elif _is_tool_result(message["result"]):
            yield Answer(id_, Result.from_wire(message["result"]), at, sender=sender, may_be_other=True)


def _is_tool_result(result: Any) -> bool:
    return type(result) is dict and (type(result.get("content")) is list or "structuredContent" in result)


def _text(value: str | int | None) -> str | None:
    return value if type(value) is str else None
