"""Read what a confined child answered: believe its shape only after looking."""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CheckSkipped", "Diagnostic", "Examined", "HelperGone", "read_answer"]

_MOST_DIAGNOSTICS = 500
_LONGEST_RULE = 100
_LONGEST_MESSAGE = 2_000
_LARGEST_NUMBER = 10_000_000
_LONGEST_TROUBLE = 200
_PARTS = 6


class CheckSkipped(Exception):  # noqa: N818 -- nothing failed for the caller: there is just no check
    """A program could not be examined; the reason is a short phrase for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class HelperGone(CheckSkipped):
    """There was nobody to put the question to; another may be started."""

    def __init__(self) -> None:
        super().__init__("its process is gone")


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """What ty says about a place in the program; lines and columns count from 1, columns in characters."""

    rule: str
    line: int
    column: int
    end_line: int
    end_column: int
    message: str


@dataclass(frozen=True, slots=True)
class Examined:
    """What a program's text told: facts that Python's own parser gave, and ty's diagnostics."""

    facts: Mapping[str, Any]
    diagnostics: tuple[Diagnostic, ...]


def read_answer(body: bytes) -> Examined:
    """Read an answer, or say why there is none."""
    if not body:
        raise CheckSkipped("its process crashed")
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        raise CheckSkipped("its answer could not be read") from None
    if not isinstance(answer, dict):
        raise CheckSkipped("its answer could not be read")
    if isinstance(trouble := answer.get("trouble"), str):
        raise CheckSkipped(f"its process failed: {trouble[:_LONGEST_TROUBLE]}")
    if isinstance(ended := answer.get("ended"), int):
        raise CheckSkipped(_ending(ended))
    facts, found = answer.get("facts"), answer.get("diagnostics")
    if not isinstance(facts, dict) or not isinstance(found, list):
        raise CheckSkipped("its answer could not be read")
    return Examined(facts, tuple(_diagnostic(one) for one in found[:_MOST_DIAGNOSTICS]))


def _ending(code: int) -> str:
    try:
        return f"ty crashed ({signal.Signals(-code).name})"
    except ValueError:
        return f"ty failed with status {code}"


def _diagnostic(one: Any) -> Diagnostic:
    if not isinstance(one, list) or len(one) != _PARTS:
        raise CheckSkipped("its answer could not be read")
    rule, line, column, end_line, end_column, message = one
    is_text = isinstance(rule, str) and isinstance(message, str)
    places = (line, column, end_line, end_column)
    if not is_text or not all(type(place) is int and 1 <= place <= _LARGEST_NUMBER for place in places):
        raise CheckSkipped("its answer could not be read")
    return Diagnostic(rule[:_LONGEST_RULE], line, column, end_line, end_column, message[:_LONGEST_MESSAGE])
