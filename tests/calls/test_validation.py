"""Arguments and results are validated: exactly, in bounded time, and without blocking anything else."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway
from halflap.calls.validation import Validators
from halflap.core.errors import InvalidArgumentsError
from halflap.core.values import Tool
from halflap.learn import is_name
from halflap.schema import Validator, try_compile
from servers.memory import Memory
from support import little_work

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

MANY = 100_000
LONGEST_PAUSE = 0.3
"""In time that this process had a processor; what blocks the loop blocks it for a second."""
NUMBER = {"type": "integer"}
UNUSED: Any = None


def patterned(count: int) -> dict[str, Any]:
    parts = {f"p{number}": {"type": "string", "pattern": f"^a{number}$"} for number in range(count)}
    return {"type": "object", "properties": parts}


def tool(schema: dict[str, Any], digest: str = "h") -> Tool:
    return Tool("mcp__s__t", "s", "t", "", schema, hash=digest)


async def pause_during(work: Callable[[], Coroutine[Any, Any, Any]]) -> float:
    """Return the longest stretch of work during which nothing else could run; of three attempts, the least."""
    pauses = []
    for _ in range(3):
        longest, last = 0.0, time.process_time()
        task = asyncio.create_task(work())
        while not task.done():
            await asyncio.sleep(0.001)
            now = time.process_time()
            longest, last = max(longest, now - last), now
        await task
        pauses.append(longest)
        if longest < LONGEST_PAUSE:
            break
    return min(pauses)


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "too large to be compiled": lambda: patterned(MANY),
    "as large as is compiled": lambda: patterned(250),
    "contains itself": lambda: {"additionalProperties": {"anyOf": [{"type": "integer"}, {"$ref": "#"}]}},
}
ARGUMENTS = {f"p{number}": {"a": {f"k{inner}": inner for inner in range(200)}} for number in range(100)}


@pytest.mark.parametrize("name", SCHEMAS)
async def test_arguments_are_checked_without_blocking_the_loop(name: str) -> None:
    schema = SCHEMAS[name]()

    async def check() -> None:
        validators = Validators(UNUSED)
        for _ in range(2):
            try:
                await validators.check_arguments(tool(schema), ARGUMENTS)
            except InvalidArgumentsError:
                assert name != "too large to be compiled"

    assert await pause_during(check) < LONGEST_PAUSE


def circle() -> dict[str, Any]:
    made: dict[str, Any] = {"a": "x"}
    made["b"] = made
    return made


ODD: list[Any] = [
    {"a": {1, 2}, "b": "x"},
    {"a": 1, "b": "\ud800"},
    {1: 2, "a": "x", "b": 1},
    {"a": math.nan, "b": 1},
    None,
    [1, 2],
    circle(),
]
ADD = {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}, "required": ["a", "b"]}


async def test_a_call_refuses_exactly_what_validation_reports_whatever_value_it_gets() -> None:
    server = Memory({"name": "add", "inputSchema": ADD})
    async with Gateway.open({}, servers={"s": server}) as gateway:
        await gateway.refresh()
        with little_work(20):
            for arguments in ODD:
                problems = await gateway.validate_arguments("mcp__s__add", arguments)
                assert len(problems) == 1, arguments
                with pytest.raises(InvalidArgumentsError) as caught:
                    await gateway.call_tool("mcp__s__add", arguments)
                assert list(caught.value.problems) == problems
    assert server.calls == []


# Where results break their declaration is stored and shown to everyone, so no data may be in it.


def places(schema: dict[str, Any], value: Any) -> list[tuple[str, str]]:
    validator = try_compile(schema)
    assert isinstance(validator, Validator)
    return [(one.path, one.expected) for one in validator.problems(value, is_name=is_name)]


def test_a_key_that_is_not_allowed_is_named_if_it_is_a_name() -> None:
    row = {"properties": {"total": NUMBER, "first name": NUMBER}, "additionalProperties": False}
    value = {"orders": [{"total": "x"}, {"discount": 1}, {"j@x.de": 1}, {"first name": "y"}]}
    found = places({"properties": {"orders": {"items": row}}}, value)
    assert [path for path, _ in found] == [
        *("orders[].total", "orders[].discount", "orders[][key]", 'orders[]["first name"]')
    ]


NESTED = {"additionalProperties": {"anyOf": [NUMBER, {"additionalProperties": NUMBER}]}}
EITHER = {"anyOf": [{"additionalProperties": NUMBER}, {"properties": {"n": NUMBER}, "required": ["n"]}]}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"by": {"patternProperties": {".": NUMBER}}}}, {"by": {"alice": "secret"}}),
        ({"propertyNames": {"maxLength": 3}}, {"alice": 1}),
        (NESTED, {"alice": {"alice": "secret"}}),
        (EITHER, {"alice": "secret"}),
        ({"additionalProperties": {"format": "date", "pattern": "^q"}}, {"alice": "secret"}),
    ],
)
def test_the_place_of_a_breach_quotes_no_data(schema: dict[str, Any], value: Any) -> None:
    found = str(places(schema, value))
    assert "alice" not in found
    assert "secret" not in found
