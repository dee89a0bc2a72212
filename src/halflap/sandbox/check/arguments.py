"""Arguments of tool calls that certainly do not fit: by name, by a value in the program's text, or by type."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.core.text import visible
from halflap.sandbox.check.keys import Verdict, meant
from halflap.schema import compact

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from halflap.sandbox.check.answer import Argument, ToolCall, Use
    from halflap.sandbox.check.inside.edits import Place
    from halflap.sandbox.check.probes import Probes, Types
    from halflap.schema import ToolSchema, Type

__all__ = ["Arguments"]

_COMBINING = ("anyOf", "oneOf", "allOf", "not", "if", "dependentRequired", "dependentSchemas", "$ref")
"""With these, whether an argument fits may depend on the others."""
_PYTHON: dict[str, Types] = {
    "string": ("str",),
    "number": ("int", "float"),
    "boolean": ("bool",),
    "null": ("None",),
    "array": ("list[Any]", "tuple[Any, ...]"),
    "object": ("dict[Any, Any]", "HalflapObject"),
}
_NO_JSON: Types = (
    "set[Any]",
    "frozenset[Any]",
    "bytes",
    "complex",
    "range",
    "BaseException",
    "Awaitable[Any]",
)
_MAX_NAME = 200


class Wrong(NamedTuple):
    """A mistake in a call."""

    at: Place
    rule: str
    wrong: str
    right: str


class Arguments:
    """Judges the arguments of tool calls by the tools' schemas."""

    def __init__(self, schemas: Mapping[str, ToolSchema], closed: Collection[str], probes: Probes) -> None:
        self._schemas = schemas
        self._closed = closed
        """The tools that take no other arguments than those that they name."""
        self._probes = probes

    def mistakes(self, call: ToolCall) -> Iterator[Wrong]:
        """Yield what is wrong with a call by its text alone."""
        schema = self._schemas.get(call.name)
        if schema is None:
            return
        takes = f"It takes: {schema.format_compact()}"
        named = {self._name(call, one): one for one in call.arguments}
        if "" in named:
            # One unnamed argument is for the one parameter that it can be for.
            yield Wrong(call.at, "unnamed-argument", "arguments of tools are named.", takes)
            return
        known = {one.name: one for one in schema.parameters}
        unknown = [] if call.name not in self._closed else [name for name in named if name not in known]
        for name in unknown:
            near = meant(name, known)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            yield Wrong(
                named[name].at, "unknown-argument", f"{name} is not an argument of {call.name}.{hint}", takes
            )
        missing = [name for name, one in known.items() if one.required and name not in named]
        if missing and not call.more and not unknown:
            names = ", ".join(visible(name, _MAX_NAME) for name in missing)
            yield Wrong(call.at, "missing-argument", f"{names}: missing.", takes)
        for at, problem in self._problems(call, schema, named):
            yield Wrong(at, "wrong-argument", problem, takes)

    def _name(self, call: ToolCall, argument: Argument) -> str:
        unnamed = [one for one in call.arguments if not one.name]
        is_only = len(unnamed) == 1 and not call.by_text
        return argument.name or (self._schemas[call.name].positional or "" if is_only else "")

    def _problems(
        self, call: ToolCall, schema: ToolSchema, named: Mapping[str, Argument]
    ) -> Iterator[tuple[Place, str]]:
        """Validate the values that stand in the program against the whole schema, patterns and bounds included."""
        first = {name: one.values[0].value for name, one in named.items() if one.values}
        whole = len(first) == len(call.arguments) and not call.more
        if not first or (not whole and any(word in schema.raw_schema for word in _COMBINING)):
            return
        for problem in schema.validate_arguments(first):
            argument = named.get(_first(problem.path))
            if problem.what in {"more", "unknown"}:
                continue
            if argument is not None and argument.values:
                yield argument.values[0].at, str(problem)
            elif whole and problem.what != "missing":
                yield call.at, str(problem)
        for name, argument in named.items():
            for other in argument.values[1:]:
                for problem in schema.validate_arguments({**first, name: other.value}):
                    if _first(problem.path) == name:
                        yield other.at, str(problem)

    def by_type(self, calls: Collection[ToolCall], use: Use) -> Verdict | None:
        """Judge an argument whose type ty objects to."""
        call, argument = next(
            ((call, one) for call in calls for one in call.arguments if one.at == use.at), (None, None)
        )
        if call is None or argument is None or argument.values or call.name not in self._schemas:
            return None
        schema = self._schemas[call.name]
        name = self._name(call, argument)
        kind = next((one.type for one in schema.input_type.fields if one.name == name), None)
        if kind is None:
            return None
        fits = _fitting(kind)
        if fits is None:
            return None
        unfit = tuple(one for json, types in _PYTHON.items() if json not in fits for one in types)
        fitting = tuple(one for json in fits for one in _PYTHON[json])
        certain = self._probes.all_are(use.value, unfit + _NO_JSON, but=fitting)
        found = self._probes.members(use.value, [*_PYTHON.values()], (*_NO_JSON, "HalflapMaybe"))
        received = [json for number, json in enumerate(_PYTHON) if number in found and json not in fits]
        if not certain and not received:
            # That a string may not be one of an enum's values is not worth a word.
            return None
        shown = " or ".join(received) or "something else"
        return Verdict(
            certain and not use.guarded,
            "wrong-argument",
            f"{visible(name, _MAX_NAME)}: expected {compact(kind)}, received {shown}.",
            f"It takes: {schema.format_compact()}",
        )


def _fitting(kind: Type) -> list[str] | None:
    """Return which of JSON's kinds a type allows; None if that is not known."""
    fits: dict[str, None] = {}
    for one in kind.members or (kind,):
        if one.kind == "values":
            fits |= dict.fromkeys(map(_kind_of, one.values))
        elif one.kind in {"integer", "number"}:
            # A float without a fraction is an integer to JSON.
            fits["number"] = None
        elif one.kind in _PYTHON:
            fits[one.kind] = None
        else:
            return None
    return list(fits)


def _kind_of(value: Any) -> str:
    kinds = {
        str: "string",
        bool: "boolean",
        int: "number",
        float: "number",
        list: "array",
        type(None): "null",
    }
    return kinds.get(type(value), "object")


def _first(path: str) -> str:
    return re.split(r"[.\[]", path, maxsplit=1)[0]
