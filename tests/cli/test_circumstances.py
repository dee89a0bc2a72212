"""Commands under odd conditions: failed servers, closed streams, a full disk."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from cli.program import configure, definitions, environment, halflap
from support import HALFLAP, PATIENCE, python_server

if TYPE_CHECKING:
    from pathlib import Path

DIES = python_server("dies", "unwilling.py", "dies")
ONE = {"name": "one", "description": "Grüße ✓", "inputSchema": {"type": "object"}}
LIST = ("list", "-c", "halflap-test.json")


@pytest.fixture
def down(tmp_path: Path) -> Path:
    configure(tmp_path, definitions(tmp_path, ONE), DIES)
    return tmp_path


def test_a_failed_server_is_reported_once_and_the_rest_is_listed(down: Path) -> None:
    listed = halflap(*LIST, home=down)
    assert (listed.code, listed.out) == (0, "mcp__replay__one\tGrüße ✓\n")
    assert listed.err.count("'dies'") == 1
    called = halflap("call", "-c", "halflap-test.json", "mcp__dies__anything", home=down)
    assert (called.code, called.out) == (1, "")
    assert called.err.count("the licence file is missing") == 1


@pytest.mark.slow
def test_streams_that_are_closed_full_or_of_another_encoding(tmp_path: Path) -> None:
    many = ({**ONE, "name": f"t{at}", "description": "long " * 30} for at in range(3000))
    configure(tmp_path, definitions(tmp_path, *many))

    def shell(line: str, **variables: str) -> tuple[int, str, str]:
        done = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {HALFLAP} list -c halflap-test.json {line}"],
            capture_output=True,
            env={**environment(tmp_path), **variables},
            cwd=tmp_path,
            timeout=PATIENCE,
            check=False,
        )
        return done.returncode, done.stdout.decode(), done.stderr.decode()

    code, out, err = shell("| head -1")
    assert (code, out.count("\n"), err) == (0, 1, "")
    code, _, err = shell("> /dev/full")
    assert (code, "Error [output-not-written]" in err) == (1, True)
    for closed in (">&-", "<&- >&- 2>&-"):
        assert shell(closed)[::2] == (0, "")
    configure(tmp_path, definitions(tmp_path, ONE))
    assert "Gr\\xfc\\xdfe \\u2713" in shell("--refresh", PYTHONIOENCODING="ascii")[1]
