"""Calls in a log, and the results that belong to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from halflap.schema import parse_json

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

__all__ = [
    "BadRecordError",
    "LoggedCall",
    "NeedsOrderError",
    "PendingCalls",
    "Sink",
    "arguments_of",
    "checked_name",
]

_MAX_NAME = 500
_MAX_PENDING = 100_000
"""Calls kept while their result has not been seen; beyond this the oldest are dropped, to bound memory."""


class BadRecordError(Exception):
    """A record has a known form, but something in it is wrong."""


class NeedsOrderError(Exception):
    """A record belongs together with others, but only a part of the file is being read."""


class LoggedCall(NamedTuple):
    """A call, as far as its result needs to know about it."""

    server: str | None
    tool: str
    digest: int
    """Of the arguments."""
    sender: str | None = None
    run: Hashable = None
    order: int | None = None
    """Its number in the run, where the log has one."""


class Sink(Protocol):
    """Receives the calls and results in a log as they are read."""

    def called(
        self,
        server: str | None,
        tool: Any,
        arguments: Mapping[str, Any],
        *,
        sender: str | None = None,
        run: Hashable = None,
        order: int | None = None,
    ) -> LoggedCall:
        """Receive a call, and return what identifies it when its result arrives."""
        ...

    def returned(self, call: LoggedCall, result: Any, at: float | None, *, is_error: bool) -> None:
        """Receive the result of a call."""
        ...

    def unpaired(self, count: int) -> None:
        """Count calls without a result, or results without a call."""
        ...


class PendingCalls:
    """Calls whose results have not been seen yet, by identifier."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._calls: dict[Hashable, LoggedCall] = {}

    def add(self, identifier: Hashable, call: LoggedCall) -> None:
        replaced = self._calls.pop(identifier, None)
        self._calls[identifier] = call
        if len(self._calls) > _MAX_PENDING:
            replaced = self._calls.pop(next(iter(self._calls)))
        if replaced is not None:
            self._sink.unpaired(1)

    def get(self, identifier: Hashable) -> LoggedCall | None:
        return self._calls.get(identifier)

    def pop(self, identifier: Hashable) -> LoggedCall | None:
        return self._calls.pop(identifier, None)

    def close(self) -> None:
        self._sink.unpaired(len(self._calls))
        self._calls.clear()


def checked_name(name: Any, what: str = "tool") -> str:
    """Return the name of a tool or server, or raise BadRecordError."""
    if type(name) is not str or not name:
        raise BadRecordError(f"the name of the {what} is not a string")
    if len(name) > _MAX_NAME:
        raise BadRecordError(f"the name of the {what} is longer than {_MAX_NAME} characters")
    return name


def arguments_of(arguments: Any) -> dict[str, Any]:
    """Return the arguments of a call, which some logs write as JSON text."""
    if type(arguments) is str and arguments.strip():
        try:
            arguments = parse_json(arguments)
        except (ValueError, RecursionError):
            return {"": arguments}  # a model need not write JSON; it still distinguishes calls
    if type(arguments) is dict:
        return arguments
    return {} if arguments is None or arguments == "" else {"": arguments}
