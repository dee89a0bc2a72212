"""Calls and results in the records of a log: Halflap's traces, model conversations, and MCP's own messages."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from pydantic import TypeAdapter, ValidationError

from halflap.core.values import Result
from halflap.observe import media_value
from halflap.schema import Reading, parse_json, read_result

_ROLES = frozenset({"assistant", "user", "system", "developer", "tool"})
_ITEMS = frozenset({"function_call", "function_call_output", "mcp_call"})
"""Item types of OpenAI's Responses API."""
_CONVERSATIONS = ("messages", "input", "output", "conversation", "trajectory", "traj")
_RECORDS = ("request", "response", "body", "message", "data")
"""Keys that may contain a nested record."""
_MESSAGES = ("message", "msg", "payload", "data", "body", "raw")
"""Keys of a record that may contain a JSON-RPC message."""
_RUNS = ("run", "run_id", "session", "session_id", "sessionId", "conversation_id", "trace_id")
_TIMES = ("at", "timestamp", "time", "ts", "started_at", "created_at", "created")
_MAX_LEVELS = 4
_MAX_NAME = 500
_MOMENT = TypeAdapter(datetime)
"""Reads ISO 8601, and seconds or milliseconds since 1970."""
_EARLIEST = 1e8
_CLOCK_SKEW = 86_400.0
_SAME_RECORD = "the same record"
"""Identifies a call whose result follows in the same record."""
NO_RESULT = object()
"""The result of a call that failed before it reached the tool."""
_numbers = count()


class BadRecordError(Exception):
    """A record in a known format has something wrong in it."""


class Call(NamedTuple):
    id: Hashable
    """Matches the id of the answer."""
    server: str | None
    tool: str
    arguments: Mapping[str, Any]
    run: Hashable = None
    """Lineage is tracked between calls of the same run."""
    order: int | None = None
    """Its sequence number in the run, if the log has one."""


class Answer(NamedTuple):
    id: Hashable
    result: Any
    at: float | None = None
    is_error: bool = False


Event: TypeAlias = Call | Answer


def events_of(record: Any) -> list[Event] | None:
    """Return the calls and results in a record, or None if the format is unknown."""
    if type(record) is list:
        return _conversation(record, None)
    if type(record) is not dict:
        raise BadRecordError("neither an object nor an array")
    if record.get("tool") is not None and ("result" in record or "arguments" in record):
        return list(_trace(record))
    return _object(record, {}, None, ("session", _label(record, _RUNS)), _MAX_LEVELS)


def _trace(record: Mapping[str, Any]) -> Iterator[Event]:
    is_error, order = record.get("is_error"), record.get("seq")
    if is_error is not None and type(is_error) is not bool:
        raise BadRecordError("`is_error` is neither true nor false")
    call = _call(_SAME_RECORD, record.get("server"), record["tool"], record.get("arguments"))
    yield call._replace(run=_label(record, _RUNS), order=order if type(order) is int else None)
    if "result" in record:
        yield Answer(_SAME_RECORD, record["result"], _time_of(record), is_error is True)


def _object(
    record: dict[str, Any], around: Mapping[str, Any], at: float | None, session: Hashable, levels: int
) -> list[Event] | None:
    at = _time_of(record) or at
    inner = record if "jsonrpc" in record else _wrapped_message(record)
    if inner is not None:
        return list(_json_rpc(inner, around if inner is record else record, at, session))
    if _is_message(record):
        return list(_message(record, at, session))
    whole = [record[key] for key in _CONVERSATIONS if type(record.get(key)) is list]
    if whole:
        return _all(_conversation(messages, at) for messages in whole)
    if type(record.get("choices")) is list:
        messages = [one["message"] for one in _objects(record["choices"]) if _is_message(one.get("message"))]
        return [event for message in messages for event in _message(message, at, session)]
    inside = [record[key] for key in _RECORDS if type(record.get(key)) is dict]
    request = record.get("request")
    if type(request) is dict and type(request.get("messages")) is list:
        inside = [request]  # the next request repeats this response
    return _all(_object(one, record, at, session, levels - 1) for one in inside) if levels else None


def _conversation(records: list[Any], at: float | None) -> list[Event] | None:
    """Read a conversation or a list of records. Calls are only matched with results in the same list."""
    conversation = ("conversation", next(_numbers))
    found: list[list[Event] | None] = [] if records else [[]]
    for one in records:
        if _is_message(one):
            found.append(list(_message(one, _time_of(one) or at, conversation)))
        elif type(one) is dict or type(one) is list:
            found.append(events_of(one))
    return _all(found)


def _all(found: Iterable[list[Event] | None]) -> list[Event] | None:
    known = [events for events in found if events is not None]
    return [event for events in known for event in events] if known else None


# MCP


def _wrapped_message(record: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the JSON-RPC message inside a record, as an object or as text."""
    for key in _MESSAGES:
        inner = record.get(key)
        if type(inner) is str and '"jsonrpc"' in inner:
            try:
                inner = parse_json(inner)
            except (ValueError, RecursionError):
                continue
        if type(inner) is dict and "jsonrpc" in inner:
            return inner
    return None


def _json_rpc(
    message: Mapping[str, Any], around: Mapping[str, Any], at: float | None, run: Hashable
) -> Iterator[Event]:
    """Yield the call or the result in a message; `around` is the log record that contains it."""
    number = message.get("id")
    if type(number) is not int and type(number) is not str:
        return
    server = _label(around, ("server", "server_name"))
    # Ids are unique per session only, and 1 is not "1".
    session = _label(around, ("session", "session_id", "sessionId", "connection"))
    id_ = ("rpc", server, session, type(number).__name__, number)
    if message.get("method") == "tools/call":
        params = message.get("params")
        params = params if type(params) is dict else {}
        yield _call(id_, server, params.get("name"), params.get("arguments"))._replace(run=run)
    elif "method" not in message:
        result = message.get("result")
        # A protocol error says nothing about what the tool returns.
        if "error" in message:
            yield Answer(id_, NO_RESULT)
        elif type(result) is dict and (type(result.get("content")) is list or "structuredContent" in result):
            yield Answer(id_, Result.from_wire(result), at)


# Model conversations: OpenAI's chat completions and responses, and Anthropic's messages


def _is_message(record: Any) -> bool:
    return type(record) is dict and (record.get("role") in _ROLES or record.get("type") in _ITEMS)


def _message(message: dict[str, Any], at: float | None, conversation: Hashable) -> Iterator[Event]:
    """Yield the calls and results in a message; they are paired within one conversation."""
    if message.get("role") == "tool":
        parts = [{**message, "type": "tool"}]
    elif message.get("type") in _ITEMS:
        parts = [message]
    else:
        parts = [*_functions(message), *_objects(message.get("content"))]
    for part in parts:
        kind = part.get("type")
        if kind in _CALLS:
            id_, name, arguments, server = map(part.get, _CALLS[kind])
            call = _call((conversation, _id(id_)), server or None, name, arguments)
            yield call._replace(run=conversation)
        if kind in _ANSWERS:
            id_, content, is_error = map(part.get, _ANSWERS[kind])
            if kind not in _CALLS or content is not None:
                yield Answer((conversation, _id(id_)), _as_mcp(content), at, bool(is_error))


_CALLS = {
    "tool_use": ("id", "name", "input", ""),
    "mcp_tool_use": ("id", "name", "input", "server_name"),
    "function": ("id", "name", "arguments", ""),
    "function_call": ("call_id", "name", "arguments", ""),
    "mcp_call": ("id", "name", "arguments", "server_label"),
}
"""By the type of a block, tool call or item: the keys of the call's id, name, arguments and server."""
_ANSWERS = {
    "tool_result": ("tool_use_id", "content", "is_error"),
    "mcp_tool_result": ("tool_use_id", "content", "is_error"),
    "tool": ("tool_call_id", "content", ""),
    "function_call_output": ("call_id", "output", ""),
    "mcp_call": ("id", "output", "error"),
}
"""The same for results: the keys of the call's id, the content, and whether it is an error."""


def _functions(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for one in _objects(message.get("tool_calls")):
        for function in _objects([one.get("function")]):
            yield {**function, "type": "function", "id": one.get("id")}


def _objects(items: Any) -> Iterator[dict[str, Any]]:
    return (one for one in (items if type(items) is list else ()) if type(one) is dict)


def _id(id_: Any) -> Hashable:
    return id_ if isinstance(id_, str | int) else None


def _as_mcp(content: Any) -> Any:
    """Convert the content of a result to MCP's form if it consists of blocks."""
    if content is None:
        return ""
    if not _are_blocks(content):
        return content
    names = {"input_text": "text", "output_text": "text"}
    return {"content": [{**one, "type": names.get(one["type"], one["type"])} for one in content]}


# Parts of records


def _call(id_: Hashable, server: Any, tool: Any, arguments: Any) -> Call:
    """Return a call with checked names; some logs write the arguments as JSON text."""
    for name, what in ((server, "server"), (tool, "tool")):
        if (type(name) is not str or not 0 < len(name) <= _MAX_NAME) and (name or what == "tool"):
            raise BadRecordError(f"the name of the {what} is not a string of 1 to {_MAX_NAME} characters")
    if type(arguments) is str and arguments.strip():
        # Models may write invalid JSON; the raw text still distinguishes calls.
        with suppress(ValueError, RecursionError):
            arguments = parse_json(arguments)
    if type(arguments) is not dict:
        arguments = {} if arguments is None or arguments == "" else {"": arguments}
    return Call(id_, server or None, tool, arguments)


def _label(record: Mapping[str, Any], keys: tuple[str, ...]) -> str | int | None:
    """Return the first short text or number under one of these keys."""
    for key in keys:
        value = record.get(key)
        if (type(value) is str and 0 < len(value) <= _MAX_NAME) or type(value) is int:
            return value
    return None


def _time_of(record: Mapping[str, Any]) -> float | None:
    """Return the time of a record in seconds since 1970, if it has a plausible one."""
    for key in _TIMES:
        if key in record:
            with suppress(ValidationError, OverflowError):
                moment = _MOMENT.validate_python(record[key])
                seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
                if _EARLIEST <= seconds <= time.time() + _CLOCK_SKEW:
                    return seconds
    return None


# Results

_RESULT_KEYS = frozenset({"content", "structuredContent", "isError", "_meta", "resultType"})
_TEXT_KEYS = frozenset({"type", "text", "annotations", "_meta", "cache_control"})
_PLAIN = Reading()


def value_of(raw: Any, reading: Reading = _PLAIN) -> tuple[Any, bool]:
    """Return the value that a program would get for a result, and whether the result is marked as an error."""
    if type(raw) is str:
        raw = read_result(Result(content=({"type": "text", "text": raw},)), reading, media_value)
    if _is_tool_result(raw):
        raw = Result.from_wire(raw)
    elif _are_blocks(raw) and all(one["type"] == "text" and _TEXT_KEYS.issuperset(one) for one in raw):
        raw = Result(content=tuple(raw))
    if type(raw) is Result:
        return read_result(raw, reading, media_value), raw.is_error
    if reading.wrapped and type(raw) is dict and list(raw) == ["result"]:
        return raw["result"], False
    return raw, False


def _is_tool_result(raw: Any) -> bool:
    if type(raw) is not dict or not _RESULT_KEYS.issuperset(raw):
        return False
    content = raw.get("content")
    if content is None:
        return "structuredContent" in raw
    return _are_blocks(content) or (content == [] and len(raw) > 1)


def _are_blocks(content: Any) -> bool:
    return (
        type(content) is list
        and bool(content)
        and all(type(one) is dict and type(one.get("type")) is str for one in content)
    )
