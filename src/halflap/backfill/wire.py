"""Calls and results in logs of MCP's own messages: JSON-RPC, bare or wrapped by whoever wrote the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.backfill.calls import arguments_of
from halflap.core.values import Result
from halflap.schema import parse_json

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from halflap.backfill.calls import Taker, Waiting

__all__ = ["Wire", "wrapped"]

_WITHIN = ("message", "msg", "payload", "data", "body", "raw")
_SIDES = ("direction", "dir", "from", "sender")
_SESSIONS = ("session", "session_id", "sessionId", "connection")
_LONGEST_LABEL = 200


def wrapped(record: Mapping[str, Any]) -> Any:
    """Give the JSON-RPC message, or the batch of them, within a record; None if there is none."""
    for key in _WITHIN:
        inner = record.get(key)
        if type(inner) is str and '"jsonrpc"' in inner:
            try:
                inner = parse_json(inner)
            except (ValueError, RecursionError):
                continue
        if type(inner) is dict and "jsonrpc" in inner:
            return inner
        if type(inner) is list and inner and all(type(one) is dict and "jsonrpc" in one for one in inner):
            return inner
    return None


class Wire:
    """Reads JSON-RPC messages, one at a time, in order."""

    def __init__(self, taker: Taker, waiting: Callable[[], Waiting], run: Callable[[], Hashable]) -> None:
        self._taker = taker
        self._waiting = waiting
        self._run = run

    def message(self, message: Any, around: Mapping[str, Any], at: float | None) -> None:
        """Read a message; `around` is what the log says of it."""
        if type(message) is list:
            for one in message:
                self.message(one, around, at)
            return
        if type(message) is not dict:
            return
        identifier = message.get("id")
        if type(identifier) is not int and type(identifier) is not str:
            return
        server, side = _label(around, ("server", "server_name")), _label(around, _SIDES)
        # A text and a number are different identifiers, and so is the same one in another session.
        key = (server, _label(around, _SESSIONS), str(type(identifier)), identifier)
        if message.get("method") == "tools/call":
            asked = message.get("params")
            asked = asked if type(asked) is dict else {}
            waiting = self._waiting()
            arguments = arguments_of(asked.get("arguments"))
            run = self._run()
            waiting.add(key, self._taker.asked(server, asked.get("name"), arguments, side=side, run=run))
        elif "method" not in message and ("result" in message or "error" in message):
            self._answer(key, message, side, at)

    def _answer(self, key: Any, message: Mapping[str, Any], side: str | None, at: float | None) -> None:
        waiting = self._waiting()
        call = waiting.get(key)
        # Servers ask, too, and count from 1 as well: what goes the way of the call does not answer it.
        if call is None or (side is not None and side == call.side):
            return
        if "error" in message:
            # The protocol's error is no result: there is nothing to learn what the tool returns from.
            waiting.take(key)
            self._taker.unpaired(1)
        elif _is_of_tool(message["result"]):
            waiting.take(key)
            self._taker.answered(call, Result.from_wire(message["result"]), at, is_error=False)


def _is_of_tool(result: Any) -> bool:
    return type(result) is dict and (type(result.get("content")) is list or "structuredContent" in result)


def _label(around: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    said = (around.get(key) for key in keys)
    return next((text for text in said if type(text) is str and 0 < len(text) <= _LONGEST_LABEL), None)
