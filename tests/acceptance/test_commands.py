"""The `halflap` command: JSON output, exit codes and error codes, scenario by scenario."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import pytest

from acceptance import golden
from acceptance.scenarios import NODE_PROGRAMS, SCENARIOS, SLOW_LINES, masked_transcript, run, run_slow
from support import ROOT, node_program

if TYPE_CHECKING:
    from pathlib import Path

    from acceptance.recordings import Recordings


SLOW = pytest.param("real_servers", marks=pytest.mark.slow)
"""Starts servers from npm many times; the fast tests in tests/real use them too."""


def test_every_command_is_in_a_scenario() -> None:
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    commands = re.findall(r"^#{2,3} halflap (.+)$", page, re.MULTILINE)
    lines = [line for lines in (*SCENARIOS.values(), SLOW_LINES) for line in lines.splitlines()]
    assert len(commands) > len(SCENARIOS)
    assert [one for one in commands if not any(f"{line} ".startswith(f"{one} ") for line in lines)] == []


@pytest.mark.parametrize("scenario", [SLOW if name == "real_servers" else name for name in SCENARIOS])
def test_commands_print_and_exit_as_agreed(recordings: Recordings, tmp_path: Path, scenario: str) -> None:
    if scenario == "real_servers":
        for name in NODE_PROGRAMS:
            node_program(name)
    golden.check(f"commands/{scenario}", masked_transcript(run(recordings, scenario, tmp_path)))


@pytest.mark.slow
def test_programs_are_ended_at_their_limits_and_the_demo_proves_what_it_shows(recordings: Recordings) -> None:
    *ended, demo = recordings.get("slow", partial(run_slow, recordings))
    assert [(step["exit"], step["json"]["code"]) for step in ended] == [
        (1, "run-cpu"),
        (1, "run-timeout"),
        (1, "run-memory"),
        (1, "run-output"),
    ]
    assert demo["exit"] == 0
