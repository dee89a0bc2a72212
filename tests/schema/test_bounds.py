"""Time and memory of hostile definitions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from schema.hostile import HOSTILE
from support import ROOT

pytestmark = pytest.mark.slow
"""What holds in odd circumstances runs with `make test-all`."""

SECONDS = 2.0
"""Each step takes a tenth of this, on a machine that is not busy."""
MEGABYTES = 100.0
LETTERS = 7_000_000
"""Two schemas of a megabyte, indented."""
STEPS = ("parse_schema", "format_for_llm", "format_compact", "compile_schema", "validate", "inspect_tool")


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux to measure memory")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_definitions_take_little_time_and_memory(name: str) -> None:
    program = Path(__file__).with_name("hostile.py")
    done = subprocess.run(
        [sys.executable, str(program), name],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    steps = [json.loads(line) for line in done.stdout.splitlines()]
    assert tuple(step["step"] for step in steps) == STEPS
    too_much = [
        step
        for step in steps
        if step["seconds"] > SECONDS or step["megabytes"] > MEGABYTES or step["letters"] > LETTERS
    ]
    assert too_much == []
