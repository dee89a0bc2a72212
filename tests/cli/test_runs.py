"""`halflap runs`: list, show and purge."""

from __future__ import annotations

import asyncio
import json
import re
import time
from typing import TYPE_CHECKING

import pytest

from cli.program import configure, each, halflap, in_terminal
from halflap.store import open_store
from store.rows import call, run_of

if TYPE_CHECKING:
    from pathlib import Path

    from cli.program import Done
    from halflap.store import CallRecord, RunRecord

GOOD = "0198aaaa0001" + "a" * 16
BAD = "0198aaaa0002" + "b" * 16
NOW = time.time()
LONG = "line\n" * 5_000

RUNS = [
    run_of(
        1,
        id=GOOD,
        code="rows = await mcp__one__t()\nprint(rows)",
        output=LONG,
        output_bytes=25_000,
        calls=2,
        started_at=NOW - 100,
        duration_ms=1_234.0,
        cpu_ms=45.6,
        memory_bytes=32_000_000,
        sandbox="jail",
    ),
    run_of(
        2,
        id=BAD,
        kind="script",
        name="nightly",
        code="boom()",
        output=None,
        output_bytes=0,
        outcome="failed",
        error="NameError: \x1b[31mboom",
        started_at=NOW - 10,
    ),
    run_of(3, id="0197" + "c" * 24, started_at=NOW - 86_400 * 9),
]
CALLS = [
    call(
        1,
        run=GOOD,
        started_at=NOW - 99,
        arguments='{"q": "all"}',
        result=json.dumps({"content": [], "structuredContent": {"rows": ["x" * 600]}, "isError": False}),
        result_cut=True,
        result_bytes=5_000_000,
    ),
    call(2, run=GOOD, started_at=NOW - 98, outcome="sent", duration_ms=None, arguments='{"id": 17}'),
    call(3, started_at=NOW - 86_400 * 9),
]


async def _fill(home: Path, runs: list[RunRecord], calls: list[CallRecord]) -> None:
    store = await open_store(home / "data" / "halflap.db")
    await store.record(runs=runs, calls=calls)
    await store.close()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("runs")
    configure(home)
    asyncio.run(_fill(home, RUNS, CALLS))
    return home


ASKED: dict[str, tuple[str, ...]] = {
    "list": ("runs",),
    "list of one": ("runs", "--limit", "1"),
    "list --json": ("runs", "--json"),
    "show": ("runs", "show", GOOD),
    "show failed": ("runs", "show", BAD),
    "show by prefix": ("runs", "show", "0198aaaa0002", "--json"),
    "show last": ("runs", "show", "last", "--json"),
    "show --json": ("runs", "show", GOOD, "--json"),
    "show --output": ("runs", "show", GOOD, "--output"),
}
MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "unknown run": (("runs", "show", "0123"), "run-not-found"),
    "ambiguous prefix": (("runs", "show", "0198"), "usage"),
    "output and json": (("runs", "show", GOOD, "--output", "--json"), "usage"),
    "options before the command": (("runs", "--json", "show", GOOD), "usage"),
    "purge what": (("runs", "purge"), "usage"),
    "purge unconfirmed": (("runs", "purge", "--all"), "confirmation-needed"),
    "purge wrong age": (("runs", "purge", "--older-than", "soon", "--yes"), "usage"),
}


@pytest.fixture(scope="module")
def done(place: Path) -> dict[str, Done]:
    return each({**ASKED, **{name: words for name, (words, _) in MISTAKES.items()}}, place)


@pytest.mark.parametrize("name", ASKED)
def test_success_exits_with_0(done: dict[str, Done], name: str) -> None:
    assert (done[name].code, done[name].err) == (0, "")


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_exits_with_2(done: dict[str, Done], name: str) -> None:
    words, code = MISTAKES[name]
    assert done[name].code == 2
    if "--json" in words:
        assert done[name].json["code"] == code
    else:
        assert f"Error [{code}]" in done[name].err
        assert not done[name].out


def test_the_list_is_a_line_for_each_run_newest_first(done: dict[str, Done]) -> None:
    lines = [line.split("\t") for line in done["list"].out.splitlines()]
    assert [line[0] for line in lines] == [BAD, GOOD, RUNS[2].id]
    assert lines[0][2:] == ["failed", "2 ms", "0", "nightly"]
    assert lines[1][2:] == ["ok", "1.2 s", "2", "rows = await mcp__one__t()"]
    assert len(done["list of one"].out.splitlines()) == 1


def test_the_list_as_json_has_everything_but_the_output(done: dict[str, Done]) -> None:
    _, good, _ = done["list --json"].json
    assert "output" not in good
    assert (good["outcome"], good["callCount"], good["memoryBytes"], good["sandbox"]) == (
        "ok",
        2,
        32_000_000,
        "jail",
    )


def test_a_run_is_found_by_its_prefix_or_as_the_last(done: dict[str, Done]) -> None:
    assert done["show by prefix"].json["id"] == done["show last"].json["id"] == BAD


def test_a_run_is_shown_with_code_output_and_calls(done: dict[str, Done]) -> None:
    out = done["show"].out
    for part in (GOOD, "rows = await mcp__one__t()", "line\n", "--output", '{"q": "all"}', "outcome unknown"):
        assert part in out
    assert "NameError: " in done["show failed"].out


def test_control_characters_do_not_reach_the_terminal(place: Path) -> None:
    shown = halflap("runs", "show", BAD, home=place, columns=80)
    assert r"NameError: \u001b[31mboom" in shown.out
    assert "\x1b[31m" not in shown.out


def test_the_whole_output_can_be_printed_alone(done: dict[str, Done]) -> None:
    assert done["show --output"].out == LONG


def test_a_run_as_json_is_complete(done: dict[str, Done]) -> None:
    run = done["show --json"].json
    assert run["output"] == LONG
    assert [one["outcome"] for one in run["calls"]] == ["ok", "sent"]
    assert run["calls"][0]["arguments"] == {"q": "all"}
    assert run["calls"][0]["result"]["structuredContent"]["rows"] == ["x" * 600]
    assert run["calls"][0]["resultCut"] is True


def test_the_table_on_a_terminal_shows_prefixes_that_find_the_run(place: Path) -> None:
    shown = re.sub(r"\x1b\[[0-9;]*m", "", halflap("runs", home=place, columns=100).out).splitlines()
    prefix = shown[1].split()[0]
    assert prefix == BAD[: len(prefix)] != BAD
    assert halflap("runs", "show", prefix, "--json", home=place).json["id"] == BAD


def test_without_any_run_the_list_is_empty(tmp_path: Path) -> None:
    done = halflap("runs", home=tmp_path)
    assert (done.code, done.out) == (0, "")
    assert halflap("runs", "show", "last", home=tmp_path).code == 2


@pytest.mark.parametrize(("which", "deleted"), [("--all", 3), ("--older-than=7d", 1)])
def test_runs_are_deleted_with_their_calls(tmp_path: Path, which: str, deleted: int) -> None:
    asyncio.run(_fill(tmp_path, RUNS, CALLS))
    done = halflap("runs", "purge", which, "--yes", "--json", home=tmp_path)
    assert done.json == {"runs": deleted, "calls": deleted}
    assert len(halflap("runs", home=tmp_path).out.splitlines()) == 3 - deleted


@pytest.mark.parametrize(
    ("answer", "code", "left"), [("n\n", 1, 3), pytest.param("y\n", 0, 0, marks=pytest.mark.slow)]
)
def test_on_a_terminal_deleting_asks_first(tmp_path: Path, answer: str, code: int, left: int) -> None:
    asyncio.run(_fill(tmp_path, RUNS, CALLS))
    answers = {"Delete all runs and calls?": answer}
    assert in_terminal("runs", "purge", "--all", home=tmp_path, answers=answers).code == code
    assert len(halflap("runs", home=tmp_path).out.splitlines()) == left


def test_runs_older_than_the_retention_disappear(tmp_path: Path) -> None:
    asyncio.run(_fill(tmp_path, RUNS, CALLS))
    file = configure(tmp_path, traces={"keep_days": 5})
    halflap("runs", "-c", file, home=tmp_path)
    assert len(halflap("runs", "-c", file, home=tmp_path).out.splitlines()) == 2
