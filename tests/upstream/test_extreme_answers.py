"""Valid JSON that readers choke on costs only the tool or call that it is about."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway, ToolNotFoundError
from halflap.config import ServerConfig
from halflap.core.errors import ToolFailedError
from halflap.upstream.log import ServerLog
from halflap.upstream.message import CUT, read_message
from halflap.upstream.reason import explain
from halflap.upstream.wire import Wire
from support import SERVERS, python_server, some

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


def extreme(depth: int, *tools: str) -> dict[str, Any]:
    limits = {"start_timeout_seconds": 60, "call_timeout_seconds": 60}
    server = python_server("x", "extreme.py", str(depth), *tools, protocol="legacy", **limits)
    return {"servers": [server]}


def nested(value: Any) -> int:
    depth = 0
    while isinstance(value, list):
        value, depth = value[0], depth + 1
    return depth


def test_tools_with_odd_schemas_are_kept_and_can_be_called(run: Run) -> None:
    names = ["deep", "half", "large", "nan"]

    async def scenario() -> None:
        async with Gateway.open(extreme(150, *names)) as gateway:
            assert [tool.original_name for tool in await gateway.tools()] == sorted([*names, "good"])
            for name in names:
                assert (await gateway.inspect(f"mcp__x__{name}"))["originalName"] == name
                assert (await gateway.call(f"mcp__x__{name}")).structured_content["value"]

    run(scenario())


@pytest.mark.parametrize("depth", [200, 3_000])
def test_a_tool_whose_schema_cannot_be_kept_is_left_out_by_name(run: Run, depth: int) -> None:
    async def scenario() -> None:
        # Half of a surrogate pair beside it: that one needs another reader.
        async with Gateway.open(extreme(depth, "deep", "digits", "half")) as gateway:
            assert [tool.original_name for tool in await gateway.tools()] == ["good", "half"]
            (report,) = await gateway.reports()
            deep, digits = report.status.warnings
            assert "'deep'" in deep
            assert "320 levels" in deep
            assert "'digits'" in digits
            assert "4,000 digits" in digits
            with pytest.raises(ToolNotFoundError):
                await gateway.call("mcp__x__deep")

    run(scenario())


@pytest.mark.parametrize("depth", some([700, 10, 150], every=3))
def test_a_deep_result_is_delivered(run: Run, depth: int) -> None:
    async def scenario() -> None:
        async with Gateway.open(extreme(depth, "answers_deep")) as gateway:
            result = await gateway.call("mcp__x__answers_deep")
            assert nested(result.structured_content["value"]) == depth

    run(scenario())


def test_a_result_that_cannot_be_held_is_an_error_of_that_call_alone(run: Run) -> None:
    async def scenario() -> None:
        names = ("answers_deep", "answers_digits", "answers_progress", "good")
        async with Gateway.open(extreme(3_000, *names[:-1])) as gateway:
            deep, digits, progress, good = await asyncio.gather(
                *(gateway.call(f"mcp__x__{name}") for name in names), return_exceptions=True
            )
            assert isinstance(deep, ToolFailedError)
            assert "nested" in str(deep)
            assert isinstance(digits, ToolFailedError)
            assert "digits" in str(digits)
            # Progress beyond any number does no harm.
            assert progress.structured_content["value"] == "fine"  # type: ignore[union-attr]
            assert good.structured_content == {"value": "fine"}  # type: ignore[union-attr]
            (report,) = await gateway.reports()
            assert (report.status.state, report.status.starts) == ("ready", 1)

    run(scenario())


def test_over_http_an_odd_tool_takes_no_other_away_either(run: Run) -> None:
    async def scenario(url: str) -> None:
        server = {"name": "x", "url": url, "protocol": "legacy", "start_timeout_seconds": 60}
        async with Gateway.open({"servers": [server]}) as gateway:
            assert [tool.original_name for tool in await gateway.tools()] == ["deep", "good", "half", "nan"]

    command = [sys.executable, str(SERVERS / "extreme.py"), "--http", "150", "deep", "half", "nan", "digits"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            run(scenario(process.stdout.readline().strip()))
        finally:
            process.kill()


def test_the_reason_is_the_answer_and_not_that_we_ended_the_process(tmp_path: Path) -> None:
    server = ServerConfig(name="x", transport="stdio", command="x")
    wire = Wire(trouble="its process ended by signal SIGTERM.")
    _, reason = explain(RuntimeError("Unsupported version"), server, wire, ServerLog(tmp_path, "x"))
    assert reason.startswith("its answer cannot be used: Unsupported version.")


def test_what_lies_beside_the_too_deep_is_read() -> None:
    deep = "[" * 2_000 + '"]"' + "]" * 2_000
    line = f'{{"id":7,"result":{{"a":"[[","deep":{deep},"b":["\\"]",1]}}}}'.encode()
    message: Any = read_message(line)
    assert (message.id, message.result["a"], message.result["b"]) == (7, "[[", ['"]', 1])
    assert CUT in message.result


def test_halves_of_pairs_are_marked_in_keys_and_values_and_whole_pairs_stay() -> None:
    line = json.dumps({"id": 7, "result": {"\ud800": ["\udc00x", {"a": "😀"}]}}).encode()
    message: Any = read_message(line)
    assert message.result == {"?": ["?x", {"a": "😀"}]}
