"""Calls and the results that answer them: those that wait for each other across a log, found by identifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from halflap.backfill.rules import LONGEST_NAME
from halflap.schema import parse_json

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

__all__ = [
    "BadRecordError",
    "Call",
    "NeedsOrderError",
    "Taker",
    "Waiting",
    "arguments_of",
    "name_of",
    "server_of",
]

MOST_WAITING = 100_000
"""Calls without a result are given up beyond this, the oldest first: memory stays flat."""


class BadRecordError(Exception):
    """A record has a known form, and something in it cannot be right."""


class NeedsOrderError(Exception):
    """A record belongs together with others, and this is only a part of the file."""


class Call(NamedTuple):
    """A call as far as it matters to what answers it."""

    server: str | None
    name: str
    digest: int
    side: str | None = None
    """Who sent it, where a log says so."""
    run: Hashable = None
    """What tells its run from others, where a log says so."""
    order: int | None = None
    """Its number in the run, likewise."""


class Taker(Protocol):
    """Takes what a log tells, as it is read."""

    def asked(
        self,
        server: str | None,
        name: Any,
        arguments: Mapping[str, Any],
        *,
        side: str | None = None,
        run: Hashable = None,
        order: int | None = None,
    ) -> Call:
        """Take a call that was made; gives what stands for it until it is answered."""
        ...

    def answered(self, call: Call, result: Any, at: float | None, *, is_error: bool) -> None:
        """Take a call with its result."""
        ...

    def unpaired(self, count: int) -> None:
        """Take note of calls without a result, or results without a call."""
        ...


class Waiting:
    """The calls that wait for their results."""

    def __init__(self, taker: Taker) -> None:
        self._taker = taker
        self._calls: dict[Hashable, Call] = {}

    def add(self, identifier: Hashable, call: Call) -> None:
        if self._calls.pop(identifier, None) is not None:
            self._taker.unpaired(1)
        self._calls[identifier] = call
        if len(self._calls) > MOST_WAITING:
            del self._calls[next(iter(self._calls))]
            self._taker.unpaired(1)

    def get(self, identifier: Hashable) -> Call | None:
        return self._calls.get(identifier)

    def take(self, identifier: Hashable) -> Call | None:
        return self._calls.pop(identifier, None)

    def close(self) -> None:
        """Give up those that are left."""
        self._taker.unpaired(len(self._calls))
        self._calls.clear()


def name_of(name: Any) -> str:
    if type(name) is not str or not name:
        raise BadRecordError("the name of the tool is no text")
    if len(name) > LONGEST_NAME:
        raise BadRecordError(f"the name of the tool is longer than {LONGEST_NAME} characters")
    return name


def server_of(server: str | None) -> str | None:
    if server is not None and len(server) > LONGEST_NAME:
        raise BadRecordError(f"the name of the server is longer than {LONGEST_NAME} characters")
    return server


def arguments_of(arguments: Any) -> dict[str, Any]:
    """Give the arguments of a call; some write them as text."""
    if type(arguments) is str and arguments.strip():
        try:
            arguments = parse_json(arguments)
        except (ValueError, RecursionError):
            # What a model wrote need not be JSON; it still tells one call from another.
            return {"": arguments}
    if type(arguments) is dict:
        return arguments
    return {} if arguments is None or arguments == "" else {"": arguments}
