"""One record of a log, of whatever form: our trace, messages of a model, MCP's own messages."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from halflap.backfill.calls import BadRecordError, NeedsOrderError, Waiting, arguments_of
from halflap.backfill.following import run_of
from halflap.backfill.messages import ITEMS, ROLES, Messages
from halflap.backfill.wire import Wire, wrapped

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from halflap.backfill.calls import Taker

__all__ = ["Records"]

_CONVERSATIONS = ("messages", "input", "output", "conversation", "trajectory", "traj")
_AROUND = ("request", "response", "body", "message", "data")
_TIMES = ("at", "timestamp", "time", "ts", "started_at", "created_at", "created")
_DEEPEST = 4
_EARLIEST, _LATEST = 1e8, 1e11
"""In seconds since 1970. What is beyond is in milliseconds."""
_SKEW_SECONDS = 86_400.0
"""So far may a log's clock be ahead of ours; what is further in the future is no time."""


class Records:
    """Reads records in order and hands on each call with its result.

    `alone` says that what is read is only a part of a file: a record that belongs together with others is then
    refused with `NeedsOrderError`, for the file to be read in one piece.
    """

    def __init__(self, taker: Taker, *, alone: bool) -> None:
        self._taker = taker
        self._alone = alone
        self._open = Waiting(taker)
        self._run: Hashable = None
        self._conversations = 0
        self._single = Messages(taker, self._shared, self._session)
        self._wire = Wire(taker, self._shared, self._session)
        self._now = time.time() + _SKEW_SECONDS

    def read(self, record: Any) -> bool:
        """Read one; False if it is nothing that we know."""
        if type(record) is dict:
            tool = record.get("tool")
            if tool is not None and ("result" in record or "arguments" in record):
                self._trace(record, tool)
                return True
            self._run = run_of(record)
            return self._object(record, _DEEPEST, None, {})
        if type(record) is not list:
            raise BadRecordError("neither an object nor an array")
        return self._list(record, None)

    def close(self) -> None:
        """Give up the calls that still wait."""
        self._open.close()

    def _shared(self) -> Waiting:
        if self._alone:
            raise NeedsOrderError
        return self._open

    def _session(self) -> Hashable:
        """Say what a line's messages are known by: what it says, else all of the log is one conversation."""
        return "", self._run

    def _trace(self, record: Mapping[str, Any], tool: Any) -> None:
        server = record.get("server")
        if server is not None and type(server) is not str:
            raise BadRecordError("`server` is no text")
        is_error = record.get("is_error")
        if is_error is not None and type(is_error) is not bool:
            raise BadRecordError("`is_error` is neither true nor false")
        order = record.get("seq")
        call = self._taker.asked(
            server or None,
            tool,
            arguments_of(record.get("arguments")),
            run=run_of(record),
            order=order if type(order) is int else None,
        )
        if "result" in record:
            self._taker.answered(call, record["result"], self._when(record), is_error=is_error is True)
        else:
            self._taker.unpaired(1)

    def _object(self, record: dict[str, Any], left: int, at: float | None, around: Mapping[str, Any]) -> bool:
        at = self._when(record) or at
        if "jsonrpc" in record:
            self._wire.message(record, around, at)
            return True
        inner = wrapped(record)
        if inner is not None:
            self._wire.message(inner, record, at)
            return True
        if record.get("role") in ROLES or record.get("type") in ITEMS:
            self._single.message(record, at)
            return True
        whole = [record[key] for key in _CONVERSATIONS if type(record.get(key)) is list]
        if whole:
            known = [self._list(messages, at) for messages in whole]
            return any(known)
        return self._within(record, left, at)

    def _within(self, record: dict[str, Any], left: int, at: float | None) -> bool:
        choices = record.get("choices")
        if type(choices) is list:
            for choice in choices:
                if type(choice) is dict and type(choice.get("message")) is dict:
                    self._single.message(choice["message"], at)
            return True
        if not left:
            return False
        inner = [record[key] for key in _AROUND if type(record.get(key)) is dict]
        if type(record.get("request")) is dict and type(record["request"].get("messages")) is list:
            # What is answered to a whole conversation is told again in the next one.
            inner = [record["request"]]
        known = [self._object(one, left - 1, at, record) for one in inner]
        return any(known)

    def _list(self, records: list[Any], at: float | None) -> bool:
        """Read what stands in one line, or under `messages`: its messages are answered within it, or not at all."""
        waiting = Waiting(self._taker)
        self._conversations += 1
        run = ("conversation", self._conversations)
        reader = Messages(self._taker, lambda: waiting, lambda: run)
        known = not records
        for record in records:
            if type(record) is dict and (record.get("role") in ROLES or record.get("type") in ITEMS):
                reader.message(record, self._when(record) or at)
                known = True
            elif type(record) is dict or type(record) is list:
                known = self.read(record) or known
        waiting.close()
        return known

    def _when(self, record: Mapping[str, Any]) -> float | None:
        """Say when it was, in seconds since 1970, if the record does."""
        for key in _TIMES:
            said = record.get(key)
            seconds = None if said is None else _seconds(said)
            if seconds is not None and _EARLIEST <= seconds <= self._now:
                return seconds
        return None


def _seconds(said: Any) -> float | None:
    if type(said) is str:
        try:
            moment = datetime.fromisoformat(said)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    if (type(said) is int or type(said) is float) and _EARLIEST <= said < 1000 * _LATEST:
        return said / 1000 if said >= _LATEST else float(said)
    return None
