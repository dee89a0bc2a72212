"""`halflap runs`: what was recorded, listed, shown and deleted."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

from cli.program import at_once, configure, halflap, in_terminal
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
    "show by beginning": ("runs", "show", "0198aaaa0002", "--json"),
    "show last": ("runs", "show", "last", "--json"),
    "show --json": ("runs", "show", GOOD, "--json"),
    "show --output": ("runs", "show", GOOD, "--output"),
    "show nothing": ("runs", "show", "0123"),
    "show nothing --json": ("runs", "show", "0123", "--json"),
    "show several": ("runs", "show", "0198"),
    "show both": ("runs", "show", GOOD, "--output", "--json"),
    "show what": ("runs", "show"),
    "options before": ("runs", "--json", "show", GOOD),
    "purge what": ("runs", "purge"),
    "purge both": ("runs", "purge", "--all", "--older-than", "7d"),
    "purge unasked": ("runs", "purge", "--all"),
    "purge wrong age": ("runs", "purge", "--older-than", "soon", "--yes"),
    "wrong command": ("runs", "shwo"),
    "help": ("runs", "--help"),
}


@pytest.fixture(scope="module")
def done(place: Path) -> dict[str, Done]:
    return at_once(ASKED, place)


@pytest.mark.parametrize("name", ASKED)
def test_nothing_shows_a_traceback(done: dict[str, Done], name: str) -> None:
    assert "Traceback" not in done[name].err


@pytest.mark.parametrize("name", ["list", "list --json", "show", "show --json", "show --output", "help"])
def test_what_was_done_exits_with_0_and_says_nothing_else(done: dict[str, Done], name: str) -> None:
    assert (done[name].code, done[name].err) == (0, "")


MISTAKES = {
    "show nothing": "There is no run '0123'. It may have been taken out for its age; `halflap runs` lists",
    "show several": f"'0198' fits several runs. Give more of it:\n  {BAD}  ",
    "show what": "Missing argument 'ID'.",
    "purge what": "Say which: --older-than 7d, or --all.",
    "purge both": "Say which: --older-than 7d, or --all.",
    "purge unasked": "Nothing was deleted: there is nobody to ask here. Say --yes if you mean it.",
    "purge wrong age": "--older-than 'soon' is no age. Write it as 30m, 12h, 7d or 4w.",
    "wrong command": "No such command 'shwo'",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_exits_with_2_and_says_what_was_wrong(done: dict[str, Done], name: str) -> None:
    assert done[name].code == 2
    assert MISTAKES[name] in done[name].err
    assert not done[name].out


def test_with_json_a_mistake_is_an_object(done: dict[str, Done]) -> None:
    error = done["show nothing --json"].json
    assert (error["error"], error["code"], done["show nothing --json"].code) == (True, "run-not-found", 2)


def test_output_alone_is_not_json(done: dict[str, Done]) -> None:
    assert done["show both"].code == 2
    assert done["show both"].json["message"] == "Give --output or --json, not both."


def test_options_in_the_wrong_place_are_not_ignored(done: dict[str, Done]) -> None:
    assert done["options before"].code == 2
    assert "behind the command: halflap runs show" in done["options before"].json["message"]


def test_a_list_away_from_a_terminal_is_a_line_for_each_run_newest_first(done: dict[str, Done]) -> None:
    lines = [line.split("\t") for line in done["list"].out.splitlines()]
    assert [line[0] for line in lines] == [BAD, GOOD, RUNS[2].id]
    assert lines[0][2:] == ["failed", "2 ms", "0", "nightly"]
    assert lines[1][2:] == ["ok", "1.2 s", "2", "rows = await mcp__one__t()"]


def test_a_list_is_as_long_as_asked_for(done: dict[str, Done]) -> None:
    assert len(done["list of one"].out.splitlines()) == 1


def test_a_list_as_json_has_everything_but_the_output(done: dict[str, Done]) -> None:
    _, good, _ = done["list --json"].json
    assert "output" not in good
    assert (good["outcome"], good["callCount"], good["memoryBytes"], good["sandbox"]) == (
        "ok",
        2,
        32_000_000,
        "jail",
    )


def test_the_newest_run_is_the_last(done: dict[str, Done], tmp_path: Path) -> None:
    assert done["show last"].json["id"] == BAD
    none = halflap("runs", "show", "last", home=tmp_path)
    assert (none.code, none.out) == (2, "")
    assert "No run is recorded" in none.err


def test_a_run_is_shown_with_code_output_and_calls(done: dict[str, Done]) -> None:
    out = done["show"].out
    assert out.startswith(f"Run {GOOD}\n  program of local, ")
    assert "  ok (1.2 s, 46 ms of CPU, 32 MB)\n" in out
    assert "Code:\n  rows = await mcp__one__t()\n  print(rows)\n" in out
    assert "Output (25 kB):\n  line\n" in out
    assert "21000 characters more: --output shows all" in out
    assert '1. one: t, ok (2 ms)\n     given  {"q": "all"}\n     gave   {"rows": ["xxx' in out
    assert "… (5 MB, kept in part)" in out


def test_a_call_whose_gateway_died_is_shown_as_that(done: dict[str, Done]) -> None:
    assert '2. one: t, sent, outcome unknown\n     given  {"id": 17}\n' in done["show"].out


def test_the_whole_output_can_be_had_alone(done: dict[str, Done]) -> None:
    assert done["show --output"].out == LONG


def test_a_run_as_json_is_whole(done: dict[str, Done]) -> None:
    run = done["show --json"].json
    assert run["output"] == LONG
    assert [one["outcome"] for one in run["calls"]] == ["ok", "sent"]
    assert run["calls"][0]["arguments"] == {"q": "all"}
    assert run["calls"][0]["result"]["structuredContent"]["rows"] == ["x" * 600]
    assert run["calls"][0]["resultCut"] is True


def test_a_run_is_found_by_its_beginning(done: dict[str, Done]) -> None:
    assert done["show by beginning"].json["id"] == BAD


def test_a_failed_run_is_shown_with_its_error(done: dict[str, Done]) -> None:
    assert "script nightly of local" in done["show failed"].out
    assert "Error:\n  NameError: " in done["show failed"].out


def test_a_terminal_is_not_obedient_to_what_a_program_said(place: Path) -> None:
    shown = in_terminal("runs", "show", BAD, home=place)
    assert shown.code == 0
    assert "NameError: boom" in shown.out
    assert "\x1b[31m" not in shown.out


def test_a_list_on_a_terminal_is_a_table(place: Path) -> None:
    shown = in_terminal("runs", home=place, columns=100)
    assert "outcome" in shown.out
    assert GOOD[:16] in shown.out
    assert "rows = await mcp__one__t()" in shown.out


def test_runs_that_fit_are_named_with_time_and_first_line(done: dict[str, Done]) -> None:
    newest, oldest = done["show several"].err.splitlines()[1:]
    assert newest.endswith("  nightly")
    assert oldest.startswith(f"  {GOOD}  {datetime.fromtimestamp(NOW - 100).astimezone():%Y-%m-%d %H:%M:%S}")
    assert oldest.endswith("  rows = await mcp__one__t()")


def test_a_table_shows_so_much_of_each_identifier_that_it_fits_no_other(tmp_path: Path) -> None:
    alike = "0198c3f2a41b9e07"
    long = f"print({'x' * 200!r})"
    runs = [run_of(n, id=f"{alike}{n:02}{'0' * 10}", started_at=NOW, code=long) for n in (1, 2)]
    asyncio.run(_fill(tmp_path, runs, []))
    shown = in_terminal("runs", home=tmp_path, columns=100).out.splitlines()
    assert [line.split()[0] for line in shown[1:]] == [f"{alike}02", f"{alike}01"]


def test_identifiers_are_completed(place: Path) -> None:
    words = "halflap runs show 0198aaaa0002"
    done = halflap(home=place, COMP_WORDS=words, COMP_CWORD="3", _HALFLAP_COMPLETE="complete_bash")
    assert done.out.split() == [BAD]


def test_without_any_run_it_says_so(tmp_path: Path) -> None:
    done = halflap("runs", home=tmp_path)
    assert (done.code, done.out, done.err) == (0, "", "No run is recorded.\n")


def test_old_runs_are_deleted(tmp_path: Path) -> None:
    asyncio.run(_fill(tmp_path, RUNS, CALLS))
    done = halflap("runs", "purge", "--older-than", "7d", "--yes", "--json", home=tmp_path)
    assert done.json == {"runs": 1, "calls": 1}
    assert len(halflap("runs", home=tmp_path).out.splitlines()) == 2


def test_all_runs_are_deleted(tmp_path: Path) -> None:
    asyncio.run(_fill(tmp_path, RUNS, CALLS))
    done = halflap("runs", "purge", "--all", "--yes", home=tmp_path)
    assert (done.code, done.out, done.err) == (0, "", "Deleted 3 runs and 3 calls.\n")
    assert halflap("runs", home=tmp_path).out == ""


@pytest.mark.parametrize(("answer", "code", "left"), [("y\n", 0, 0), ("n\n", 1, 3)])
def test_on_a_terminal_deleting_asks_first(tmp_path: Path, answer: str, code: int, left: int) -> None:
    asyncio.run(_fill(tmp_path, RUNS, CALLS))
    done = in_terminal(
        "runs", "purge", "--all", home=tmp_path, answers={"Delete all runs and calls?": answer}
    )
    assert done.code == code
    assert len(halflap("runs", home=tmp_path).out.splitlines()) == left


def test_what_is_older_than_is_kept_goes_by_itself(tmp_path: Path) -> None:
    asyncio.run(_fill(tmp_path, RUNS, CALLS))
    file = configure(tmp_path, traces={"keep_days": 5})
    halflap("runs", "-c", file, home=tmp_path)
    assert len(halflap("runs", "-c", file, home=tmp_path).out.splitlines()) == 2
