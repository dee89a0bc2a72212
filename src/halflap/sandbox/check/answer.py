"""The answer of a confined child, validated as if an attacker had written it."""

from __future__ import annotations

import signal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from halflap.sandbox.check.inside.edits import Place, Wrap

__all__ = ["Answer", "CheckSkipped", "Diagnostic", "Named", "ToolCall", "Use", "read_answer", "read_failed"]

_MAX_TROUBLE = 200
_MAX_NUMBER = 10_000_000
_Number = Annotated[int, Field(strict=True, ge=1, le=_MAX_NUMBER)]


def _checked(place: Place) -> Place:
    if not all(1 <= number <= _MAX_NUMBER for number in place):
        raise ValueError("a place that no program has")
    return place


_Place = Annotated[Place, AfterValidator(_checked)]
_Wrap = Annotated[Wrap, AfterValidator(lambda wrap: wrap._replace(place=_checked(wrap.place)))]
_Text = Annotated[str, Field(max_length=2_000)]


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
    at: _Place


class Argument(_Model):
    """An argument of a call; without a name it has an empty one."""

    name: _Text
    at: _Place
    values: list[Value]


class ToolCall(_Model):
    """A call of a tool."""

    name: _Text
    at: _Place
    by_text: bool
    """Its name is the first argument of `call_tool`."""
    more: bool
    """It gets more arguments than its text shows."""
    arguments: list[Argument]


class Named(_Model):
    """A name somewhere in the program."""

    name: _Text
    at: _Place


class Use(_Model):
    """A value and what is done with it."""

    kind: Literal["key", "index", "attribute", "argument", "operand", "store", "addition"]
    value: _Place
    at: _Place
    """What to point at: the key, the argument."""
    name: _Text
    """The key, the attribute or the argument."""
    shown: _Text
    fresh: bool
    """The value was awaited right there, so nothing changed it."""
    guarded: bool
    """The program is prepared for a failure, or vouches for the type itself."""
    put: bool
    """The program may put that key somewhere itself, or looks first."""
    excused: bool
    """The value may hold more than the tool put there."""
    over: _Place | None
    """The value is the variable of a loop over what is there."""
    diagnostic: int | None
    """Which one it is about; None for the read of a parameter, with a value that is passed for it."""


class Facts(_Model):
    """What the program's text tells without ty."""

    bound: list[_Text]
    ignored: list[_Number]
    calls: list[ToolCall]
    unbound: list[Named]
    unawaited: list[Named]
    wraps: list[_Wrap]
    without: list[_Place]


Diagnostic = tuple[_Text, _Place, _Text]
"""A rule, a place, and a message of ty."""


class SyntaxTrouble(_Model):
    """Why the text is no program."""

    message: _Text
    line: _Number
    column: _Number


class Answer(_Model):
    """What was found in a program."""

    facts: Facts | None = None
    diagnostics: list[Diagnostic] = []
    uses: list[Use] = []
    filling: list[int] = []
    """The diagnostics that are about what the program puts into containers."""
    syntax_error: SyntaxTrouble | None = None


class _Failed(_Model):
    failed: list[tuple[_Number, _Number]]


class _Trouble(_Model):
    trouble: str = ""
    ended: int = 0


_ANSWER: TypeAdapter[Answer | _Trouble] = TypeAdapter(Answer | _Trouble)
_FAILED: TypeAdapter[_Failed | _Trouble] = TypeAdapter(_Failed | _Trouble)


def read_answer(body: bytes) -> Answer:
    """Read what was found in a program, or raise `CheckSkipped`."""
    answer: Answer = _read(_ANSWER, body)
    if (answer.facts is None) == (answer.syntax_error is None):
        raise CheckSkipped("its answer could not be read")
    return answer


def read_failed(body: bytes) -> set[tuple[int, int]]:
    """Read where ty objects to a program with probes, or raise `CheckSkipped`."""
    return set(_read(_FAILED, body).failed)


def _read(adapter: TypeAdapter[Any], body: bytes) -> Any:
    if not body:
        raise CheckSkipped("its process crashed")
    try:
        read = adapter.validate_json(body)
    except ValidationError:
        raise CheckSkipped("its answer could not be read") from None
    if isinstance(read, _Trouble):
        raise CheckSkipped(
            f"its process failed: {read.trouble[:_MAX_TROUBLE]}" if read.trouble else _ending(read.ended)
        )
    return read


def _ending(code: int) -> str:
    try:
        return f"ty crashed ({signal.Signals(-code).name})"
    except ValueError:
        return f"ty failed with status {code}"
