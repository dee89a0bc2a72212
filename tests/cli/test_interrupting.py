"""A program that is ended by Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

from cli.program import configure, environment, halflap
from support import HALFLAP, PATIENCE, eventually, python_server

CODE = """
import asyncio
async def main():
    print("so far")
    await mcp__s__t(text="first")
    await mcp__s__t(text="second")
    await asyncio.sleep(60)
"""


def interrupted(home: Path, *words: str) -> tuple[int, str, str]:
    """Run the program in its own process group and signal the group, as a terminal does."""
    notes = home / "notes"
    config = configure(home, python_server("s", "noting.py", "ok", str(notes), protocol="legacy"))
    (home / "it.py").write_text(CODE)
    with subprocess.Popen(
        [HALFLAP, "run", "-c", config, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home),
        cwd=home,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert eventually(lambda: notes.exists() and len(notes.read_text().splitlines()) == 2)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    return process.returncode, out, err


def test_an_interrupted_program_is_reported_and_recorded_as_cancelled(tmp_path: Path) -> None:
    code, out, _ = interrupted(tmp_path, "it.py", "--json")
    told = json.loads(out)
    assert (code, told["outcome"], told["output"]) == (130, "cancelled", "so far\n")
    assert [call["tool"] for call in told["calls"]] == ["mcp__s__t"] * 2
    kept = halflap("runs", "show", told["run"], "--json", home=tmp_path).json
    assert (kept["outcome"], kept["callCount"], len(kept["calls"])) == ("cancelled", 2, 2)
