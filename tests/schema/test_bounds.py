"""Time and memory of hostile definitions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from schema.hostile import HOSTILE
from support import ROOT


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux to limit memory")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_definitions_take_little_time_and_memory(name: str) -> None:
    program = Path(__file__).with_name("hostile.py")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, str(program), name], capture_output=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2_000:]
