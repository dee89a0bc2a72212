"""Records of a log in any form: Halflap's traces, model conversations, and MCP's own messages."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import count
from typing import Any

from halflap.backfill.formats.events import SAME_RECORD, Answer, BadRecordError, Event, called, label
from halflap.backfill.formats.jsonrpc import rpc_events, wrapped_message
from halflap.backfill.formats.messages import is_message, message_events

__all__ = ["events_of"]

_CONVERSATIONS = ("messages", "input", "output", "conversation", "trajectory", "traj")
_WRAPPERS = ("request", "response", "body", "message", "data")
_RUNS = ("run", "run_id", "session", "session_id", "sessionId", "conversation_id", "trace_id")
_TIMES = ("at", "timestamp", "time", "ts", "started_at", "created_at", "created")
_MAX_WRAPPERS = 4
_EARLIEST, _MILLISECONDS = 1e8, 1e11
"""Seconds since 1970; larger numbers are milliseconds."""
_CLOCK_SKEW = 86_400.0
_numbers = count()


def events_of(record: Any) -> list[Event] | None:
    """Return the calls and results in a record; None if its form is not known."""
    if type(record) is list:
        return _conversation(record, None)
    if type(record) is not dict:
        raise BadRecordError("neither an object nor an array")
    if record.get("tool") is not None and ("result" in record or "arguments" in record):
        return list(_trace(record))
    return _object(record, _MAX_WRAPPERS, None, {}, ("session", label(record, _RUNS)))


def _trace(record: Mapping[str, Any]) -> Iterator[Event]:
    server, is_error, order = record.get("server"), record.get("is_error"), record.get("seq")
    if server is not None and type(server) is not str:
        raise BadRecordError("`server` is not a string")
    if is_error is not None and type(is_error) is not bool:
        raise BadRecordError("`is_error` is neither true nor false")
    yield called(
        SAME_RECORD,
        server or None,
        record["tool"],
        record.get("arguments"),
        run=label(record, _RUNS),
        order=order if type(order) is int else None,
    )
    if "result" in record:
        yield Answer(SAME_RECORD, record["result"], _time_of(record), is_error is True)


def _object(
    record: dict[str, Any], depth: int, at: float | None, around: Mapping[str, Any], session: Hashable
) -> list[Event] | None:
    at = _time_of(record) or at
    inner = record if "jsonrpc" in record else wrapped_message(record)
    if inner is not None:
        return list(rpc_events(inner, around if inner is record else record, at, session))
    if is_message(record):
        return list(message_events(record, at, session))
    whole = [record[key] for key in _CONVERSATIONS if type(record.get(key)) is list]
    if whole:
        return _all(_conversation(messages, at) for messages in whole)
    choices = record.get("choices")
    if type(choices) is list:
        messages = [one["message"] for one in choices if type(one) is dict and is_message(one.get("message"))]
        return [event for message in messages for event in message_events(message, at, session)]
    inside = [record[key] for key in _WRAPPERS if type(record.get(key)) is dict]
    request = record.get("request")
    if type(request) is dict and type(request.get("messages")) is list:
        inside = [request]  # the next request repeats what was answered to this one
    if not depth:
        return None
    return _all(_object(one, depth - 1, at, record, session) for one in inside)


def _conversation(records: list[Any], at: float | None) -> list[Event] | None:
    """Read a conversation, or a list of records; calls in it are answered in it or not at all."""
    conversation = ("conversation", next(_numbers))
    if not records:
        return []
    found: list[list[Event] | None] = []
    for one in records:
        if type(one) is dict and is_message(one):
            found.append(list(message_events(one, _time_of(one) or at, conversation)))
        elif type(one) is dict or type(one) is list:
            found.append(events_of(one))
    return _all(found)


def _all(found: Iterable[list[Event] | None]) -> list[Event] | None:
    known = [events for events in found if events is not None]
    return [event for events in known for event in events] if known else None


def _time_of(record: Mapping[str, Any]) -> float | None:
    """Return when something happened, in seconds since 1970, if the record says so plausibly."""
    for key in _TIMES:
        seconds = _seconds(record.get(key))
        if seconds is not None and _EARLIEST <= seconds <= time.time() + _CLOCK_SKEW:
            return seconds
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
