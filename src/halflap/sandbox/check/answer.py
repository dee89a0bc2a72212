"""The answer of a confined child, validated as if an attacker had written it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

__all__ = ["Answer", "Argument", "CheckSkipped", "Found", "Named", "Place", "ToolCall", "read_answer"]

_MAX_TROUBLE = 200
_Number = Annotated[int, Field(strict=True, ge=1, le=10_000_000)]
_Text = Annotated[str, Field(max_length=2_000)]
Place = tuple[_Number, _Number, _Number, _Number]
"""From line and column to line and column, counted from 1 in characters."""


class CheckSkipped(Exception):  # noqa: N818 -- nothing failed for the caller: there is just no check
    """A program could not be checked; the reason is a short phrase for people."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Value(_Model):
    """A value that an argument certainly gets."""

    value: Any
    at: Place


class Argument(_Model):
    """An argument of a call; without a name it has an empty one."""

    name: str
    at: Place
    values: list[Value]


class ToolCall(_Model):
    """A call of a tool."""

    name: str
    at: Place
    by_text: bool
    """Its name is the first argument of `call_tool`."""
    more: bool
    """It gets more arguments than its text shows."""
    arguments: list[Argument]


class Named(_Model):
    """A name that nothing in the program gives a meaning to."""

    name: str
    at: Place


class Found(_Model):
    """A mistake or a doubt."""

    at: Place
    certain: bool
    rule: _Text
    wrong: _Text
    right: _Text
    name: str
    """A key or attribute that does not exist."""
    keys: list[str]
    """Those that do."""


class Answer(_Model):
    """What was found in a program."""

    findings: list[Found] = []
    calls: list[ToolCall] = []
    unbound: list[Named] = []
    syntax_error: tuple[_Text, _Number, _Number] | None = None
    trouble: str = ""


def read_answer(body: bytes) -> Answer:
    """Read what was found in a program, or raise `CheckSkipped`."""
    if not body:
        raise CheckSkipped("its process crashed")
    try:
        answer = Answer.model_validate_json(body)
    except ValidationError:
        raise CheckSkipped("its answer could not be read") from None
    if answer.trouble:
        raise CheckSkipped(answer.trouble[:_MAX_TROUBLE])
    return answer
