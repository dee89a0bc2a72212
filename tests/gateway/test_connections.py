from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap import CallContext, Gateway, ToolNotFoundError
from halflap.errors import (
    CallTimeoutError,
    InvalidArgumentsError,
    ToolFailedError,
    UpstreamLostError,
    UpstreamUnavailableError,
)
from support import alive, comes, eventually, python_server, some, under_way

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


def config(*servers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"servers": list(servers), **more}


ECHO = python_server("echo", "swift.py", protocol="legacy")
WITH_LIBRARY = python_server("echo", "echo.py")
OLD = python_server("old", "legacy.py", protocol="legacy")


def test_nothing_starts_before_it_is_needed(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            (report,) = await gateway.reports()
            assert report.status.state == "idle"

    run(scenario())


def test_a_session_is_kept_and_shared_by_all_calls(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            results = await asyncio.gather(*(gateway.call("mcp__echo__pid") for _ in range(5)))
            assert len({result.text for result in results}) == 1

    run(scenario())


def test_servers_start_in_parallel(run: Run, tmp_path: Path) -> None:
    (tmp_path / "started").mkdir()

    async def scenario() -> None:
        # None is ready before all have been started.
        each = [
            python_server(f"slow{number}", "slow.py", str(tmp_path / "started"), "3", protocol="legacy")
            for number in range(3)
        ]
        async with Gateway.open(config(*each)) as gateway:
            assert len(await gateway.tools()) == 3

    run(scenario())


def test_a_server_that_hangs_delays_no_other(run: Run) -> None:
    async def scenario() -> None:
        hang = python_server("hang", "hang.py", start_timeout_seconds=1_000)
        async with Gateway.open(config(hang, ECHO)) as gateway:
            await gateway.call("mcp__echo__echo", text="hello")
            names = [tool.name for tool in await gateway.tools()]
            assert "mcp__echo__echo" in names
            # Had anybody waited for it, it would not be.
            assert "starting" in gateway.unavailable()["hang"]

    run(scenario())


def test_a_server_that_hangs_is_marked_unavailable_with_the_reason(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(
            config(python_server("hang", "hang.py", start_timeout_seconds=0.5))
        ) as gateway:
            await gateway.refresh()
            assert "did not get ready within 0.5 s" in gateway.unavailable()["hang"]

    run(scenario())


def test_a_server_that_stops_answering_after_its_greeting_does_not_hang_us(run: Run) -> None:
    async def scenario() -> None:
        server = python_server(
            "hang", "hang.py", "--after-initialize", start_timeout_seconds=1, protocol="legacy"
        )
        async with Gateway.open(config(server)) as gateway:
            await gateway.refresh()
            assert "did not get ready" in gateway.unavailable()["hang"]

    run(scenario())


def test_a_server_that_dies_at_start_is_reported_with_its_exit_code_and_last_words(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(python_server("dies", "dies_at_start.py"))) as gateway:
            await gateway.refresh()
            reason = gateway.unavailable()["dies"]
            assert "exit code 7" in reason
            assert "licence file is missing" in reason

    run(scenario())


@pytest.mark.parametrize(
    ("kind", "protocol", "reason"),
    [
        ("greeting", "auto", "it did not agree to talk: API key missing: set FOO_API_KEY (code -32603)."),
        ("greeting", "legacy", "it did not agree to talk: API key missing: set FOO_API_KEY (code -32603)."),
        ("list", "legacy", "it did not list its tools: upstream 500 (code -32000)."),
        ("old", "legacy", "its answer cannot be used: Unsupported protocol version from the server: 1999-01-01."),
        ("echo", "auto", 'it does not speak MCP over stdio: it sent back what it was sent ({"jsonrpc":'),
        ("text", "auto", "it does not seem to speak MCP over stdio: within 3 s it answered nothing, and wrote"),
    ],
)  # fmt: skip
def test_the_first_cause_is_told_and_not_how_the_process_was_ended_after_it(
    run: Run, kind: str, protocol: str, reason: str
) -> None:
    async def scenario() -> None:
        server = python_server(
            "no", "unwilling.py", kind, protocol=protocol, start_timeout_seconds=3 if kind == "text" else 60
        )
        async with Gateway.open(config(server)) as gateway:
            with pytest.raises(ToolNotFoundError) as refused:
                await gateway.call("mcp__no__x")
            assert gateway.unavailable()["no"].startswith(reason)
            assert reason in str(refused.value)
            assert "SIGTERM" not in str(refused.value)
            assert (kind == "text") == (
                "wrote to its stdout: Welcome! | listening on 3000" in str(refused.value)
            )

    run(scenario())


def test_a_command_that_is_not_there_is_reported_with_what_to_do(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config({"name": "nope", "command": "no-such-program"})) as gateway:
            with pytest.raises(ToolNotFoundError, match=r"'no-such-program' was not found\. Install it"):
                await gateway.call("mcp__nope__x")

    run(scenario())


def test_a_folder_that_is_not_there_is_told_from_a_command_that_is_not(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(
            config({"name": "nope", "command": "cat", "cwd": "/no/such/folder"})
        ) as gateway:
            await gateway.refresh()
            assert "cwd: /no/such/folder" in gateway.unavailable()["nope"]

    run(scenario())


def test_the_era_of_a_server_that_ignores_the_probe_is_found_and_remembered(run: Run, tmp_path: Path) -> None:
    heard = tmp_path / "heard"

    async def scenario() -> None:
        servers = config(python_server("old", "legacy.py", "--heard", str(heard)))
        async with Gateway.open(servers) as gateway:
            assert (await gateway.call("mcp__old__hello")).text
            (report,) = await gateway.reports()
            assert report.status.protocol_version == "2024-11-05"
        async with Gateway.open(servers) as gateway:
            await gateway.call("mcp__old__hello")

    run(scenario())
    # At the next start it is not asked what it does not answer.
    methods = heard.read_text().split()
    assert (methods.count("initialize"), methods.count("server/discover")) == (2, 1)


@pytest.mark.parametrize(("protocol", "spoken"), [("legacy", "2025-11-25"), ("modern", "2026-07-28")])
def test_both_eras_of_the_protocol_are_spoken(run: Run, protocol: str, spoken: str) -> None:
    async def scenario() -> None:
        async with Gateway.open(config({**WITH_LIBRARY, "protocol": protocol})) as gateway:
            assert (await gateway.call("mcp__echo__add", a=2, b=3)).structured_content == {"result": 5}
            (report,) = await gateway.reports()
            assert report.status.protocol_version == spoken

    run(scenario())


def test_one_malformed_tool_does_not_hide_the_others(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(OLD)) as gateway:
            await gateway.refresh()
            assert gateway.snapshot.callable == ("mcp__old__bare", "mcp__old__hello", "mcp__old__sloppy")
            (report,) = await gateway.reports()
            assert report.status.warnings == ("a tool without a name was left out",)

    run(scenario())


def test_pages_of_tools_are_followed_to_the_end(run: Run) -> None:
    async def scenario() -> None:
        server = python_server("echo", "echo.py", "--tools", "95", "--page", "10")
        async with Gateway.open(config(server)) as gateway:
            assert len(await gateway.tools()) == 14 + 95

    run(scenario())


def test_a_result_is_kept_as_it_came(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            image = await gateway.call("mcp__echo__image")
            assert [block["type"] for block in image.content] == ["image", "text"]
            meta = await gateway.call("mcp__echo__meta")
            assert meta.meta is not None
            assert meta.meta["halflap.test/answer"] == 42
            failed = await gateway.call("mcp__echo__fail")
            assert failed.is_error
            assert failed.text == "this tool always fails"

    run(scenario())


def test_a_result_that_breaks_its_declared_schema_is_delivered_and_recorded(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            result = await gateway.call("mcp__echo__breach")
            assert result.structured_content == {"count": "many"}
            (record,) = await gateway.recent_calls(1)
            assert record.outcome == "ok"
            assert record.breach is not None
            assert record.breach.startswith("count:")

    run(scenario())


def test_a_sloppy_result_loses_nothing(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(OLD)) as gateway:
            result = await gateway.call("mcp__old__sloppy")
            assert result.text == "just a string"
            assert result.structured_content == [{"id": 1, "name": "one"}, {"id": 2, "name": "two"}]

    run(scenario())


def test_noise_on_a_servers_stdout_does_not_disturb_it_and_is_kept_in_its_log(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            await gateway.call("mcp__echo__noise", binary=True)
            assert (await gateway.call("mcp__echo__echo", text="still here")).text == "still here"

            async def logged() -> bool:
                (report,) = await gateway.reports()
                return {"[stdout] this is not JSON", "noise on stderr"} <= {*report.log}

            assert await comes(logged)

    run(scenario())


def test_a_server_gets_a_minimal_environment_and_its_own(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "hidden")

    async def scenario() -> None:
        async with Gateway.open(config({**ECHO, "env": {"GIVEN": "yes"}})) as gateway:
            assert (await gateway.call("mcp__echo__env", name="MY_SECRET")).text == "null"
            assert (await gateway.call("mcp__echo__env", name="GIVEN")).text == '"yes"'
            assert (await gateway.call("mcp__echo__env", name="PATH")).text != "null"

    run(scenario())


def test_wrong_arguments_are_refused_before_anything_is_sent(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            with pytest.raises(InvalidArgumentsError) as caught:
                await gateway.call("mcp__echo__add", a="one", c=3)
            assert {problem.path for problem in caught.value.problems} >= {"a"}
            assert "b: missing; expected integer" in str(caught.value)
            assert "mcp__echo__add(a: integer, b: integer)" in str(caught.value)

    run(scenario())


@pytest.mark.parametrize("value", some([float("nan"), object(), "\ud800"], every=3))
def test_arguments_that_are_not_json_are_refused(run: Run, value: object) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            with pytest.raises(InvalidArgumentsError, match="not JSON"):
                await gateway.call("mcp__echo__echo", text=value)

    run(scenario())


def test_an_unknown_name_gets_suggestions_and_the_servers_tools(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            with pytest.raises(ToolNotFoundError) as caught:
                await gateway.call("mcp__echo__ecko")
            assert caught.value.suggestions[0] == "mcp__echo__echo"
            assert caught.value.server == "echo"
            assert "and 4 more" in str(caught.value)

    run(scenario())


def test_an_argument_may_be_called_name_or_self(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            assert (await gateway.call("mcp__echo__env", name="NOT_SET")).text == "null"
            with pytest.raises(InvalidArgumentsError):
                await gateway.call("mcp__echo__add", self=1)

    run(scenario())


@pytest.mark.slow
def test_the_server_without_the_library_offers_what_the_one_with_it_does(run: Run) -> None:
    async def definitions(server: dict[str, Any]) -> list[Any]:
        async with Gateway.open(config(server)) as gateway:
            await gateway.refresh()
            return [
                (tool.description, tool.input_schema, tool.output_schema)
                for tool in gateway.snapshot.tools.values()
            ]

    async def scenario() -> None:
        with_library = await definitions({**WITH_LIBRARY, "name": "library"})
        assert await definitions(ECHO) == with_library

    run(scenario())


def test_a_server_that_dies_during_a_call_is_said_to_and_comes_back(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            before = (await gateway.call("mcp__echo__pid")).text
            with pytest.raises(UpstreamLostError, match=r"exit code 3.*may have taken effect.*not repeated"):
                await gateway.call("mcp__echo__crash")
            assert (await gateway.call("mcp__echo__pid")).text != before

    run(scenario())


def test_a_call_that_may_have_arrived_is_not_repeated(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            with pytest.raises(UpstreamLostError):
                await gateway.call("mcp__echo__crash")
            await gateway.call("mcp__echo__pid")
            (report,) = await gateway.reports()
            assert report.status.starts == 2

    run(scenario())


def test_a_call_of_a_tool_known_to_be_read_only_is_repeated(run: Run) -> None:
    async def scenario() -> None:
        settings = config(ECHO, tools={"read_only": ["mcp__echo__crash"]})
        async with Gateway.open(settings) as gateway:
            with pytest.raises(UpstreamLostError):
                await gateway.call("mcp__echo__crash")
            await gateway.call("mcp__echo__pid")
            (report,) = await gateway.reports()
            assert report.status.starts == 4

    run(scenario())


def test_a_call_made_after_the_server_was_killed_succeeds(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            pid = int((await gateway.call("mcp__echo__pid")).text)
            os.kill(pid, signal.SIGKILL)
            # Gone with all its threads; and our loop has no chance to notice before the call.
            eventually(lambda: not Path(f"/proc/{pid}").exists())
            assert int((await gateway.call("mcp__echo__pid")).text) != pid

    run(scenario())


def test_a_call_that_takes_too_long_is_given_up_and_cancelled(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config({**ECHO, "call_timeout_seconds": 0.5})) as gateway:
            with pytest.raises(CallTimeoutError, match=r"within \d+\.\d s.*raise `call_timeout_seconds`"):
                await gateway.call("mcp__echo__sleep", seconds=1_000)

            async def cancelled() -> bool:
                # A machine that is busy may take longer than the limit for this call as well.
                with contextlib.suppress(CallTimeoutError):
                    return (await gateway.call("mcp__echo__cancelled_count")).text == "1"
                return False

            assert await comes(cancelled)

    run(scenario())


def test_progress_extends_the_time_of_a_call(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config({**ECHO, "call_timeout_seconds": 2})) as gateway:
            seen: list[float] = []

            async def progressed(progress: float, total: float | None, message: str | None) -> None:
                del total, message
                seen.append(progress)

            result = await gateway.call_tool(
                "mcp__echo__sleep", {"seconds": 2.5, "progress": True}, CallContext(progress=progressed)
            )
            assert not result.is_error
            assert len(seen) >= 3

    run(scenario())


def test_progress_extends_the_time_only_up_to_a_maximum(run: Run) -> None:
    async def scenario() -> None:
        server = {**ECHO, "call_timeout_seconds": 2, "max_call_timeout_seconds": 2.2}
        async with Gateway.open(config(server)) as gateway:
            with pytest.raises(CallTimeoutError, match="raise `max_call_timeout_seconds`"):
                await gateway.call("mcp__echo__sleep", seconds=1_000, progress=True)

    run(scenario())


def test_a_deadline_ends_a_call(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            await gateway.call("mcp__echo__pid")
            context = CallContext(deadline=asyncio.get_running_loop().time() + 2)
            with pytest.raises(CallTimeoutError, match="before the deadline"):
                await gateway.call_tool("mcp__echo__sleep", {"seconds": 1_000}, context)

    run(scenario())


@pytest.mark.parametrize("protocol", [pytest.param("legacy", marks=pytest.mark.slow), "modern"])
def test_cancelling_a_call_is_forwarded_to_the_server(run: Run, protocol: str) -> None:
    async def scenario() -> None:
        async with Gateway.open(config({**WITH_LIBRARY, "protocol": protocol})) as gateway:
            call = await under_way(gateway, "mcp__echo__sleep")
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call

            async def cancelled() -> bool:
                return (await gateway.call("mcp__echo__cancelled_count")).text == "1"

            assert await comes(cancelled)
            outcomes = {record.tool: record.outcome for record in await gateway.recent_calls()}
            assert outcomes["sleep"] == "cancelled"

    run(scenario())


def test_calls_to_one_server_are_limited_in_number(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config({**ECHO, "max_concurrent_calls": 2})) as gateway:
            await gateway.call("mcp__echo__pid")
            began = time.perf_counter()
            await asyncio.gather(*(gateway.call("mcp__echo__sleep", seconds=0.4) for _ in range(4)))
            assert time.perf_counter() - began >= 0.75

    run(scenario())


def test_calls_to_one_server_run_in_parallel(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            calls = [await under_way(gateway, "mcp__echo__sleep") for _ in range(8)]
            assert not any(call.done() for call in calls)
            for call in calls:
                call.cancel()
            await asyncio.wait(calls)

    run(scenario())


@pytest.mark.parametrize("protocol", ["legacy", "modern"])
def test_tools_that_a_server_announces_are_there_at_once(run: Run, protocol: str) -> None:
    async def scenario() -> None:
        async with Gateway.open(
            config(python_server("changing", "changing.py", protocol=protocol))
        ) as gateway:
            await gateway.refresh()

            async def announced() -> bool:
                # What it announces before it is listened to, it announces to nobody.
                await gateway.call("mcp__changing__grow")
                return await comes(lambda: shown("mcp__changing__grown_1"), 1)

            async def shown(name: str) -> bool:
                return name in gateway.snapshot.tools

            assert await comes(announced)

    run(scenario())


@pytest.mark.parametrize("protocol", ["legacy", "modern"])
def test_configured_roots_are_given_to_a_server_that_asks(run: Run, protocol: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        settings = config({**WITH_LIBRARY, "protocol": protocol}, roots=[str(tmp_path)])
        async with Gateway.open(settings) as gateway:
            assert tmp_path.as_uri() in (await gateway.call("mcp__echo__roots")).text

    run(scenario())


@pytest.mark.parametrize("code", some([-32000, -32602, -32603, 7], every=4))
def test_a_protocol_error_is_told_with_its_code_and_is_no_lost_connection(run: Run, code: int) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(OLD)) as gateway:
            with pytest.raises(
                ToolFailedError, match=f"'mcp__old__bare' with error {code}: refused as asked"
            ):
                await gateway.call("mcp__old__bare", code=code)
            (report,) = await gateway.reports()
            assert report.status.starts == 1

    run(scenario())


def test_a_disabled_server_is_never_started(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config({**ECHO, "disabled": True})) as gateway:
            assert await gateway.tools() == ()
            (report,) = await gateway.reports()
            assert report.status.state == "disabled"
            assert report.status.starts == 0

    run(scenario())


def test_a_failed_server_is_not_started_again_at_once(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(python_server("dies", "dies_at_start.py"))) as gateway:
            upstream = (await gateway._connections()).get("dies")
            assert upstream is not None
            for _ in range(5):
                with pytest.raises(UpstreamUnavailableError):
                    await upstream.list()
            assert upstream.status().starts == 1

    run(scenario())


def test_a_big_result_comes_through_whole(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            result = await gateway.call("mcp__echo__big", bytes=5_000_000)
            assert len(result.text) == 5_000_000

    run(scenario())


def test_closing_ends_servers_with_everything_that_they_started(run: Run, tmp_path: Path) -> None:
    pids_file = tmp_path / "pids"

    async def scenario() -> list[int]:
        async with Gateway.open(
            config(python_server("spawner", "spawner.py", "--pids", str(pids_file)))
        ) as gateway:
            await gateway.call("mcp__spawner__ok")
            return [int(line) for line in (await asyncio.to_thread(pids_file.read_text)).split()]

    pids = run(scenario())
    assert len(pids) == 3
    assert eventually(lambda: not any(alive(pid) for pid in pids))


def test_closing_while_a_server_is_starting_leaves_nothing_behind(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(python_server("hang", "hang.py"))) as gateway:
            await gateway.warm_up()
            await asyncio.sleep(0.5)
        assert all(task is asyncio.current_task() for task in asyncio.all_tasks())

    run(scenario())


def test_calls_are_recorded_with_their_outcome(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(ECHO)) as gateway:
            await gateway.call("mcp__echo__echo", text="one")
            await gateway.call("mcp__echo__fail")
            with pytest.raises(InvalidArgumentsError):
                await gateway.call("mcp__echo__echo", text=1)
            records = await gateway.recent_calls()
            assert [record.outcome for record in records] == ["invalid-arguments", "tool_error", "ok"]
            assert all(record.principal == "local" for record in records)
            assert records[-1].argument_bytes == len('{"text": "one"}')

    run(scenario())


@pytest.mark.parametrize("answer", some([None, [1], "text", 7], every=4))
def test_an_answer_that_is_not_the_protocol_fails_its_call_at_once(run: Run, answer: object) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(OLD)) as gateway:
            with pytest.raises(ToolFailedError, match="something that is not the protocol"):
                await gateway.call("mcp__old__bare", raw=answer)

    run(scenario())


def test_a_question_that_is_not_the_protocols_fails_its_call(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(OLD)) as gateway:
            with pytest.raises(ToolFailedError, match="input in a form that is not the protocol's"):
                await gateway.call("mcp__old__bare", raw={"resultType": "input_required", "inputRequests": 5})

    run(scenario())


def test_a_deadline_holds_while_waiting_for_other_calls(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config({**ECHO, "max_concurrent_calls": 1})) as gateway:
            slow = await under_way(gateway, "mcp__echo__sleep")
            context = CallContext(deadline=asyncio.get_running_loop().time() + 0.3)
            with pytest.raises(CallTimeoutError, match="it was not sent"):
                await gateway.call_tool("mcp__echo__pid", {}, context)
            assert not slow.done()
            slow.cancel()
            await asyncio.wait([slow])

    run(scenario())


def test_a_server_that_stops_reading_does_not_hold_up_giving_a_call_up(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config({**ECHO, "call_timeout_seconds": 3})) as gateway:
            pid = int((await gateway.call("mcp__echo__pid")).text)
            os.kill(pid, signal.SIGSTOP)
            try:
                with pytest.raises(CallTimeoutError, match="raise `call_timeout_seconds`"):
                    await gateway.call("mcp__echo__echo", text="x" * 1_000_000)
            finally:
                os.kill(pid, signal.SIGCONT)

    run(scenario())


def test_a_lone_surrogate_in_an_answer_does_not_lose_it(run: Run) -> None:
    async def scenario() -> None:
        async with Gateway.open(config(OLD)) as gateway:
            result = await gateway.call("mcp__old__bare", surrogate=True)
            assert result.text == "half ? pair"

    run(scenario())
