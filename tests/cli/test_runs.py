"""`halflap runs`: list, show and purge."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING

import pytest

from cli.program import halflap
from halflap.store import open_store
from store.rows import call, run_of

if TYPE_CHECKING:
    from pathlib import Path

GOOD = "0198aaaa0001" + "a" * 16
BAD = "0198aaaa0002" + "b" * 16
NOW = time.time()
LONG = "line\n" * 5_000
CODE = "rows = await mcp__one__t()\nprint(rows)"
RESULT = {"content": [], "structuredContent": {"rows": ["x" * 600]}, "isError": False}
RUNS = [
    run_of(1, id=GOOD, code=CODE, output=LONG, calls=2, started_at=NOW - 100, duration_ms=1_234.0),
    run_of(
        2,
        id=BAD,
        kind="script",
        name="nightly",
        output=None,
        outcome="failed",
        error="NameError: \x1b[31mboom",
        started_at=NOW - 10,
    ),
    run_of(3, id="0197" + "c" * 24, started_at=NOW - 86_400 * 9),
]
CALLS = [
    call(1, run=GOOD, started_at=NOW - 99, arguments='{"q": "all"}', result=json.dumps(RESULT)),
    call(2, run=GOOD, started_at=NOW - 98, outcome="sent", duration_ms=None, arguments='{"id": 17}'),
    call(3, started_at=NOW - 86_400 * 9),
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    async def fill() -> None:
        store = await open_store(tmp_path / "data" / "halflap.db")
        await store.record(runs=RUNS, calls=CALLS)
        await store.close()

    asyncio.run(fill())
    return tmp_path


def test_the_list_has_a_line_for_each_run_newest_first(place: Path) -> None:
    done = halflap("runs", home=place)
    lines = [line.split("\t") for line in done.out.splitlines()]
    assert (done.code, done.err) == (0, "")
    assert [line[0] for line in lines] == [BAD, GOOD, RUNS[2].id]
    assert lines[1][2:] == ["ok", "1.2 s", "2", "rows = await mcp__one__t()"]
    assert len(halflap("runs", "--limit", "1", home=place).out.splitlines()) == 1
    _, good, _ = halflap("runs", "--json", home=place).json
    assert "output" not in good
    assert (good["outcome"], good["callCount"]) == ("ok", 2)


def test_a_run_is_shown_with_code_output_and_calls(place: Path) -> None:
    out = halflap("runs", "show", GOOD, home=place).out
    for part in (GOOD, "rows = await mcp__one__t()", "line\n", "--output", '{"q": "all"}', "outcome unknown"):
        assert part in out
    assert halflap("runs", "show", GOOD, "--output", home=place).out == LONG
    first, second = halflap("runs", "show", GOOD, "--json", home=place).json["calls"]
    assert (first["arguments"], first["result"], second["outcome"]) == ({"q": "all"}, RESULT, "sent")


def test_control_characters_do_not_reach_the_terminal(place: Path) -> None:
    shown = halflap("runs", "show", BAD, home=place, columns=80).out
    assert r"NameError: \u001b[31mboom" in shown
    assert "\x1b[31m" not in shown
