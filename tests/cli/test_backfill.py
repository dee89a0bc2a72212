"""`halflap backfill`, as people and their shells run it."""

from __future__ import annotations

import array
import fcntl
import signal
import subprocess
import termios
from typing import IO, TYPE_CHECKING

import pytest

from backfill.logs import lines, trace, traces
from cli.program import PLAIN, configure, environment, halflap, in_terminal
from support import HALFLAP, PATIENCE, eventually

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow
"""It takes long, and runs with `make test-all`."""


def test_a_log_is_learned_from_once_and_the_summary_says_so(home: Path) -> None:
    file = home / "a.jsonl"
    file.write_bytes(traces(0, 3) + b"bad\n" + lines(trace(9, "text", "mcp__shop__say")))
    done = halflap("backfill", str(file), home=home)
    assert (done.code, done.err) == (0, f"{file}:4: not JSON: Expecting value, at character 1\n")
    assert "4 results of 2 tools" in done.out
    assert "1 new, 0 changed" in done.out
    assert "Not in the catalogue: 2 tools of shop" in done.out
    again = halflap("backfill", "-", "--json", home=home, stdin=file.read_bytes())
    assert (again.code, again.json["observations"], again.json["alreadyCounted"]) == (0, 0, 1)


def test_what_is_asked_for_wrongly_and_what_fails_have_codes_of_their_own(home: Path) -> None:
    (home / "bare.jsonl").write_bytes(lines(trace(1, tool="get_order")))
    (home / "bad.jsonl").write_bytes(traces(0, 1) + b"{\n")
    missing = halflap("backfill", "none.jsonl", home=home)
    assert (missing.code, missing.out) == (2, "")
    assert "There is no file 'none.jsonl'" in missing.err
    bare = halflap("backfill", "bare.jsonl", home=home)
    assert bare.code == 2
    assert "--server NAME" in bare.err
    strict = halflap("backfill", "--strict", "bad.jsonl", "--json", home=home)
    assert (strict.code, strict.json["observations"]) == (1, 0)
    assert strict.json["sources"][0]["bad"][0]["line"] == 2


def test_a_wrong_server_is_told_how_to_be_taken_back_and_the_right_one_counts(home: Path) -> None:
    (home / "bare.jsonl").write_bytes(lines(*(trace(number, tool="get_order") for number in range(5))))
    assert halflap("backfill", "bare.jsonl", "-s", "wrong", home=home).code == 0
    again = halflap("backfill", "bare.jsonl", "-s", "right", home=home)
    assert again.code == 1
    way = "halflap schema forget --server wrong --origin backfill"
    assert way in again.err
    nobody = halflap(*way.split()[1:], home=home)
    assert (nobody.code, "--yes" in nobody.err) == (2, True)
    gone = halflap(*way.split()[1:], "--yes", home=home)
    assert (gone.code, gone.out, gone.err) == (0, "", "Forgot what was learned of 1 tool.\n")
    right = halflap("backfill", "bare.jsonl", "-s", "right", "--json", home=home)
    assert [(tool["server"], tool["observations"]) for tool in right.json["tools"]] == [("right", 5)]
    nothing = halflap("schema", "forget", "--server", "wrong", "-y", "--json", home=home)
    assert (nothing.code, nothing.json) == (0, {"forgotten": []})
    assert halflap("schema", "forget", home=home).code == 2


def test_strict_stops_at_a_bad_line_however_often_it_was_read(home: Path) -> None:
    (home / "a.jsonl").write_bytes(traces(0, 2) + b'{"tool": "a", "result": NaN}\n')
    assert halflap("backfill", "a.jsonl", home=home).code == 0
    for _ in range(2):
        strict = halflap("backfill", "--strict", "a.jsonl", home=home)
        assert strict.code == 1
        assert "a.jsonl:3: not JSON: there is no NaN in it" in strict.err


def test_what_waits_for_its_server_is_said_and_can_be_forgotten_by_name(home: Path) -> None:
    (home / "a.jsonl").write_bytes(traces(0, 2))
    config = configure(home, PLAIN)
    assert halflap("backfill", "a.jsonl", "--config", config, home=home).code == 0
    name = "mcp__shop__get_order"
    shown = halflap("schema", "show", name, "--config", config, home=home)
    assert shown.code != 0
    assert "Something was learned of it (2 results), which waits for its server 'shop'" in " ".join(
        shown.err.split()
    )
    gone = halflap("schema", "forget", name, "--yes", "--json", "--config", config, home=home)
    assert [one["tool"] for one in gone.json["forgotten"]] == ["get_order"]
    again = halflap("schema", "forget", name, "--yes", "--config", config, home=home)
    assert again.code != 0
    assert "Something was learned" not in halflap("schema", "show", name, "--config", config, home=home).err


def test_a_number_of_very_many_digits_is_said_to_be_that(home: Path) -> None:
    (home / "export.json").write_text('{"format": ' + "9" * 5_000 + "}")
    done = halflap("schema", "import", "export.json", home=home)
    assert done.code != 0
    assert "a number in it has more than 4,300 digits" in " ".join(done.err.split())
    assert "set_int_max_str_digits" not in done.err


def test_what_was_learned_from_a_log_is_told_of_the_tool(home: Path) -> None:
    config = configure(home, PLAIN)
    file = home / "a.jsonl"
    results = [lines(trace(number, {"result": 3}, "mcp__plain__add")) for number in range(2)]
    texts = [lines(trace(number, '{"id": 1, "day": "2026-01-02"}', "echo")) for number in range(60)]
    file.write_bytes(b"".join(results + texts))
    assert halflap("list", "--config", config, home=home).code == 0
    done = halflap("backfill", "a.jsonl", "-s", "plain", "--json", "--config", config, home=home)
    assert [(tool["tool"], tool["inCatalogue"]) for tool in done.json["tools"]] == [
        ("add", True),
        ("echo", True),
    ]
    shown = halflap("inspect", "mcp__plain__echo", "--json", "--config", config, home=home).json
    assert shown["outputSchema"] is None
    assert shown["observations"] == 60
    assert shown["observedSchema"]["properties"].keys() == {"id", "day"}
    # The wrapper that it declares is off: what is known is the value.
    added = halflap("schema", "show", "mcp__plain__add", "--json-schema", "--config", config, home=home)
    assert added.json["type"] == "integer"


def test_progress_is_shown_on_a_terminal(home: Path) -> None:
    (home / "a.jsonl").write_bytes(traces(0, 2_000))
    done = in_terminal("backfill", "a.jsonl", home=home)
    assert done.code == 0
    assert "Reading" in done.out
    assert "2,000 results" in done.out


def unread(pipe: IO[bytes] | None) -> int:
    """Say how much of what was written is not read yet."""
    assert pipe is not None
    count = array.array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, count)
    return count[0]


def test_an_interrupt_keeps_what_is_done_and_the_next_run_goes_on(home: Path) -> None:
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
    again = halflap("backfill", "-", "--json", "--config", config, home=home, stdin=data)
    first = int(out.split(b'"observations": ')[1].split(b",")[0])
    assert 0 < first <= 20_000
    assert again.json["observations"] == 20_000 - first


def test_drift_and_broken_declarations_in_logs_are_told(home: Path) -> None:
    config = configure(home, PLAIN)
    assert halflap("list", "--config", config, home=home).code == 0
    settled = [trace(number, {"id": number}, "echo") for number in range(80)]
    broken = [trace(1, {"result": "three"}, "add"), trace(2, {"id": "x"}, "echo")]
    (home / "a.jsonl").write_bytes(lines(*settled))
    (home / "b.jsonl").write_bytes(lines(*broken))
    options = ("-s", "plain", "--config", config)
    assert "Drift" not in halflap("backfill", "a.jsonl", *options, home=home).out
    told = halflap("backfill", "b.jsonl", *options, home=home).out
    assert (
        "Drift: 1 change of what had settled and 1 place that breaks what is declared; see halflap schema drift."
        in told
    )
    lists = halflap("schema", "drift", "--config", config, home=home).out
    assert "in logs                    mcp__plain__echo  id: new type, was integer, is string\n" in lists
    assert "result: breaks what is declared, expected integer (once, in logs)" in lists
    shown = halflap("schema", "show", "mcp__plain__echo", "--config", config, home=home).out
    assert "In logs: id: new type" in shown
    (drift,) = halflap("inspect", "mcp__plain__echo", "--json", "--config", config, home=home).json["drift"]
    assert (drift["since"], drift["origin"]) == (None, "backfill")
