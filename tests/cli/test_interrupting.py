"""Commands that are ended by Ctrl-C: they report what is known, and leave no process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from cli.program import PLAIN, Done, configure, environment, halflap
from support import HALFLAP, PATIENCE, alive, children_of, eventually, python_server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HANGING = python_server("hangs", "unwilling.py", "silent", start_timeout_seconds=1_000)
CODE = """
import asyncio
async def main():
    print("so far")
    await mcp__s__t(text="first")
    await mcp__s__t(text="second")
    await asyncio.sleep(60)
"""


def interrupted(home: Path, *words: str, ready: Callable[[list[int]], bool]) -> Done:
    """Run a command in its own process group, and signal the group as a terminal does.

    `ready` gets the child processes; they have ended when this returns.
    """
    with subprocess.Popen(
        [HALFLAP, *words, "-c", "halflap-test.json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home),
        cwd=home,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert eventually(lambda: ready(children_of(process.pid)))
            children = children_of(process.pid)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert eventually(lambda: not any(map(alive, children)))
    return Done(process.returncode, out, err)


def test_an_interrupted_program_is_reported_and_recorded_as_cancelled(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    configure(tmp_path, python_server("s", "noting.py", "ok", str(notes), protocol="legacy"))
    (tmp_path / "it.py").write_text(CODE)

    def ready(_: list[int]) -> bool:
        return notes.exists() and len(notes.read_text().splitlines()) == 2

    done = interrupted(tmp_path, "run", "it.py", "--json", ready=ready)
    told = done.json
    assert (done.code, told["outcome"], told["output"]) == (130, "cancelled", "so far\n")
    assert [call["tool"] for call in told["calls"]] == ["mcp__s__t"] * 2
    kept = halflap("runs", "show", told["run"], "--json", home=tmp_path).json
    assert (kept["outcome"], kept["callCount"], len(kept["calls"])) == ("cancelled", 2, 2)


@pytest.mark.slow
def test_an_interrupted_doctor_reports_what_is_known(tmp_path: Path) -> None:
    configure(tmp_path, PLAIN, HANGING)
    done = interrupted(tmp_path, "doctor", "--json", ready=lambda children: len(children) >= 2)
    assert (done.code, done.err) == (130, "")
    assert json.loads(done.out)["interrupted"] is True


@pytest.mark.slow
def test_an_interrupted_list_has_no_traceback(tmp_path: Path) -> None:
    configure(tmp_path, HANGING)
    done = interrupted(tmp_path, "list", ready=lambda children: len(children) >= 2)
    assert (done.code, "Traceback" in done.err) == (130, False)
