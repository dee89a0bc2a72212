"""The facts about a program, read from what a confined child says: believed only after looking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from halflap.sandbox.check.reading import CheckSkipped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from halflap.sandbox.check.reading import Diagnostic

    T = TypeVar("T")

__all__ = [
    "Argument",
    "Call",
    "Never",
    "Place",
    "Read",
    "Seen",
    "Slot",
    "SyntaxTrouble",
    "place_of",
    "read_facts",
]

_MISSING = object()
_NUMBERS = 4
_LARGEST = 10_000_000
_MOST = 2_000
_LONGEST = 1_000


@dataclass(frozen=True, slots=True)
class Place:
    """From line and column to line and column, counted from 1, in characters."""

    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def begin(self) -> tuple[int, int]:
        """Where it begins."""
        return self.line, self.column


def place_of(one: Diagnostic) -> Place:
    """Say where a diagnostic stands."""
    return Place(one.line, one.column, one.end_line, one.end_column)


@dataclass(frozen=True, slots=True)
class Argument:
    """A named argument in a call of a tool."""

    name: str
    at: Place
    value: Any
    has_value: bool
    """Its value stands in the program itself."""
    said: bool = False
    """The program says itself of what type it is."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool by its name."""

    name: str
    at: Place
    arguments: tuple[Argument, ...]
    unnamed: int
    spread: bool
    """There are more arguments than can be seen: `**more`."""
    by_text: bool
    """The name stands there as a text, for `call_tool`."""


@dataclass(frozen=True, slots=True)
class Read:
    """A value that is asked for a key: `value["key"]`."""

    key: str
    at: Place
    key_at: Place
    value_at: Place
    base_at: Place | None
    """Where the value is the part of another one, `base[…]["key"]`, that."""
    shown: str
    guarded: bool
    """The program is prepared for it not to be there."""
    put: bool
    """The program may put that key somewhere itself, or looks first whether it is there."""
    through: bool
    """The same of a key by which one comes to the value."""
    at_once: bool
    """It is asked of what is awaited there, which nobody has had in hand."""
    open: bool
    """There may be more in the value than the tool put there, and it cannot be told what."""
    awaited: bool
    """The value is a part of what was awaited, under a name that is used for that alone."""


@dataclass(frozen=True, slots=True)
class Never:
    """A call that nobody awaits."""

    name: str
    at: Place


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a function of the program could say a type: the place, and the values that it is the type of."""

    at: Place
    values: tuple[Place, ...]
    form: Literal["returns", "yields", "takes"]


@dataclass(frozen=True, slots=True)
class SyntaxTrouble:
    """Why the text is no program."""

    message: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What a program's own text tells."""

    syntax_error: SyntaxTrouble | None = None
    bound: frozenset[str] = frozenset()
    """Names like those of tools and their records that the program gives another meaning."""
    defined: frozenset[str] = frozenset()
    dynamic: bool = False
    """The program may give names a meaning in ways that do not stand in its text."""
    ignored: frozenset[int] = frozenset()
    calls: tuple[Call, ...] = ()
    reads: tuple[Read, ...] = ()
    never: tuple[Never, ...] = ()
    slots: tuple[Slot, ...] = ()
    fills: tuple[Place, ...] = ()
    """What is put into lists that the program did not make."""


def read_facts(facts: Mapping[str, Any]) -> Seen:
    """Read them, or raise `CheckSkipped`."""
    error = facts.get("syntax_error")
    if error is not None:
        return Seen(SyntaxTrouble(_text(error, "message"), _number(error, "line"), _number(error, "column")))
    return Seen(
        bound=frozenset(_each(facts, "bound", _is_text)),
        defined=frozenset(_each(facts, "defined", _is_text)),
        dynamic=_flag(facts, "dynamic"),
        ignored=frozenset(_each(facts, "ignored", _is_number)),
        calls=tuple(_each(facts, "calls", _call)),
        reads=tuple(_each(facts, "reads", _read)),
        never=tuple(_each(facts, "never", lambda one: Never(_text(one, "name"), _place(one, "at")))),
        slots=tuple(_each(facts, "slots", _slot)),
        fills=tuple(_each(facts, "fills", _place_in)),
    )


def _call(one: Any) -> Call:
    return Call(
        _text(one, "name"),
        _place(one, "at"),
        tuple(_each(one, "arguments", _argument)),
        _whole(one.get("unnamed")),
        _flag(one, "spread"),
        _flag(one, "by_text"),
    )


def _argument(one: Any) -> Argument:
    name, place = _text(one, "name"), _place(one, "at")
    value = one.get("value", _MISSING)
    return Argument(
        name, place, None if value is _MISSING else value, value is not _MISSING, _flag(one, "said")
    )


def _read(one: Any) -> Read:
    return Read(
        key=_text(one, "key"),
        at=_place(one, "at"),
        key_at=_place(one, "key_at"),
        value_at=_place(one, "value_at"),
        base_at=None if one.get("base_at") is None else _place(one, "base_at"),
        shown=_text(one, "shown"),
        guarded=_flag(one, "guarded"),
        put=_flag(one, "put"),
        through=_flag(one, "through"),
        at_once=_flag(one, "at_once"),
        open=_flag(one, "open"),
        awaited=_flag(one, "awaited"),
    )


def _slot(one: Any) -> Slot:
    form = _text(one, "form")
    if form not in {"returns", "yields", "takes"}:
        raise _unreadable()
    values = tuple(_each(one, "values", _place_in))
    return Slot(_place(one, "at"), values, form)  # type: ignore[arg-type]  # looked at above


def _each(source: Any, key: str, read: Callable[[Any], T]) -> list[T]:
    listed = _get(source, key)
    if not isinstance(listed, list) or len(listed) > _MOST:
        raise _unreadable()
    return [read(one) for one in listed]


def _place(source: Any, key: str) -> Place:
    return _place_in(_get(source, key))


def _place_in(numbers: Any) -> Place:
    if not isinstance(numbers, list) or len(numbers) != _NUMBERS:
        raise _unreadable()
    return Place(*(_is_number(one) for one in numbers))


def _text(source: Any, key: str) -> str:
    return _is_text(_get(source, key))[:_LONGEST]


def _number(source: Any, key: str) -> int:
    return _is_number(_get(source, key))


def _flag(source: Any, key: str) -> bool:
    value = _get(source, key)
    if not isinstance(value, bool):
        raise _unreadable()
    return value


def _get(source: Any, key: str) -> Any:
    if not isinstance(source, dict):
        raise _unreadable()
    return source.get(key)


def _is_text(value: Any) -> str:
    if not isinstance(value, str):
        raise _unreadable()
    return value


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _LARGEST:
        raise _unreadable()
    return value


def _is_number(value: Any) -> int:
    if _whole(value) == 0:
        raise _unreadable()
    return int(value)


def _unreadable() -> CheckSkipped:
    return CheckSkipped("its answer could not be read")
