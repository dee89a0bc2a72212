"""What becomes of the traces when the gateway is killed, or the store fails."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import configure, environment, halflap
from faults import recording
from faults.recording import RUN
from halflap import Gateway
from halflap.core.errors import HalflapError
from halflap.store import open_store
from servers.memory import Memory, definition
from store.rows import call, putting, run_of, server, tool
from support import eventually, python_server

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


def started(home: Path, behaviour: str, how: str = "") -> subprocess.Popen[str]:
    noting = python_server("s", "noting.py", behaviour, str(home / "notes"), protocol="legacy")
    config = configure(home, noting)
    return subprocess.Popen(
        [sys.executable, recording.__file__, config, how],
        env=environment(home),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_a_call_whose_gateway_is_killed_before_the_answer_is_there_as_sent(tmp_path: Path) -> None:
    with started(tmp_path, "hang") as gateway:
        assert eventually((tmp_path / "notes").exists)
        gateway.send_signal(signal.SIGKILL)
    shown = halflap("runs", "show", RUN, "--json", home=tmp_path).json
    assert (shown["outcome"], shown["callCount"]) == ("interrupted", 1)
    assert [(one["outcome"], one["durationMs"], one["arguments"]) for one in shown["calls"]] == [
        ("sent", None, {"text": "important"})
    ]


@pytest.mark.slow
def test_a_full_disk_keeps_no_call_from_being_answered(tmp_path: Path) -> None:
    with started(tmp_path, "ok", "full") as gateway:
        out, err = gateway.communicate(timeout=60)
    assert out == "answered True\n" * 3
    assert err.count("Calls are not recorded until the store works again.") == 1
    assert "Traceback" not in err


async def make_unwritable(gateway: Gateway) -> None:
    """Have the database refuse every change from now on."""
    store: Any = gateway.parts.store

    await store._in_thread(lambda: store._connection.execute("PRAGMA query_only = ON"))


async def test_a_store_that_cannot_be_written_keeps_no_call_from_being_answered_and_loses_none(
    home: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Retention would delete a run that began long ago.
    run = run_of(1, started_at=time.time())
    async with Gateway.open({}, servers={"s": Memory(definition("t", "text"))}) as gateway:
        await gateway.refresh()
        await make_unwritable(gateway)
        for _ in range(3):
            assert not (await gateway.call("mcp__s__t", text="x")).is_error
        await gateway.parts.recorder.end_run(run)
        examined = await gateway.examine()
    assert caplog.text.count("Until it works again, runs and calls are recorded in") == 1
    (journal,) = (home / "data").glob("unrecorded-*.jsonl")
    assert journal.stat().st_mode & 0o777 == 0o600
    assert {one["code"] for one in examined["findings"]} >= {"store-not-writable", "records-waiting"}
    async with Gateway.open({}) as gateway:
        assert [record.outcome for record in await gateway.recent_calls()] == ["ok"] * 3
        assert [record.id for record in await gateway.runs()] == [run.id]
        assert (await gateway.examine())["store"]["journalBytes"] == 0


async def test_what_must_be_recorded_is_refused_while_it_cannot_be() -> None:
    server = Memory(definition("t", "text"))
    async with Gateway.open({"traces": {"required": True}}, servers={"s": server}) as gateway:
        await gateway.refresh()
        assert not (await gateway.call("mcp__s__t", text="x")).is_error
        assert [one.outcome for one in await gateway.recent_calls()] == ["ok"]
        await make_unwritable(gateway)
        for _ in range(2):
            with pytest.raises(HalflapError, match="readonly"):
                await gateway.call("mcp__s__t", text="x")
            with pytest.raises(HalflapError, match=r"traces\.required"):
                await gateway.execute("print(1)")


async def test_a_store_that_cannot_be_opened_gets_later_what_happened_unless_that_had_to_be_recorded(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "taken"
    folder.write_text("a file where a folder should be")
    settings = {"store": {"path": str(folder / "halflap.db")}}
    for required in (True, False):
        given = {**settings, "traces": {"required": required}}
        async with Gateway.open(given, servers={"s": Memory(definition("t", "text"))}) as gateway:
            await gateway.refresh()
            with pytest.raises(HalflapError, match=r"traces\.required") if required else nullcontext():
                await gateway.call("mcp__s__t", text="x")
    folder.unlink()
    async with Gateway.open(settings) as gateway:
        assert "ok" in [record.outcome for record in await gateway.recent_calls()]


async def test_a_locked_store_keeps_no_call_from_being_answered(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halflap.calls.recorder._COMMIT_SECONDS", 0.3)
    monkeypatch.setattr("halflap.store.sqlite_file.BUSY_SECONDS", 1_000)
    async with Gateway.open({}, servers={"s": Memory(definition("t", "text"))}) as gateway:
        await gateway.refresh()
        with closing(
            sqlite3.connect(home / "data" / "halflap.db", isolation_level=None, check_same_thread=False)
        ) as other:
            await asyncio.to_thread(other.execute, "BEGIN IMMEDIATE")
            # It stays locked until they are answered.
            for _ in range(3):
                assert not (await gateway.call("mcp__s__t", text="x")).is_error
            await asyncio.to_thread(other.execute, "ROLLBACK")
        assert [record.outcome for record in await gateway.recent_calls()] == ["ok"] * 3


PURGING = """
import asyncio, sys
from pathlib import Path
from halflap.store import open_store

async def main():
    store = await open_store(Path(sys.argv[1]))
    print("open", flush=True)
    await store.purge(everything=True)

asyncio.run(main())
"""


@pytest.mark.slow
def test_a_gateway_that_is_killed_while_it_takes_out_traces_leaves_a_store_in_order(
    run: Run, tmp_path: Path
) -> None:
    file = tmp_path / "halflap.db"

    async def fill() -> None:
        store = await open_store(file)
        await store.update_server("one", putting(server(), tool()))
        await store.record(calls=[call(number, result="x" * 20_000) for number in range(3_000)])
        await store.close()

    run(fill())
    with subprocess.Popen([sys.executable, "-c", PURGING, str(file)], stdout=subprocess.PIPE) as purging:
        assert purging.stdout is not None
        purging.stdout.readline()
        with closing(sqlite3.connect(file)) as connection:
            while connection.execute("SELECT count(*) FROM calls").fetchone()[0] > 2_700:
                pass
        purging.kill()

    async def look() -> int:
        store = await open_store(file)
        left = len(await store.recent_calls(9_999))
        assert len((await store.load_catalog()).tools) == 1
        await store.purge(everything=True)
        await store.close()
        return left

    assert run(look()) < 3_000
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert file.stat().st_size < 300_000
