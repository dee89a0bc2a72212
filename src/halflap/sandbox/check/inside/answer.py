"""The result of an examination. The child writes it as JSON, where a tuple is an array; the gateway validates it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


def lines_of(code: str) -> list[str]:
    """Return the lines of a program as Python counts them: a form feed or another odd separator ends none."""
    return code.replace("\r\n", "\n").replace("\r", "\n").split("\n")


class Place(NamedTuple):
    """A range of the program; lines and columns count from 1, columns in characters."""

    line: int
    column: int
    end_line: int
    end_column: int


class Verdict(NamedTuple):
    """What is wrong with a part of the program: certainly, or only perhaps."""

    certain: bool
    rule: str
    wrong: str
    right: str = ""
    name: str = ""
    """The key or attribute that does not exist; the gateway suggests a similar one of the keys."""
    keys: Sequence[str] = ()


class Argument(NamedTuple):
    """An argument of a call; the name is empty for a positional one."""

    name: str
    at: Place
    values: Sequence[tuple[Any, Place]]
    """The values that it certainly gets, where they are literals."""


class ToolCall(NamedTuple):
    """A call of a tool."""

    name: str
    at: Place
    by_text: bool
    """It is called through `call_tool`, which takes the name as text."""
    more: bool
    """It may get further arguments, such as those of a dict that is unpacked."""
    arguments: Sequence[Argument]


class Answer(NamedTuple):
    """What was found in a program."""

    findings: Sequence[tuple[Place, Verdict]] = ()
    calls: Sequence[ToolCall] = ()
    unbound: Sequence[tuple[str, Place]] = ()
    """Names that the program never binds."""
    trouble: str = ""
    """Why the program could not be examined."""
