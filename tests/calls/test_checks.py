"""Checking what somebody else wrote keeps nobody else waiting."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway
from halflap.calls import Breaches, Calls, Policy, Recorder
from halflap.calls.arguments import Validators
from halflap.catalog import Snapshot
from halflap.config import Config
from halflap.core.errors import InvalidArgumentsError, ToolBlockedError
from halflap.core.values import CallContext, Listing, Result, Tool
from halflap.store import open_store
from servers.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

MANY = 100_000
LONGEST_PAUSE = 0.3
"""In time that this process had a processor; what holds the loop holds it for a second."""


def patterned(count: int) -> dict[str, Any]:
    parts = {f"p{number}": {"type": "string", "pattern": f"^a{number}$"} for number in range(count)}
    return {"type": "object", "properties": parts}


def tool(schema: dict[str, Any], output: dict[str, Any] | None = None) -> Tool:
    return Tool("mcp__s__t", "s", "t", "", schema, output, hash="h")


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


SCHEMAS = {
    "too large to be compiled": patterned(MANY),
    "as large as is compiled": patterned(250),
    "contains itself": {"additionalProperties": {"anyOf": [{"type": "integer"}, {"$ref": "#"}]}},
}
ARGUMENTS = {f"p{number}": {"a": {f"k{inner}": inner for inner in range(200)}} for number in range(100)}


@pytest.mark.parametrize("name", SCHEMAS)
def test_arguments_are_checked_without_blocking_the_loop(run: Run, name: str) -> None:
    async def check() -> None:
        checks = Validators()
        for _ in range(2):
            try:
                await checks.check_arguments(tool(SCHEMAS[name]), ARGUMENTS)
            except InvalidArgumentsError:
                assert name != "too large to be compiled"

    assert run(pause_during(check)) < LONGEST_PAUSE


def test_results_are_checked_without_blocking_the_loop(run: Run) -> None:
    declared = tool({}, patterned(MANY))
    value = {f"p{number}": number for number in range(MANY)}
    result = Result(structured_content=value, has_structured_content=True)

    async def check() -> None:
        assert await Validators().breach(declared, result) is None

    assert run(pause_during(check)) < LONGEST_PAUSE


@pytest.mark.slow
def test_a_tool_too_large_to_be_checked_does_not_block_the_loop(
    run: Run,
) -> None:
    server = Memory({"name": "large", "description": "", "inputSchema": patterned(MANY)})

    async def scenario() -> dict[str, float]:
        async with Gateway.open({}, servers={"s": server}) as gateway:
            await gateway.refresh()
            name = "mcp__s__large"
            assert "more than 10,000 parts" in (await gateway.inspect(name))["unchecked"]
            assert (await gateway.call(name, p1="anything")).text == "called large"
            return {
                "inspect": await pause_during(lambda: gateway.inspect(name)),
                "call": await pause_during(lambda: gateway.call(name, p1="anything")),
                "tools": await pause_during(gateway.tools),
            }

    pauses = run(scenario())
    assert {step: pause for step, pause in pauses.items() if pause >= LONGEST_PAUSE} == {}


def test_a_mistake_at_the_end_of_a_large_argument_is_found(run: Run) -> None:
    schema = {"properties": {"a": {"items": {"type": "string"}}}}

    async def check() -> None:
        with pytest.raises(InvalidArgumentsError, match=r"a\[49999\]: expected string, received 7"):
            await Validators().check_arguments(tool(schema), {"a": ["x"] * 49_999 + [7]})

    run(check())


@pytest.mark.slow
def test_the_cache_of_compiled_schemas_is_bounded(run: Run) -> None:
    async def check() -> None:
        checks = Validators()
        schema = {"properties": {f"p{number}": {"type": "string"} for number in range(3_000)}}
        for number in range(20):
            one = Tool("mcp__s__t", "s", "t", "", schema, hash=str(number))
            await checks.check_arguments(one, {})
        assert 5 < len(checks._compiled) < 20
        assert checks._parts <= 100_000

    run(check())


class Source:
    """Has one tool, and lets something happen while it asks whether it may be called."""

    name = "s"

    def __init__(self, meanwhile: Callable[[], None]) -> None:
        self.meanwhile = meanwhile
        self.sent = 0

    async def list(self) -> Listing:
        return Listing("s", ())

    async def call(
        self,
        tool: str,  # noqa: ARG002 -- as the protocol has it
        arguments: Mapping[str, Any],  # noqa: ARG002 -- as above
        context: CallContext,  # noqa: ARG002 -- as above
        *,
        repeatable: bool,  # noqa: ARG002 -- as above
        admit: Callable[[], Coroutine[Any, Any, None]],
    ) -> Result:
        asked = asyncio.create_task(admit())
        await asyncio.sleep(0)
        self.meanwhile()
        await asked
        self.sent += 1
        return Result()


def test_a_tool_that_is_blocked_while_its_arguments_are_checked_is_not_called(run: Run) -> None:
    one = tool({"properties": {"a": {"items": {"type": "string"}}}})
    snapshots = [Snapshot(tools={one.name: one})]
    policy = Policy(Config.from_mapping({"servers": []}))
    source = Source(lambda: snapshots.append(replace(snapshots[0], blocked={one.name: "`tools.block`"})))

    async def scenario() -> None:
        store = await open_store(None)
        recorder = Recorder(store)
        calls = Calls(policy, recorder, lambda: snapshots[-1], Breaches(store))
        calls.register(source)
        with pytest.raises(ToolBlockedError):
            await calls.call(one.name, {"a": ["x"] * 50_000}, CallContext())
        await recorder.close()
        await store.close()

    run(scenario())
    assert source.sent == 0
