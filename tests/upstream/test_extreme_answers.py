"""Valid JSON that readers choke on: it costs the one tool or call that it is about."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway, ToolNotFoundError
from halflap.config import ServerConfig
from halflap.errors import ToolFailedError
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


@pytest.mark.parametrize(
    ("depth", "name"), [(150, "deep"), (30, "nan"), (30, "half"), (30, "large")], ids=str
)
def test_a_tool_whose_schema_is_odd_is_kept_with_the_others(run: Run, depth: int, name: str) -> None:
    async def scenario() -> None:
        async with Gateway.open(extreme(depth, name)) as gateway:
            assert [tool.original_name for tool in await gateway.tools()] == sorted([name, "good"])
            assert (await gateway.inspect(f"mcp__x__{name}"))["originalName"] == name
            assert (await gateway.call(f"mcp__x__{name}")).structured_content["value"]

    run(scenario())


@pytest.mark.parametrize(
    ("depth", "name", "why"),
    [(200, "deep", "more than 320 levels"), (3_000, "deep", "320 levels"), (30, "digits", "4,000 digits")],
)
def test_a_tool_whose_schema_cannot_be_kept_is_left_out_by_name(
    run: Run, depth: int, name: str, why: str
) -> None:
    async def scenario() -> None:
        # Half of a surrogate pair beside it: that one needs another reader.
        async with Gateway.open(extreme(depth, name, "half")) as gateway:
            assert [tool.original_name for tool in await gateway.tools()] == ["good", "half"]
            (report,) = await gateway.reports()
            (warning,) = report.status.warnings
            assert warning.startswith(f"tool {name!r} was left out: ")
            assert why in warning

    run(scenario())


@pytest.mark.parametrize("depth", some([10, 150, 700], every=2))
def test_a_deep_result_is_delivered(run: Run, depth: int) -> None:
    async def scenario() -> None:
        async with Gateway.open(extreme(depth, "answers_deep")) as gateway:
            result = await gateway.call("mcp__x__answers_deep")
            assert nested(result.structured_content["value"]) == depth

    run(scenario())


@pytest.mark.parametrize(("name", "why"), [("deep", "nested too deeply"), ("digits", "too many digits")])
def test_a_result_that_cannot_be_held_is_an_error_of_that_call_alone(run: Run, name: str, why: str) -> None:
    async def scenario() -> None:
        async with Gateway.open(extreme(3_000, f"answers_{name}")) as gateway:
            odd, good = await asyncio.gather(
                gateway.call(f"mcp__x__answers_{name}"), gateway.call("mcp__x__good"), return_exceptions=True
            )
            assert isinstance(odd, ToolFailedError)
            assert why in str(odd)
            assert good.structured_content == {"value": "fine"}  # type: ignore[union-attr]
            (report,) = await gateway.reports()
            assert (report.status.state, report.status.starts) == ("ready", 1)

    run(scenario())


def test_progress_beyond_any_number_does_not_end_the_session(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(extreme(10, "answers_progress")) as gateway:
            for _ in range(2):
                assert (await gateway.call("mcp__x__answers_progress")).structured_content["value"] == "fine"
            (report,) = await gateway.reports()
            assert report.status.starts == 1

    run(scenario())


@pytest.mark.parametrize("name", ["deep", "half", "nan", "digits"])
def test_over_http_an_odd_tool_takes_no_other_away_either(run: Run, name: str) -> None:
    async def scenario(url: str) -> None:
        server = {"name": "x", "url": url, "protocol": "legacy", "start_timeout_seconds": 60}
        async with Gateway.open({"servers": [server]}) as gateway:
            expected = ["good"] if name == "digits" else sorted([name, "good"])
            assert [tool.original_name for tool in await gateway.tools()] == expected

    command = [sys.executable, str(SERVERS / "extreme.py"), "--http", "150", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            run(scenario(process.stdout.readline().strip()))
        finally:
            process.kill()


def test_what_is_not_listed_is_still_not_found(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(extreme(3_000, "deep")) as gateway:
            with pytest.raises(ToolNotFoundError):
                await gateway.call("mcp__x__deep")

    run(scenario())


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
