"""Real server processes and the gateway: start, noise, crash, kill, time limits, cancelling."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from halflap import CallContext, Gateway
from halflap.core.errors import CallTimeoutError, UpstreamError, UpstreamLostError
from support import alive, children_of, comes, eventually, python_server, under_way

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


def config(*servers: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"servers": list(servers), **more}


ECHO = python_server("echo", "swift.py", protocol="legacy")
WITH_LIBRARY = python_server("echo", "echo.py")


# Starting ---------------------------------------------------------------------------------------------


async def test_servers_start_in_parallel(tmp_path: Path) -> None:
    (tmp_path / "started").mkdir()
    # None is ready before all have been started.
    each = [
        python_server(f"slow{number}", "swift.py", str(tmp_path / "started"), "3", protocol="legacy")
        for number in range(3)
    ]
    async with Gateway.open(config(*each)) as gateway:
        assert len(await gateway.tools()) == 3 * 14


def test_a_hanging_server_delays_no_other_and_ends_with_the_gateway(run: Run) -> None:
    async def scenario() -> list[int]:
        hang = python_server("hang", "unwilling.py", "silent", start_timeout_seconds=1_000, protocol="legacy")
        others = children_of(os.getpid())
        async with Gateway.open(config(hang, ECHO)) as gateway:
            await gateway.warm_up()
            await gateway.call("mcp__echo__echo", text="hello")
            states = {one.name: one.state for one in await gateway.statuses()}
            # It would not be if a call had waited for it.
            assert states == {"hang": "starting", "echo": "ready"}
            children = [pid for pid in children_of(os.getpid()) if pid not in others]
            assert len(children) >= 3
        assert all(task is asyncio.current_task() for task in asyncio.all_tasks())
        return children

    children = run(scenario())
    assert eventually(lambda: not any(alive(pid) for pid in children))


FAILING = {
    "silent": ("start-timeout", python_server("silent", "unwilling.py", "silent", start_timeout_seconds=0.5)),
    "falls silent": (
        "start-timeout",
        python_server(
            "falls silent", "unwilling.py", "falls-silent", start_timeout_seconds=1, protocol="legacy"
        ),
    ),
    "dies": ("process-ended", python_server("dies", "unwilling.py", "dies")),
    "refuses": ("answered-an-error", python_server("refuses", "unwilling.py", "greeting")),
    "lists nothing": (
        "answered-an-error",
        python_server("lists nothing", "unwilling.py", "list", protocol="legacy"),
    ),
    "too old": ("answer-unusable", python_server("too old", "unwilling.py", "old", protocol="legacy")),
    "prose": ("not-mcp", python_server("prose", "unwilling.py", "text", start_timeout_seconds=4)),
    "no command": ("command-not-found", {"name": "no command", "command": "no-such-program"}),
    "no folder": ("command-not-run", {"name": "no folder", "command": "cat", "cwd": "/no/such/folder"}),
}

ATTEMPTS = 10


async def test_a_server_that_cannot_be_used_is_reported_with_the_first_cause_and_logged_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """They start side by side, with one that ignores the question for its era."""
    store = {"path": str(tmp_path / "store.db")}
    old = python_server("old", "legacy.py", "--heard", str(tmp_path / "heard"))
    async with Gateway.open(config(old, *(one for _, one in FAILING.values()), store=store)) as gateway:
        await gateway.refresh()
        for _ in range(ATTEMPTS):
            with pytest.raises(UpstreamError):
                await gateway.refresh("dies")
        found = {one.name: one for one in await gateway.statuses()}
    troubles = {name: (found[name].state, found[name].trouble) for name in FAILING}
    assert troubles == {name: ("failed", trouble) for name, (trouble, _) in FAILING.items()}
    reasons = {name: one.reason or "" for name, one in found.items()}
    assert not any("SIGTERM" in reason for reason in reasons.values())  # That is how we ended them.
    assert "exit code 7" in reasons["dies"]
    assert "licence file is missing" in reasons["dies"]
    assert "API key missing" in reasons["refuses"]
    assert "-32603" in reasons["refuses"]
    assert "listening on 3000" in reasons["prose"]
    assert "/no/such/folder" in reasons["no folder"]
    # It is not started again at once.
    assert found["dies"].starts < ATTEMPTS / 2
    logged = [one for one in caplog.records if one.levelname == "WARNING" and "'dies'" in one.getMessage()]
    assert len(logged) == 1

    assert (found["old"].state, found["old"].protocol_version) == ("ready", "2024-11-05")
    async with Gateway.open(config(old, store=store)) as gateway:
        assert (await gateway.call("mcp__old__hello")).text
    heard = (await asyncio.to_thread((tmp_path / "heard").read_text)).split()
    # It was started twice, and asked once what it does not answer.
    assert (heard.count("initialize"), heard.count("server/discover")) == (2, 1)


# Talking ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "spoken"),
    [pytest.param("legacy", "2025-11-25", marks=pytest.mark.slow), ("modern", "2026-07-28")],
)
async def test_both_eras_of_the_protocol_are_spoken(tmp_path: Path, *, protocol: str, spoken: str) -> None:
    settings = config({**WITH_LIBRARY, "protocol": protocol}, roots=[str(tmp_path)])
    async with Gateway.open(settings) as gateway:
        assert (await gateway.call("mcp__echo__add", a=2, b=3)).structured_content == {"result": 5}
        (status,) = await gateway.statuses()
        assert status.protocol_version == spoken
        assert tmp_path.as_uri() in (await gateway.call("mcp__echo__roots")).text
        call = await under_way(gateway, "mcp__echo__sleep")
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

        async def cancelled() -> bool:
            return (await gateway.call("mcp__echo__cancelled_count")).text == "1"

        assert await comes(cancelled)
        outcomes = {record.tool: record.outcome for record in await gateway.recent_calls()}
        assert outcomes["sleep"] == "cancelled"


async def test_noise_on_stdout_is_logged_and_disturbs_nothing() -> None:
    async with Gateway.open(config(ECHO)) as gateway:
        await gateway.call("mcp__echo__noise", binary=True)
        assert (await gateway.call("mcp__echo__echo", text="still here")).text == "still here"
        assert len((await gateway.call("mcp__echo__big", bytes=5_000_000)).text) == 5_000_000

        async def logged() -> bool:
            (row,) = (await gateway.parts.doctor.health())["servers"]
            return {"[stdout] this is not JSON", "noise on stderr"} <= {*row["log"]}

        assert await comes(logged)


# Losing a server --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("read_only", "starts"), [(False, 2), (True, 4)])
async def test_a_call_that_may_have_arrived_is_repeated_only_if_it_changes_nothing(
    *, read_only: bool, starts: int
) -> None:
    rules = {"read_only": ["mcp__echo__crash"] if read_only else []}
    async with Gateway.open(config(ECHO, tools=rules)) as gateway:
        before = (await gateway.call("mcp__echo__pid")).text
        with pytest.raises(UpstreamLostError, match="exit code 3"):
            await gateway.call("mcp__echo__crash")
        assert (await gateway.call("mcp__echo__pid")).text != before
        (status,) = await gateway.statuses()
        # The first start, each repeated call, and the one that brought it back.
        assert status.starts == starts


async def test_messages_that_follow_a_call_do_not_count_as_the_unread_call(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    server = python_server("s", "noting.py", "hang", str(notes), protocol="legacy")
    async with Gateway.open(config(server)) as gateway:
        await gateway.refresh()
        call = asyncio.create_task(gateway.call("mcp__s__t"))
        assert await asyncio.to_thread(eventually, lambda: notes.exists() and notes.read_text() != "")
        # The server has read this call. It reads neither the next one nor that this is cancelled.
        context = CallContext(deadline=asyncio.get_running_loop().time() + 0.2)
        with pytest.raises(CallTimeoutError):
            await gateway.call_tool("mcp__s__t", {}, context)
        made = await asyncio.to_thread(notes.read_text)
        os.kill(int(made.split()[1]), signal.SIGKILL)
        with pytest.raises(UpstreamLostError):
            await call
        assert await asyncio.to_thread(notes.read_text) == made


# Time -------------------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_progress_extends_the_time_of_a_call_up_to_a_maximum() -> None:
    async def outcome(work: Coroutine[Any, Any, Any]) -> str:
        try:
            await work
        except CallTimeoutError as error:
            return next(
                word
                for word in ("max_call_timeout_seconds", "call_timeout_seconds", "deadline")
                if word in str(error)
            )
        return "ok"

    async def ignore(progress: float, total: float | None, message: str | None) -> None:
        del progress, total, message

    server = {**ECHO, "call_timeout_seconds": 1, "max_call_timeout_seconds": 2.5}
    async with Gateway.open(config(server)) as gateway:
        await gateway.refresh()
        heard = CallContext(progress=ignore)
        sleep = "mcp__echo__sleep"
        soon = CallContext(deadline=asyncio.get_running_loop().time() + 0.5)
        done = await asyncio.gather(
            outcome(gateway.call_tool(sleep, {"seconds": 1.5, "progress": True}, heard)),
            outcome(gateway.call_tool(sleep, {"seconds": 1_000, "progress": True}, heard)),
            outcome(gateway.call_tool(sleep, {"seconds": 1_000})),
            outcome(gateway.call_tool(sleep, {"seconds": 1_000}, soon)),
        )
        assert [*done] == ["ok", "max_call_timeout_seconds", "call_timeout_seconds", "deadline"]

        async def cancelled() -> bool:
            # A machine that is busy may take longer than the limit for this call as well.
            with contextlib.suppress(CallTimeoutError):
                return (await gateway.call("mcp__echo__cancelled_count")).text == "3"
            return False

        assert await comes(cancelled)


async def test_calls_beyond_the_number_allowed_wait_and_their_deadline_holds() -> None:
    async with Gateway.open(config({**ECHO, "max_concurrent_calls": 2})) as gateway:
        under = [await under_way(gateway, "mcp__echo__sleep") for _ in range(2)]
        context = CallContext(deadline=asyncio.get_running_loop().time() + 0.3)
        with pytest.raises(CallTimeoutError, match="not sent"):
            await gateway.call_tool("mcp__echo__pid", {}, context)
        assert not any(call.done() for call in under)
        for call in under:
            call.cancel()
        await asyncio.wait(under)
        assert (await gateway.call("mcp__echo__pid")).text


async def test_a_call_that_loses_its_server_gives_its_place_back() -> None:
    async with Gateway.open(config({**ECHO, "max_concurrent_calls": 1})) as gateway:
        with pytest.raises(UpstreamLostError):
            await gateway.call("mcp__echo__crash")
        context = CallContext(deadline=asyncio.get_running_loop().time() + 20)
        assert (await gateway.call_tool("mcp__echo__pid", {}, context)).text


async def test_a_server_that_stops_reading_does_not_hold_up_giving_a_call_up() -> None:
    async with Gateway.open(config(ECHO)) as gateway:
        pid = int((await gateway.call("mcp__echo__pid")).text)
        os.kill(pid, signal.SIGSTOP)
        try:
            context = CallContext(deadline=asyncio.get_running_loop().time() + 0.5)
            with pytest.raises(CallTimeoutError):
                await gateway.call_tool("mcp__echo__echo", {"text": "x" * 1_000_000}, context)
        finally:
            os.kill(pid, signal.SIGCONT)
