"""What is shown of a program that the person ends with Ctrl-C, or the system with SIGTERM."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from cli.program import configure, environment, halflap
from support import HALFLAP, PATIENCE, eventually, python_server, some

ODD = str(Path(__file__).parents[1] / "calls" / "odd_server.py")
CODE = """
import asyncio
async def main():
    print("so far")
    await mcp__s__t(text="first")
    await mcp__s__t(text="second")
    await asyncio.sleep(60)
"""


def interrupted(home: Path, *words: str, by: int = signal.SIGINT) -> tuple[int, str, str]:
    """Run the program in a group of its own, and have all of the group interrupted, as a terminal does."""
    notes = home / "notes"
    config = configure(home, python_server("s", ODD, "ok", str(notes), protocol="legacy"))
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
            assert eventually(lambda: notes.exists() and len(notes.read_text().split()) == 2)
            os.killpg(process.pid, by)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    return process.returncode, out, err


@pytest.mark.parametrize("saved", some([False, True], every=2), ids=["file", "script"])
def test_ctrl_c_shows_what_was_printed_and_which_calls_were_made(tmp_path: Path, *, saved: bool) -> None:
    if saved:
        (tmp_path / "data" / "scripts").mkdir(parents=True)
        (tmp_path / "data" / "scripts" / "it.py").write_text(CODE)
    code, out, err = interrupted(tmp_path, "script__it" if saved else "it.py")
    assert (code, out) == (130, "so far\n")
    assert "The program was cancelled." in err
    assert "1. mcp__s__t — ok" in err
    assert "2. mcp__s__t — " in err
    assert "Traceback" not in err


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_both_show_the_same_as_json_and_keep_it(tmp_path: Path, by: int) -> None:
    code, out, _ = interrupted(tmp_path, "it.py", "--json", by=by)
    told = json.loads(out)
    assert (code, told["outcome"], told["output"]) == (128 + by, "cancelled", "so far\n")
    assert [call["tool"] for call in told["calls"]] == ["mcp__s__t"] * 2
    kept = halflap("runs", "show", told["run"], "--json", home=tmp_path).json
    assert (kept["outcome"], kept["callCount"], len(kept["calls"])) == ("cancelled", 2, 2)
