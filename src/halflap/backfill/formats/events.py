"""Calls and results as they occur in a log."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple, TypeAlias

from halflap.schema import parse_json

__all__ = ["NO_RESULT", "SAME_RECORD", "Answer", "BadRecordError", "Call", "Event", "called", "label"]

_MAX_NAME, _MAX_LABEL = 500, 200
NO_RESULT = object()
"""The result of a call that failed before it reached the tool."""
SAME_RECORD = "the same record"
"""Identifies a call whose result follows in the same record."""


class BadRecordError(Exception):
    """A record has a known form, but something in it is wrong."""


class Call(NamedTuple):
    id: Hashable
    """Found again in its answer."""
    server: str | None
    tool: str
    arguments: Mapping[str, Any]
    run: Hashable = None
    """Values are followed between calls of one run."""
    order: int | None = None
    """Its number in the run, where the log has one."""
    sender: str | None = None


class Answer(NamedTuple):
    id: Hashable
    result: Any
    at: float | None = None
    is_error: bool = False
    sender: str | None = None
    may_be_other: bool = False
    """Whether it may answer something else than a call of a tool."""


Event: TypeAlias = Call | Answer


def called(id_: Hashable, server: Any, tool: Any, arguments: Any, **more: Any) -> Call:
    """Return a call with checked names; some logs write the arguments as JSON text."""
    return Call(
        id_,
        None if server is None else _name(server, "server"),
        _name(tool, "tool"),
        _read(arguments),
        **more,
    )


def _name(name: Any, what: str) -> str:
    if type(name) is not str or not name:
        raise BadRecordError(f"the name of the {what} is not a string")
    if len(name) > _MAX_NAME:
        raise BadRecordError(f"the name of the {what} is longer than {_MAX_NAME} characters")
    return name


def _read(arguments: Any) -> dict[str, Any]:
    if type(arguments) is str and arguments.strip():
        try:
            arguments = parse_json(arguments)
        except (ValueError, RecursionError):
            return {"": arguments}  # a model need not write JSON; it still distinguishes calls
    if type(arguments) is dict:
        return arguments
    return {} if arguments is None or arguments == "" else {"": arguments}


def label(record: Mapping[str, Any], keys: tuple[str, ...]) -> str | int | None:
    """Return the first short text or number under one of these keys."""
    for key in keys:
        value = record.get(key)
        if (type(value) is str and 0 < len(value) <= _MAX_LABEL) or type(value) is int:
            return value
    return None
