"""Predicates from the part of XPath that YAWL specifications use, and into it."""

from __future__ import annotations

import json
import re
from typing import Any

from halflap.core.errors import WorkflowError
from halflap.workflows.predicates.language import (
    KEYWORDS,
    Arithmetic,
    Comparison,
    Constant,
    Expression,
    Logic,
    Name,
    Negative,
    Not,
    parse,
    write,
)

__all__ = ["BeyondError", "from_xpath", "to_xpath"]

_LONGEST = 4_000
_DEEPEST = 50
_MOST = 1_000
_DATA = "data"
_STEP = re.compile(r"[^\W\d]\w*")
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<path>(?:/(?!text\(\))[\w.\-:]+)+(?:/text\(\))?)
      | (?P<number>\d+(?:\.\d+)?)
      | (?P<text>"[^"]*"|'[^']*')
      | (?P<word>(?:and|or|div)(?![\w.\-]))
      | (?P<call>[a-z][a-z\-]*\s*\()
      | (?P<sign>!=|<=|>=|[=<>+\-*()])
    )""",
    re.VERBOSE,
)


class BeyondError(ValueError):
    """This XPath is no predicate of ours; the message says why. It is caught where it is kept as text instead."""


def from_xpath(text: str, root: str) -> Expression:
    """Read XPath as a predicate. The first step of a path is the net `root`, or `data`, and is left out."""
    if len(text) > _LONGEST:
        raise BeyondError(f"it has more than {_LONGEST} characters")
    found = _Reader(text, root).whole()
    try:
        parse(write(found))
    except WorkflowError as error:
        raise BeyondError(error.problems[0].message) from error
    return found


def _tokens(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None or len(found) > _MOST:
            raise BeyondError(
                f"{text[at : at + 20].strip()!r} is not in the part of XPath that is understood"
            )
        kind = match.lastgroup
        assert kind is not None
        found.append((kind, match[kind]))
        at = match.end()
    return [*found, ("end", "")]


class _Reader:
    """Goes through the tokens once, from the left."""

    def __init__(self, text: str, root: str) -> None:
        self._tokens = _tokens(text)
        self._root = root
        self._at = 0
        self._depth = 0

    def whole(self) -> Expression:
        found = self._either()
        if self._tokens[self._at][0] != "end":
            raise BeyondError(f"{self._tokens[self._at][1]!r} was not expected")
        return _decides(found)

    def _taken(self, *texts: str) -> str | None:
        kind, text = self._tokens[self._at]
        if kind not in {"sign", "word"} or text not in texts:
            return None
        self._at += 1
        return text

    def _either(self) -> Expression:
        parts = [self._all()]
        while self._taken("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Logic("or", tuple(map(_decides, parts)))

    def _all(self) -> Expression:
        parts = [self._comparison()]
        while self._taken("and"):
            parts.append(self._comparison())
        return parts[0] if len(parts) == 1 else Logic("and", tuple(map(_decides, parts)))

    def _comparison(self) -> Expression:
        left = self._sum()
        sign = self._taken("=", "!=", "<", "<=", ">", ">=")
        if sign is None:
            return left
        right = self._sum()
        if self._taken("=", "!=", "<", "<=", ">", ">="):
            raise BeyondError("comparisons are chained")
        return _compared(sign, left, right)

    def _sum(self) -> Expression:
        found = self._product()
        while sign := self._taken("+", "-"):
            found = Arithmetic("+" if sign == "+" else "-", _counts(found), _counts(self._product()))
        return found

    def _product(self) -> Expression:
        found = self._signed()
        while sign := self._taken("*", "div"):
            found = Arithmetic("*" if sign == "*" else "/", _counts(found), _counts(self._signed()))
        return found

    def _signed(self) -> Expression:
        if not self._taken("-"):
            return self._single()
        number = self._tokens[self._at][0] == "number"
        self._deeper()
        one = self._signed()
        self._depth -= 1
        if number and isinstance(one, Constant) and isinstance(one.value, int | float):
            return Constant(-one.value)
        return Negative(_counts(one))

    def _single(self) -> Expression:
        kind, text = self._tokens[self._at]
        self._at += 1
        match kind:
            case "number":
                return Constant(float(text) if "." in text else int(text))
            case "text":
                return Constant(text[1:-1])
            case "path":
                return _name(text, self._root)
            case "call":
                return self._called(text.removesuffix("(").strip())
            case "sign" if text == "(":
                return self._closed()
        raise BeyondError("it ends too early" if kind == "end" else f"{text!r} was not expected")

    def _closed(self) -> Expression:
        self._deeper()
        found = self._either()
        self._depth -= 1
        if not self._taken(")"):
            raise BeyondError("a parenthesis is not closed")
        return found

    def _called(self, function: str) -> Expression:
        if function in {"true", "false"}:
            if not self._taken(")"):
                raise BeyondError(f"{function}() takes nothing")
            return Constant(function == "true")
        if function == "not":
            return Not(_decides(self._closed()))
        if function == "number":
            found = self._closed()
            if isinstance(found, Name):
                return found
            raise BeyondError("number() of something else than a path")
        raise BeyondError(f"the function {function}() is not understood")

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise BeyondError(f"it is nested more than {_DEEPEST} deep")


def _name(text: str, root: str) -> Name:
    steps = text.removesuffix("/text()").split("/")[1:]
    if steps[0] not in {root, _DATA}:
        raise BeyondError(
            f"{text} begins with {steps[0]!r}, which is neither the net, {root!r}, nor {_DATA!r}"
        )
    if len(steps) == 1:
        raise BeyondError(f"{text} is a whole net, and none of its variables")
    for step in steps[1:]:
        if not _STEP.fullmatch(step) or step in KEYWORDS:
            raise BeyondError(f"{step!r} in {text} cannot be a name")
    return Name(tuple(steps[1:]))


def _decides(one: Expression) -> Expression:
    if isinstance(one, Not | Logic | Comparison) or (
        isinstance(one, Constant) and isinstance(one.value, bool)
    ):
        return one
    raise BeyondError("whether something is there, or not empty, is asked")


def _counts(one: Expression) -> Expression:
    if isinstance(one, Name | Arithmetic | Negative):
        return one
    if isinstance(one, Constant) and not isinstance(one.value, bool | str):
        return one
    raise BeyondError("something else than a number is calculated with")


def _compared(sign: str, left: Expression, right: Expression) -> Expression:
    if sign in {"=", "!="}:
        ends = [_meant(one) for one in (left, right)]
        if any(isinstance(one, Not | Logic | Comparison) for one in ends):
            raise BeyondError("something true or false is compared")
        return Comparison("==" if sign == "=" else "!=", ends[0], ends[1])
    return Comparison(sign, _counts(left), _counts(right))  # type: ignore[arg-type]


def _meant(one: Expression) -> Expression:
    """XML has the text 'true' where JSON has true."""
    if isinstance(one, Constant) and one.value in {"true", "false"} and isinstance(one.value, str):
        return Constant(one.value == "true")
    return one


def to_xpath(expression: Expression, root: str) -> str | None:
    """Write a predicate as XPath over the variables of the net `root`; None if XPath does not say it."""
    try:
        return _Writer(root).truth(expression)
    except BeyondError:
        return None


class _Writer:
    """Writes with all parentheses that could be needed around what is not single."""

    def __init__(self, root: str) -> None:
        self._root = root

    def truth(self, one: Expression) -> str:
        match one:
            case Constant(bool() as value):
                return "true()" if value else "false()"
            case Name():
                return f"{self._path(one)} = 'true'"
            case Not(inner):
                return f"not({self.truth(inner)})"
            case Logic(sign, parts):
                return f" {sign} ".join(
                    f"({self.truth(part)})" if isinstance(part, Logic) else self.truth(part) for part in parts
                )
            case Comparison(sign, left, right):
                return self._comparison(sign, left, right)
        raise BeyondError("it is neither true nor false")

    def _comparison(self, sign: str, left: Expression, right: Expression) -> str:
        if sign in {"==", "!="}:
            written = "=" if sign == "==" else "!="
            counts = any(isinstance(one, Arithmetic | Negative) or _is_number(one) for one in (left, right))
            ends = [self._number(one) if counts else self._plain(one) for one in (left, right)]
            return f"{ends[0]} {written} {ends[1]}"
        return f"{self._number(left)} {sign} {self._number(right)}"

    def _plain(self, one: Expression) -> str:
        match one:
            case Name():
                return self._path(one)
            case Constant(bool() as value):
                return "'true'" if value else "'false'"
            case Constant(str() as value):
                return _quoted(value)
        raise BeyondError("XPath has no such value")

    def _number(self, one: Expression) -> str:
        match one:
            case Name():
                return f"number({self._path(one)})"
            case Constant(value) if _is_number(one):
                return _decimal(value)
            case Negative(inner):
                return f"-({self._number(inner)})"
            case Arithmetic(sign, left, right):
                ends = [
                    f"({self._number(end)})" if isinstance(end, Arithmetic) else self._number(end)
                    for end in (left, right)
                ]
                return f"{ends[0]} {'div' if sign == '/' else sign} {ends[1]}"
        raise BeyondError("XPath cannot calculate with that")

    def _path(self, name: Name) -> str:
        if not _STEP.fullmatch(self._root):
            # The first step is left out when it is read; any that can stand there will do.
            return "/".join(["", _DATA, *name.path, "text()"])
        return "/".join(["", self._root, *name.path, "text()"])


def _is_number(one: Expression) -> bool:
    return (
        isinstance(one, Constant) and isinstance(one.value, int | float) and not isinstance(one.value, bool)
    )


def _decimal(value: Any) -> str:
    written = json.dumps(value)
    if "e" in written:
        raise BeyondError("XPath has no exponents")
    return written


def _quoted(value: str) -> str:
    if "'" not in value:
        return f"'{value}'"
    if '"' not in value:
        return f'"{value}"'
    raise BeyondError("XPath has no text with both kinds of quotes")
