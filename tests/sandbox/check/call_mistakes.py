"""Mistakes in calling a tool: its name, its arguments, its `await`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from sandbox.check.misspell import misspellings
from sandbox.check.source import Edit
from sandbox.check.subject import Mistake

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from sandbox.check.subject import Subject

__all__ = [
    "dropped_arguments",
    "removed_awaits",
    "renamed_arguments",
    "wrong_enum_values",
    "wrong_tool_names",
    "wrong_types",
]

_PREFIX = "mcp__"
_MOST_WRONG_VALUES = 3
_OTHER_WORDS = ("other", "all", "default")


def dropped_arguments(subject: Subject, _random: Random) -> Iterator[Mistake]:
    """Leave out an argument that is required, where nothing else in the call could give it."""
    source = subject.source
    for call, tool in subject.calls():
        if any(keyword.arg is None for keyword in call.keywords):
            continue
        for at, keyword in enumerate(call.keywords):
            span = source.span(keyword)
            if span is None or keyword.arg not in subject.schemas[tool].required_params:
                continue
            start, end = span
            following = source.span(call.keywords[at + 1]) if at + 1 < len(call.keywords) else None
            preceding = source.span(call.keywords[at - 1]) if at else None
            if following is not None:
                end = following[0]
            elif preceding is not None:
                start = preceding[1]
            yield Mistake(Edit(start, end, ""), f"{keyword.arg} is left out", tool)


def renamed_arguments(subject: Subject, random: Random) -> Iterator[Mistake]:
    """Give an argument under a name that the tool does not take."""
    for call, tool in subject.calls():
        for keyword in call.keywords:
            span = subject.source.span(keyword)
            if span is None or keyword.arg is None:
                continue
            for how, new in misspellings(keyword.arg, random):
                if new.isidentifier() and new not in subject.words:
                    edit = Edit(span[0], span[0] + len(keyword.arg.encode()), new)
                    yield Mistake(edit, f"argument {keyword.arg} is called {new}: {how}", tool)
                    break


def wrong_types(subject: Subject, random: Random) -> Iterator[Mistake]:
    """Give a literal argument as another type, one that the tool's schema refuses."""
    for tool, keyword, value in _literals(subject):
        others = [other for other in _of_other_types(value) if _refused(subject, tool, keyword.arg, other)]
        span = subject.source.span(keyword.value)
        if others and span is not None:
            text = repr(random.choice(others))
            yield Mistake(Edit(*span, text), f"{keyword.arg} is {text}", tool)


def wrong_enum_values(subject: Subject, random: Random) -> Iterator[Mistake]:
    """Give a literal argument a value that is none of those that the tool takes."""
    for tool, keyword, value in _literals(subject):
        allowed = next(one.enum for one in subject.schemas[tool].parameters if one.name == keyword.arg)
        span = subject.source.span(keyword.value)
        if not allowed or span is None or value not in allowed:
            continue
        others: list[tuple[str, Any]] = [("another number", value + 1)] if isinstance(value, int) else []
        if isinstance(value, str) and value.isascii() and value[:1].isalpha():
            others = [
                *misspellings(value, random),
                ("upper case", value.upper()),
                ("another word", random.choice(_OTHER_WORDS)),
            ]
            random.shuffle(others)
        wrong = [
            one for one in others if one[1] not in allowed and _refused(subject, tool, keyword.arg, one[1])
        ]
        for how, other in wrong[:_MOST_WRONG_VALUES]:
            yield Mistake(Edit(*span, _quoted(other)), f"{keyword.arg} is {other!r}: {how}", tool)


def removed_awaits(subject: Subject, _random: Random) -> Iterator[Mistake]:
    """Forget the `await` before the call of a tool."""
    for call, tool in subject.calls():
        awaited = subject.source.parents[call]
        if isinstance(awaited, ast.Await):
            outer, inner = subject.source.span(awaited), subject.source.span(call)
            if outer is not None and inner is not None:
                yield Mistake(Edit(outer[0], inner[0], ""), "the await is left out", tool)


def wrong_tool_names(subject: Subject, random: Random) -> Iterator[Mistake]:
    """Name a tool that there is not."""
    for node in subject.source.walk():
        if not isinstance(node, ast.Name) or not subject.is_tool(node):
            continue
        span = subject.source.span(node)
        server, _, own = node.id.removeprefix(_PREFIX).partition("__")
        for how, new in misspellings(own, random):
            name = f"{_PREFIX}{server}__{new}"
            if span is not None and name.isidentifier() and name not in subject.words:
                yield Mistake(Edit(*span, name), f"{node.id} is called {name}: {how}", node.id)
                break


def _literals(subject: Subject) -> Iterator[tuple[str, ast.keyword, Any]]:
    """Give the arguments that are written out, of parameters that the tool knows."""
    for call, tool in subject.calls():
        known = {parameter.name for parameter in subject.schemas[tool].parameters}
        for keyword in call.keywords:
            if keyword.arg in known:
                try:
                    value = ast.literal_eval(keyword.value)
                except ValueError:
                    continue
                yield tool, keyword, value


def _of_other_types(value: Any) -> list[Any]:
    """Give what somebody might write instead who has the type wrong."""
    match value:
        case bool():
            return ["yes" if value else "no", None]
        case int() | float():
            return [str(value), None, [value]]
        case str():
            return [7, None, [value], {"value": value}]
        case list():
            return [value[0] if value else "", ", ".join(map(str, value)), None]
        case dict():
            return [[value], str(value), None]
    return [7, ["any"]]


def _refused(subject: Subject, tool: str, name: str | None, value: Any) -> bool:
    problems = subject.schemas[tool].validate_arguments({name: value} if name else {})
    return any(problem.path.startswith(str(name)) for problem in problems)


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
