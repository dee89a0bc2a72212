"""Arguments that do not fit: those that stand in the program itself, and those whose type cannot fit."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halflap.core.text import visible
from halflap.sandbox.check.near import nearest
from halflap.sandbox.check.typetext import kind_of, literals_of, members
from halflap.schema import compact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from halflap.sandbox.check.reading import Diagnostic
    from halflap.sandbox.check.seen import Argument, Call, Place, Seen
    from halflap.schema import ToolSchema, Type
    from halflap.schema.stub import Record

__all__ = ["Arguments", "Told"]

_FUNCTION = re.compile(r"function `(\w+)`")
_FOUND = re.compile(r"Expected `.*`, found `(.*)`\Z", re.DOTALL)
_MISSING = re.compile(r"No arguments? provided for required parameters? (.*) of function", re.DOTALL)
_QUOTED = re.compile(r"`([^`]*)`")
_COMBINING = ("anyOf", "oneOf", "allOf", "not", "if", "dependentRequired", "dependentSchemas", "$ref")
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Told:
    """What is to be said of an argument, or of a call that lacks one."""

    certain: bool
    rule: str
    at: Place
    wrong: str
    right: str
    telling: bool = True
    """It says something that its reader may not know: that a text may not be one of an enum's is nothing."""


class Arguments:
    """The calls of tools in a program, against what the tools take."""

    def __init__(
        self,
        seen: Seen,
        schemas: Mapping[str, ToolSchema],
        records: Mapping[str, Record],
        closed: Collection[str],
    ) -> None:
        self._schemas = schemas
        self._closed = closed
        """The tools that take no other arguments than those that they name."""
        self._records = records
        self.misnamed: list[Place] = []
        """The calls in which an argument has the wrong name or none: another one is missing then."""
        self._calls = [call for call in seen.calls if call.name in schemas and call.name not in seen.bound]
        self._wrong: set[tuple[int, int]] = set()
        """Where an argument begins of which something has been said already."""

    def literal(self) -> Iterator[Told]:
        """Hold the arguments that stand in the program against the tool's schema."""
        for call in self._calls:
            schema = self._schemas[call.name]
            given = {one.name: one for one in call.arguments if one.has_value}
            whole = len(given) == len(call.arguments) and not call.spread and not call.unnamed
            if not given or (not whole and any(word in schema.raw_schema for word in _COMBINING)):
                continue
            yield from self._problems(call, schema, given, whole=whole)

    def named(self) -> Iterator[Told]:
        """Hold the names of arguments against those that the tool has."""
        for call in self._calls:
            parameters = {one.name: one for one in self._schemas[call.name].parameters}
            for argument in call.arguments if call.name in self._closed else ():
                if argument.name not in parameters:
                    yield self._unknown(call, argument)
            given = {one.name for one in call.arguments}
            missing = [name for name, one in parameters.items() if one.required and name not in given]
            if missing and not call.spread and not call.unnamed:
                names = ", ".join(visible(name, _LONGEST) for name in missing)
                yield self._told(call, "missing-argument", call.at, f"{names}: missing.")

    def _problems(
        self, call: Call, schema: ToolSchema, given: Mapping[str, Argument], *, whole: bool
    ) -> Iterator[Told]:
        for problem in schema.validate_arguments({name: one.value for name, one in given.items()}):
            argument = given.get(_first(problem.path))
            if problem.what in {"more", "unknown"}:
                # Of a name that is not known more is said elsewhere.
                continue
            if argument is None:
                # What is missing, or wrong with all of them together, is known only if all are known; and of
                # a name that is missing more is said elsewhere.
                if whole and problem.what != "missing":
                    yield self._told(call, "wrong-argument", call.at, str(problem))
                continue
            self._wrong.add(argument.at.begin)
            yield self._told(call, "wrong-argument", argument.at, str(problem))

    def told(self, one: Diagnostic) -> Told | None:
        """Say what a diagnostic means for a call of a tool; None if it is about something else."""
        named = _FUNCTION.search(one.message)
        if named is None or named.group(1) not in self._schemas:
            return None
        name = named.group(1)
        if one.rule == "missing-argument":
            return self._missing(one, name)
        call, argument = self._argument(one, name)
        told = None
        if call is not None and one.rule == "too-many-positional-arguments":
            self.misnamed.append(call.at)
            told = self._told(
                call, "unnamed-argument", call.at, "arguments of tools are named.", certain=not call.spread
            )
        elif call is not None and argument is not None and one.rule == "unknown-argument":
            told = self._unknown(call, argument)
        elif call is not None and argument is not None and one.rule == "invalid-argument-type":
            told = self._mistyped(one, call, argument)
        return told

    def _missing(self, one: Diagnostic, name: str) -> Told | None:
        found = _MISSING.match(one.message)
        for call in self._calls:
            if found is not None and call.name == name and call.at.begin == (one.line, one.column):
                names = ", ".join(_QUOTED.findall(found.group(1)))
                return self._told(
                    call, "missing-argument", call.at, f"{names}: missing.", certain=not call.spread
                )
        return None

    def _argument(self, one: Diagnostic, name: str) -> tuple[Call | None, Argument | None]:
        begin = (one.line, one.column)
        for call in self._calls:
            if call.name != name:
                continue
            for argument in call.arguments:
                if argument.at.begin == begin:
                    return call, argument
            if call.at.begin < begin < (call.at.end_line, call.at.end_column) and call.unnamed:
                return call, None
        return None, None

    def _unknown(self, call: Call, argument: Argument) -> Told:
        known = [one.name for one in self._schemas[call.name].parameters]
        near = nearest(argument.name, known)
        self.misnamed.append(call.at)
        return self._told(
            call,
            "unknown-argument",
            argument.at,
            f"{argument.name} is not an argument of {call.name}."
            + (f" Did you mean {' or '.join(near)}?" if near else ""),
        )

    def _mistyped(self, one: Diagnostic, call: Call, argument: Argument) -> Told | None:
        found = _FOUND.search(one.message)
        if argument.at.begin in self._wrong or found is None:
            return None
        schema = self._schemas[call.name]
        kind = _field_type(schema, argument.name)
        failing = [
            kind is not None and _cannot_be("dict" if one in self._records else one, kind)
            for one in members(found.group(1))
        ]
        told = self._told(
            call,
            "wrong-argument",
            argument.at,
            f"{argument.name}: expected {'something else' if kind is None else compact(kind)}, "
            f"received {visible(found.group(1), _LONGEST)}.",
            certain=all(failing) and not argument.said,
        )
        return replace(told, telling=any(failing))

    def _told(self, call: Call, rule: str, at: Place, wrong: str, *, certain: bool = True) -> Told:
        return Told(certain, rule, at, wrong, f"It takes: {self._schemas[call.name].format_compact()}")


def _first(path: str) -> str:
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def _field_type(schema: ToolSchema, name: str) -> Type | None:
    taken = schema.input_type
    if taken.kind != "object":
        return None
    return next((one.type for one in taken.fields if one.name == name), None)


def _cannot_be(member: str, kind: Type) -> bool:
    """Say whether no value of this Python type is one of that kind."""
    given = kind_of(member)
    if given is None:
        return False
    if given == "odd":
        return True
    choices = kind.members or (kind,)
    return all(_cannot_be_one(member, given, one) for one in choices)


def _cannot_be_one(member: str, given: str, kind: Type) -> bool:
    if kind.kind == "values":
        literals = literals_of(member)
        if literals is None:
            return all(_kind_of_value(value) != given for value in kind.values)
        return not any(_is_written(value, written) for value in kind.values for written in literals)
    if kind.kind not in {"string", "integer", "number", "boolean", "null", "array", "object"}:
        return False
    if given in {"integer", "number"} and kind.kind in {"integer", "number"}:
        # A float without a fraction is an integer to JSON.
        return False
    return given != kind.kind


def _kind_of_value(value: Any) -> str:
    if value is None:
        return "null"
    named = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object"}
    return named.get(type(value), "any")


def _is_written(value: Any, written: str) -> bool:
    """Say whether a literal, as ty writes it, may be this value; what is written with escapes may be any."""
    if isinstance(value, str):
        return written[:1] in {'"', "'"} and ("\\" in written or "…" in written or written[1:-1] == value)
    return written == str(value)
