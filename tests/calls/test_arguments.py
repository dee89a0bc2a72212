"""A call refuses what `validate_arguments` reports, whatever Python value is given."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway
from halflap.core.errors import InvalidArgumentsError
from servers.memory import Memory
from support import little_work

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

NAME = "mcp__s__add"
NUMBER = {"type": "integer"}
ADD = {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}, "required": ["a", "b"]}


class Word(str):
    __slots__ = ()


def circle() -> dict[str, Any]:
    made: dict[str, Any] = {"a": "x"}
    made["b"] = made
    return made


ARGUMENTS: dict[str, tuple[Any, int]] = {
    "a set, and one of a wrong type": ({"a": {1, 2}, "b": "x"}, 1),
    "bytes, and one that is missing": ({"a": b"x"}, 1),
    "half a letter": ({"a": 1, "b": "\ud800"}, 1),
    "a key that is a number": ({1: 2, "a": "x", "b": 1}, 1),
    "no number of JSON's": ({"a": math.nan, "b": 1}, 1),
    "nothing": (None, 1),
    "a list": ([1, 2], 1),
    "one that contains itself": (circle(), 1),
    "a text of a type of its own": ({"a": Word("x"), "b": 1}, 1),
}


def test_a_call_refuses_exactly_what_validation_reports(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open({}, servers={"s": Memory({"name": "add", "inputSchema": ADD})}) as gateway:
            await gateway.refresh()
            with little_work(20):
                for name, (arguments, count) in ARGUMENTS.items():
                    problems = await gateway.validate_arguments(NAME, arguments)
                    assert len(problems) == count, name
                    with pytest.raises(InvalidArgumentsError) as caught:
                        await gateway.call_tool(NAME, arguments)
                    assert list(caught.value.problems) == problems, name

    run(scenario())


def test_a_schema_that_is_never_checked_says_so_where_the_tool_is_inspected(run: Run) -> None:
    bombs = {}
    for word in ("allOf", "anyOf"):
        parts: dict[str, Any] = {"d0": {"type": "string"}}
        for level in range(1, 31):
            parts[f"d{level}"] = {word: [{"$ref": f"#/$defs/d{level - 1}"}] * 2}
        bombs[word] = {"type": "object", "properties": {"a": {"$ref": "#/$defs/d30"}}, "$defs": parts}
    tools = [{"name": name, "description": "", "inputSchema": schema} for name, schema in bombs.items()]

    async def scenario() -> None:
        async with Gateway.open({}, servers={"s": Memory(*tools)}) as gateway:
            await gateway.refresh()
            for word in bombs:
                assert await gateway.validate_arguments(f"mcp__s__{word}", {"a": 1}) == []
                assert 'with "a" in them' in (await gateway.inspect(f"mcp__s__{word}"))["unchecked"]

    run(scenario())
