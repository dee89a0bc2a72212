"""Tool calls whose arguments certainly do not fit the tool's schema: by their names, or by literal values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from halflap.core.suggest import did_you_mean
from halflap.core.text import visible
from halflap.sandbox.check.inside.answer import Verdict

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.answer import Argument, Place, ToolCall
    from halflap.schema import ToolSchema

_COMBINING = ("anyOf", "oneOf", "allOf", "not", "if", "dependentRequired", "dependentSchemas", "$ref")
"""With these, whether an argument fits may depend on the others."""
_MAX_NAME = 200


def call_mistakes(call: ToolCall, schema: ToolSchema, *, closed: bool) -> Iterator[tuple[Place, Verdict]]:
    """Yield the mistakes in a call of a tool; `closed` is whether it takes no other arguments than its schema names."""
    found = sorted(_mistakes(call, schema, closed=closed))
    for number, (at, rule, wrong) in enumerate(found, 1):
        # Once is enough: it may be long.
        right = f"It takes: {schema.format_compact()}" if number == len(found) else ""
        yield at, Verdict(True, rule, wrong, right)


def _mistakes(call: ToolCall, schema: ToolSchema, *, closed: bool) -> Iterator[tuple[Place, str, str]]:
    """Yield place, rule, and what is wrong."""
    unnamed = [one for one in call.arguments if not one.name]
    positional = schema.positional if len(unnamed) == 1 and not call.by_text else None
    if unnamed and not positional:
        # One unnamed argument is for the one parameter that it can be for.
        yield call.at, "unnamed-argument", "Tools take keyword arguments only."
        return
    if positional and any(_is_for(schema, positional, value) for value, _ in unnamed[0].values):
        wrong = f"Tools take keyword arguments, not a dict: {call.name}({positional}=…)."
        yield call.at, "unnamed-argument", wrong
        return
    named = {one.name or positional or "": one for one in call.arguments}
    known = {one.name: one for one in schema.parameters}
    unknown = [name for name in named if name not in known] if closed else []
    for name in unknown:
        wrong = f"{visible(name, _MAX_NAME)} is not an argument of {call.name}. {did_you_mean(name, known)}"
        yield named[name].at, "unknown-argument", wrong.rstrip()
    missing = [name for name, one in known.items() if one.required and name not in named]
    if missing and not call.more and not unknown:
        names = ", ".join(visible(name, _MAX_NAME) for name in missing)
        yield call.at, "missing-argument", f"{names}: missing."
    problems: dict[Place, list[str]] = {}
    for at, problem in _problems(call, schema, named):
        problems.setdefault(at, []).append(problem)
    yield from ((at, "wrong-argument", "; ".join(texts)) for at, texts in problems.items())


def _is_for(schema: ToolSchema, name: str, value: Any) -> bool:
    """Return whether a value is a dict that has the argument, instead of being the argument."""
    return isinstance(value, dict) and name in value and bool(schema.validate_arguments({name: value}))


def _problems(
    call: ToolCall, schema: ToolSchema, named: Mapping[str, Argument]
) -> Iterator[tuple[Place, str]]:
    """Validate literal values against the whole schema, patterns and bounds included."""
    first = {name: one.values[0][0] for name, one in named.items() if one.values}
    whole = len(first) == len(call.arguments) and not call.more
    if not first or (not whole and any(word in schema.raw_schema for word in _COMBINING)):
        return
    for problem in schema.validate_arguments(first):
        argument = named.get(_first(problem.path))
        if problem.what in {"more", "unknown"}:
            continue
        if argument is not None and argument.values:
            yield argument.values[0][1], str(problem)
        elif whole and problem.what != "missing":
            yield call.at, str(problem)
    for name, argument in named.items():
        for value, at in argument.values[1:]:
            for problem in schema.validate_arguments({**first, name: value}):
                if _first(problem.path) == name:
                    yield at, str(problem)


def _first(path: str) -> str:
    return re.split(r"[.\[]", path, maxsplit=1)[0]
