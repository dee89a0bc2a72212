"""The language of predicates: what can be said, read from text and written as text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from halflap.core.errors import WorkflowError

__all__ = [
    "Arithmetic",
    "Comparison",
    "Constant",
    "Expression",
    "Logic",
    "Name",
    "Negative",
    "Not",
    "names",
    "parse",
    "write",
]

Compares = Literal["==", "!=", "<", "<=", ">", ">="]
Calculates = Literal["+", "-", "*", "/"]

_LONGEST = 4_000
_DEEPEST = 50
_MOST_OPERATORS = 200
_LONGEST_NUMBER = 40

KEYWORDS = {"and", "or", "not", "true", "false", "null"}
_CONSTANTS = {"true": True, "false": False, "null": None}
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
      | (?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)
      | (?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
      | (?P<sign>==|!=|<=|>=|[<>+\-*/()])
    )""",
    re.VERBOSE,
)
_INSTEAD = {
    "=": "Write == to compare.",
    "&": "Write `and`.",
    "|": "Write `or`.",
    "!": "Write `not`, or != to compare.",
    "[": "Only names with dots lead into a value, as order.total.",
    '"': "The text has no end.",
    "'": "The text has no end.",
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Constant:
    """A number, a text, true, false or null."""

    value: float | str | bool | None

    def __eq__(self, other: object) -> bool:
        # 1 is neither 1.0 nor true, in the text of a predicate.
        return (
            isinstance(other, Constant)
            and type(self.value) is type(other.value)
            and self.value == other.value
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Name:
    """A value of the case, or a part of one."""

    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite."""

    one: Expression


@dataclass(frozen=True, slots=True)
class Negative:
    """A number, below zero."""

    one: Expression


@dataclass(frozen=True, slots=True)
class Logic:
    """All of it, or any of it; what comes later is not looked at once it is decided."""

    sign: Literal["and", "or"]
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two values beside each other."""

    sign: Compares
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """A number from two."""

    sign: Calculates
    left: Expression
    right: Expression


Expression: TypeAlias = Constant | Name | Not | Negative | Logic | Comparison | Arithmetic


def parse(text: str) -> Expression:
    """Read a predicate; what is wrong with it is said with the place in the text."""
    if len(text) > _LONGEST:
        raise _wrong(text, f"It has {len(text)} characters; at most {_LONGEST} are read.")
    return _Parser(text).whole()


def _wrong(text: str, message: str) -> WorkflowError:
    shown = text if len(text) <= 80 else f"{text[:79]}…"  # noqa: PLR2004 - as much as a line has
    return WorkflowError([("", message)], f"The predicate {shown!r} cannot be read.")


def _tokens(text: str) -> list[tuple[str, str, int]]:
    found: list[tuple[str, str, int]] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            at += len(text[at:]) - len(text[at:].lstrip())
            hint = _INSTEAD.get(text[at], "It may have comparisons, and, or, not, + - * /, names and values.")
            raise _wrong(text, f"Character {at + 1}, {text[at]!r}, does not belong there. {hint}")
        kind = match.lastgroup
        assert kind is not None
        found.append((kind, match[kind], match.start(kind) + 1))
        at = match.end()
    return [*found, ("end", "", end + 1)]


class _Parser:
    """Goes through the tokens once, from the left."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0
        self._operators = 0

    def whole(self) -> Expression:
        if self._tokens[0][0] == "end":
            raise _wrong(self._text, "It is empty. Leave it out where there is none.")
        found = self._either()
        if self._tokens[self._at][0] != "end":
            raise self._unexpected("`and`, `or`, a comparison or the end")
        return found

    def _taken(self, *texts: str) -> str | None:
        kind, text, _ = self._tokens[self._at]
        if kind not in {"sign", "name"} or text not in texts:
            return None
        self._at += 1
        if text not in {"(", ")"}:
            self._operators += 1
            if self._operators > _MOST_OPERATORS:
                raise _wrong(self._text, f"It has more than {_MOST_OPERATORS} operators.")
        return text

    def _unexpected(self, expected: str) -> WorkflowError:
        kind, text, at = self._tokens[self._at]
        found = "the text ends" if kind == "end" else f"there is {text!r}"
        return _wrong(self._text, f"At character {at} {found}; expected {expected}.")

    def _either(self) -> Expression:
        parts = [self._all()]
        while self._taken("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Logic("or", tuple(parts))

    def _all(self) -> Expression:
        parts = [self._opposite()]
        while self._taken("and"):
            parts.append(self._opposite())
        return parts[0] if len(parts) == 1 else Logic("and", tuple(parts))

    def _opposite(self) -> Expression:
        if not self._taken("not"):
            return self._comparison()
        self._deeper()
        found = Not(self._opposite())
        self._depth -= 1
        return found

    def _comparison(self) -> Expression:
        left = self._sum()
        sign = self._taken("==", "!=", "<", "<=", ">", ">=")
        if sign is None:
            return left
        found = Comparison(sign, left, self._sum())  # type: ignore[arg-type]
        if self._taken("==", "!=", "<", "<=", ">", ">="):
            self._at -= 1
            raise self._unexpected("`and`: comparisons cannot be chained; write `a < b and b < c`")
        return found

    def _sum(self) -> Expression:
        found = self._product()
        while sign := self._taken("+", "-"):
            found = Arithmetic(sign, found, self._product())  # type: ignore[arg-type]
        return found

    def _product(self) -> Expression:
        found = self._signed()
        while sign := self._taken("*", "/"):
            found = Arithmetic(sign, found, self._signed())  # type: ignore[arg-type]
        return found

    def _signed(self) -> Expression:
        if not self._taken("-"):
            return self._single()
        self._deeper()
        number = self._tokens[self._at][0] == "number"
        one = self._signed()
        self._depth -= 1
        if number and isinstance(one, Constant) and isinstance(one.value, int | float):
            return Constant(-one.value)
        return Negative(one)

    def _single(self) -> Expression:
        kind, text, _ = self._tokens[self._at]
        if kind == "number":
            self._at += 1
            return Constant(self._number(text))
        if kind == "text":
            self._at += 1
            return Constant(self._unquoted(text))
        if kind == "name" and text in _CONSTANTS:
            self._at += 1
            return Constant(_CONSTANTS[text])
        if kind == "name" and text not in KEYWORDS:
            self._at += 1
            path = tuple(text.split("."))
            if KEYWORDS & set(path):
                word = next(one for one in path if one in KEYWORDS)
                raise _wrong(self._text, f"{word!r} in {text!r} is a word of the language, and no name.")
            return Name(path)
        if self._taken("("):
            self._deeper()
            found = self._either()
            if not self._taken(")"):
                raise self._unexpected("a closing parenthesis")
            self._depth -= 1
            return found
        raise self._unexpected("a name or a value")

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _wrong(self._text, f"It is nested more than {_DEEPEST} deep.")

    def _number(self, text: str) -> float:
        number = float(text) if any(one in text for one in ".eE") else None
        if len(text) > _LONGEST_NUMBER or number == float("inf"):
            raise _wrong(self._text, f"The number {text[:_LONGEST_NUMBER]} is too large.")
        return int(text) if number is None else number

    def _unquoted(self, text: str) -> str:
        def meant(found: re.Match[str]) -> str:
            if found[1]:
                return chr(int(found[1], 16))
            if found[2] == "u":
                raise _wrong(self._text, r"\u in a text needs four hexadecimal digits.")
            return _ESCAPES.get(found[2], found[2])

        # Two halves of a character beyond the first plane, as JSON writes them, are one.
        return _ESCAPE.sub(meant, text[1:-1]).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


_BINDS = {"or": 1, "and": 2, "not": 3, "compare": 4, "+": 5, "-": 5, "*": 6, "/": 6, "sign": 7, "single": 8}


def write(expression: Expression) -> str:
    """Write a predicate in its usual form: it reads back as the same."""
    return _written(expression)[0]


def _written(one: Expression) -> tuple[str, int]:  # noqa: PLR0911 - one for each kind
    match one:
        case Constant(value):
            below = not isinstance(value, bool | str | None) and (
                value < 0 or (value == 0 and str(value)[0] == "-")
            )
            return _constant(value), _BINDS["sign" if below else "single"]
        case Name(path):
            return ".".join(path), _BINDS["single"]
        case Not(inner):
            return f"not {_inside(inner, _BINDS['not'])}", _BINDS["not"]
        case Negative(inner):
            positive = isinstance(inner, Constant) and _written(inner)[1] == _BINDS["single"]
            return f"-({_written(inner)[0]})" if positive else f"-{_inside(inner, _BINDS['sign'])}", _BINDS[
                "sign"
            ]
        case Logic(sign, parts):
            return f" {sign} ".join(_inside(part, _BINDS[sign] + 1) for part in parts), _BINDS[sign]
        case Comparison(sign, left, right):
            ends = _inside(left, _BINDS["compare"] + 1), _inside(right, _BINDS["compare"] + 1)
            return f"{ends[0]} {sign} {ends[1]}", _BINDS["compare"]
        case Arithmetic(sign, left, right):
            binds = _BINDS[sign]
            return f"{_inside(left, binds)} {sign} {_inside(right, binds + 1)}", binds


def _inside(one: Expression, binds: int) -> str:
    text, own = _written(one)
    return text if own >= binds else f"({text})"


def _constant(value: float | str | bool | None) -> str:
    return json.dumps(value, ensure_ascii=False)


def names(expression: Expression) -> frozenset[tuple[str, ...]]:
    """Give the names that a predicate looks at."""
    match expression:
        case Name(path):
            return frozenset({path})
        case Not(one) | Negative(one):
            return names(one)
        case Logic(_, parts):
            return frozenset().union(*map(names, parts))
        case Comparison(_, left, right) | Arithmetic(_, left, right):
            return names(left) | names(right)
        case _:
            return frozenset()
