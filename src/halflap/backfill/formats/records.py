"""Records of a log in any form: Halflap's traces, model conversations, and MCP's own messages."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from halflap.backfill.formats.calls import BadRecordError, NeedsOrderError, PendingCalls, arguments_of
from halflap.backfill.formats.jsonrpc import JsonRpc, wrapped_message
from halflap.backfill.formats.messages import Conversation, is_message

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from halflap.backfill.formats.calls import Sink

__all__ = ["RecordReader"]

_CONVERSATIONS = ("messages", "input", "output", "conversation", "trajectory", "traj")
_WRAPPERS = ("request", "response", "body", "message", "data")
_RUNS = ("run", "run_id", "session", "session_id", "sessionId", "conversation_id", "trace_id")
_TIMES = ("at", "timestamp", "time", "ts", "started_at", "created_at", "created")
_MAX_WRAPPERS = 4
_MAX_LABEL = 200
_EARLIEST, _MILLISECONDS = 1e8, 1e11
"""Seconds since 1970; larger numbers are milliseconds."""
_CLOCK_SKEW = 86_400.0


class RecordReader:
    """Reads records in order and passes on every call with its result.

    With `alone`, only a part of a file is read: records that belong together with others raise NeedsOrderError.
    """

    def __init__(self, sink: Sink, *, alone: bool) -> None:
        self._sink = sink
        self._alone = alone
        self._pending = PendingCalls(sink)
        self._run: Hashable = None
        self._conversations = 0
        self._messages = Conversation(sink, self._in_order, lambda: ("", self._run))
        self._jsonrpc = JsonRpc(sink, self._in_order, lambda: ("", self._run))
        self._latest = time.time() + _CLOCK_SKEW

    def read(self, record: Any) -> bool:
        """Read one record; return whether its form is known."""
        if type(record) is list:
            return self._read_list(record, None)
        if type(record) is not dict:
            raise BadRecordError("neither an object nor an array")
        if record.get("tool") is not None and ("result" in record or "arguments" in record):
            self._read_trace(record)
            return True
        self._run = _run_of(record)
        return self._read_object(record, _MAX_WRAPPERS, None, {})

    def close(self) -> None:
        self._pending.close()

    def _in_order(self) -> PendingCalls:
        if self._alone:
            raise NeedsOrderError
        return self._pending

    def _read_trace(self, record: Mapping[str, Any]) -> None:
        server, is_error, order = record.get("server"), record.get("is_error"), record.get("seq")
        if server is not None and type(server) is not str:
            raise BadRecordError("`server` is not a string")
        if is_error is not None and type(is_error) is not bool:
            raise BadRecordError("`is_error` is neither true nor false")
        call = self._sink.called(
            server or None,
            record["tool"],
            arguments_of(record.get("arguments")),
            run=_run_of(record),
            order=order if type(order) is int else None,
        )
        if "result" in record:
            self._sink.returned(call, record["result"], self._time_of(record), is_error=is_error is True)
        else:
            self._sink.unpaired(1)

    def _read_object(
        self, record: dict[str, Any], depth: int, at: float | None, around: Mapping[str, Any]
    ) -> bool:
        at = self._time_of(record) or at
        inner = record if "jsonrpc" in record else wrapped_message(record)
        if inner is not None:
            self._jsonrpc.read(inner, around if inner is record else record, at)
            return True
        if is_message(record):
            self._messages.read(record, at)
            return True
        whole = [record[key] for key in _CONVERSATIONS if type(record.get(key)) is list]
        if whole:
            return any([self._read_list(messages, at) for messages in whole])  # noqa: C419 -- all are read
        choices = record.get("choices")
        if type(choices) is list:
            for choice in choices:
                if type(choice) is dict and type(choice.get("message")) is dict:
                    self._messages.read(choice["message"], at)
            return True
        inside = [record[key] for key in _WRAPPERS if type(record.get(key)) is dict]
        request = record.get("request")
        if type(request) is dict and type(request.get("messages")) is list:
            inside = [request]  # the next request repeats what was answered to this one
        return depth > 0 and any([self._read_object(one, depth - 1, at, record) for one in inside])  # noqa: C419 -- as above

    def _read_list(self, records: list[Any], at: float | None) -> bool:
        """Read a conversation, or a list of records; calls in it are answered in it or not at all."""
        pending = PendingCalls(self._sink)
        self._conversations += 1
        run = ("conversation", self._conversations)
        conversation = Conversation(self._sink, lambda: pending, lambda: run)
        known = not records
        for record in records:
            if is_message(record):
                conversation.read(record, self._time_of(record) or at)
                known = True
            elif type(record) is dict or type(record) is list:
                known = self.read(record) or known
        pending.close()
        return known

    def _time_of(self, record: Mapping[str, Any]) -> float | None:
        """Return when something happened, in seconds since 1970, if the record says so plausibly."""
        for key in _TIMES:
            seconds = _seconds(record.get(key))
            if seconds is not None and _EARLIEST <= seconds <= self._latest:
                return seconds
        return None


def _run_of(record: Mapping[str, Any]) -> str | int | None:
    for key in _RUNS:
        value = record.get(key)
        if (type(value) is str and 0 < len(value) <= _MAX_LABEL) or type(value) is int:
            return value
    return None


def _seconds(value: Any) -> float | None:
    if type(value) is str:
        try:
            moment = datetime.fromisoformat(value)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    if type(value) is int or type(value) is float:
        return value / 1000 if value >= _MILLISECONDS else float(value)
    return None
