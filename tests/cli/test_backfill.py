"""`halflap backfill`."""

from __future__ import annotations

import array
import fcntl
import json
import signal
import subprocess
import termios
from typing import IO, TYPE_CHECKING

import pytest

from backfill.logs import traces
from cli.program import configure, environment, halflap
from support import HALFLAP, PATIENCE, eventually

if TYPE_CHECKING:
    from pathlib import Path


def unread(pipe: IO[bytes] | None) -> int:
    """Return how many bytes of what was written are unread."""
    assert pipe is not None
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_done_and_the_next_run_continues(home: Path) -> None:
    """What is piped in never ends here, so that there is something to interrupt."""
    config = configure(home)
    command = [HALFLAP, "backfill", "-", "--json", "--config", config]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home),
        cwd=home,
    ) as process:
        assert process.stdin is not None
        data = traces(0, 20_000)
        process.stdin.write(data)
        process.stdin.flush()
        assert eventually(lambda: not unread(process.stdin))
        process.send_signal(signal.SIGINT)
        process.stdin.close()
        process.stdin = None
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, err
    assert b'"interrupted": true' in out
    assert b"Traceback" not in err
    (home / "whole.jsonl").write_bytes(data)
    again = halflap("backfill", "whole.jsonl", "--json", "--config", config, home=home)
    assert again.json["observations"] == 20_000 - json.loads(out)["observations"]
