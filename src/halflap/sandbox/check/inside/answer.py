"""What an examination answers. The child writes it as JSON, where a tuple is an array; the gateway validates it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Answer", "Argument", "Place", "ToolCall", "Verdict"]


class Place(NamedTuple):
    """From line and column to line and column, counted from 1 in characters."""

    line: int
    column: int
    end_line: int
    end_column: int


class Verdict(NamedTuple):
    """What is wrong with a part of the program, and whether that is certain."""

    certain: bool
    rule: str
    wrong: str
    right: str = ""
    name: str = ""
    """The key or attribute that does not exist; the gateway suggests one of the keys instead."""
    keys: Sequence[str] = ()


class Argument(NamedTuple):
    """An argument of a call; without a name it has an empty one."""

    name: str
    at: Place
    values: Sequence[tuple[Any, Place]]
    """The values that it certainly gets, as far as they can be read from the text."""


class ToolCall(NamedTuple):
    """A call of a tool."""

    name: str
    at: Place
    by_text: bool
    """Its name is the first argument of `call_tool`."""
    more: bool
    """It gets more arguments than its text shows."""
    arguments: Sequence[Argument]


class Answer(NamedTuple):
    """What was found in a program."""

    findings: Sequence[tuple[Place, Verdict]] = ()
    calls: Sequence[ToolCall] = ()
    unbound: Sequence[tuple[str, Place]] = ()
    """Names that nothing in the program gives a meaning to."""
    trouble: str = ""
    """Why the program could not be examined."""
