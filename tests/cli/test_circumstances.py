from __future__ import annotations

import signal
import subprocess
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import PLAIN, Done, configure, definitions, environment, halflap, side_by_side
from halflap.cli.output import reported
from support import HALFLAP, PATIENCE, alive, children_of, eventually, python_server

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow
"""What holds in odd circumstances runs with `make test-all`."""

ANYTHING = {"type": "object"}
NULLABLE = {"type": "object", "properties": {"name": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
HOSTILE = "\x1b]0;owned\x07 \x9b31m [red]bold[/red] \u202eback"
DIES = python_server("dies", "dies_at_start.py")


def shell(line: str, home: Path) -> Done:
    done = subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        env={**environment(home), "HALFLAP": HALFLAP},
        cwd=home,
        timeout=60,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    """Runs in all kinds of circumstances, each in a home of its own."""
    jobs: dict[str, Callable[[], Done]] = {}

    def job(name: str, *arguments: str, tool: dict[str, Any], dies: bool = False, **more: Any) -> Path:
        home = tmp_path_factory.mktemp(name.replace(" ", "-"))
        offered = definitions(home, {"name": "one", "inputSchema": ANYTHING, **tool})
        configure(home, offered, *([DIES] if dies else []))
        jobs[name] = partial(halflap, *arguments, "-c", "halflap-test.json", home=home, **more)
        return home

    job("optional text", "call", "mcp__replay__one", "-a", "name=123", tool={"inputSchema": NULLABLE})
    job("call while down", "call", "mcp__dies__anything", tool={}, dies=True)
    job("list while down", "list", tool={}, dies=True)
    job("ascii", "list", tool={"description": "Grüße ✓"}, PYTHONIOENCODING="ascii")
    job("hostile", "list", "--json", tool={"name": HOSTILE, "description": HOSTILE})
    home = job("no store", "list", tool={})
    (home / "data").write_text("a file where the folder should be")

    home = tmp_path_factory.mktemp("many")
    many = (
        {"name": f"t{number}", "description": "long " * 30, "inputSchema": ANYTHING} for number in range(3000)
    )
    configure(home, definitions(home, *many))
    jobs["head"] = partial(shell, "set -o pipefail; $HALFLAP list -c halflap-test.json | head -1", home)

    home = tmp_path_factory.mktemp("plain")
    configure(home, PLAIN)
    echo = ("call", "-c", "halflap-test.json", "mcp__plain__echo", "--json-args", "-")
    jobs["stdin"] = partial(halflap, *echo, home=home, stdin=b'{"text": "from stdin"}')
    jobs["binary stdin"] = partial(halflap, *echo, home=home, stdin=b"\xff\xfe\x80")
    list_old = "$HALFLAP list -c halflap-test.json"
    jobs["full disk"] = partial(shell, f"{list_old} > /dev/full", home)
    sick = tmp_path_factory.mktemp("sick")
    configure(sick, DIES)
    for how in ("", "--json"):
        unread = f"set -o pipefail; $HALFLAP doctor {how} -c halflap-test.json | true"
        jobs |= {
            f"well unread {how}": partial(shell, unread, home),
            f"sick unread {how}": partial(shell, unread, sick),
        }
    for asked in ("--help", "explain not-reached", "lst"):
        jobs[f"{asked} unread"] = partial(shell, f"set -o pipefail; $HALFLAP {asked} | true", home)
    for closed in CLOSED:
        jobs[closed] = partial(shell, f"{list_old} {closed}", home)
    return side_by_side(jobs)


CLOSED = (">&-", "<&- >&- 2>&-")


def test_arguments_can_come_from_stdin(done: dict[str, Done]) -> None:
    assert (done["stdin"].code, done["stdin"].out) == (0, "from stdin\n")


def test_stdin_that_is_not_text_is_a_mistake(done: dict[str, Done]) -> None:
    assert done["binary stdin"].code == 2
    assert "--json-args is not JSON" in done["binary stdin"].err


def test_a_number_is_text_where_only_text_or_nothing_will_do(done: dict[str, Done]) -> None:
    assert (done["optional text"].code, done["optional text"].out) == (0, "called one\n")


def test_a_tool_of_a_server_that_is_down_is_no_mistake_but_a_failure(done: dict[str, Done]) -> None:
    assert done["call while down"].code == 1
    assert done["call while down"].err.count("the licence file is missing") == 1


def test_a_list_tells_of_a_server_that_is_down_once_and_lists_the_rest(done: dict[str, Done]) -> None:
    run = done["list while down"]
    assert (run.code, run.out) == (0, "mcp__replay__one\t\n")
    assert run.err.startswith("Server 'dies' is not available: its process ended with exit code 7.")
    assert run.err.count("\n") == 1


def test_characters_that_the_terminals_encoding_lacks_are_escaped(done: dict[str, Done]) -> None:
    assert done["ascii"].code == 0
    assert "Gr\\xfc\\xdfe \\u2713" in done["ascii"].out


def test_the_json_of_hostile_text_is_the_same_data_and_harmless(done: dict[str, Done]) -> None:
    (row,) = done["hostile"].json
    assert row["originalName"] == HOSTILE
    assert not set(done["hostile"].out) & {"\x1b", "\x07", "\x9b", "\u202e"}


def test_a_store_that_cannot_be_kept_is_told_of_once(done: dict[str, Done]) -> None:
    assert (done["no store"].code, done["no store"].out) == (0, "mcp__replay__one\t\n")
    assert done["no store"].err.count("Going on in memory") == 1


def test_output_that_nobody_reads_to_the_end_is_no_error(done: dict[str, Done]) -> None:
    assert (done["head"].code, done["head"].out.count("\n"), done["head"].err) == (0, 1, "")


def test_a_full_disk_is_told_of(done: dict[str, Done]) -> None:
    run = done["full disk"]
    assert (run.code, run.err) == (
        1,
        "Error [output-not-written]: The output cannot be written: No space left on device.\n",
    )


@pytest.mark.parametrize("closed", CLOSED)
def test_closed_streams_do_no_harm(done: dict[str, Done], closed: str) -> None:
    assert (done[closed].code, done[closed].err) == (0, "")


def test_ctrl_c_ends_a_list_that_waits_and_leaves_no_process(tmp_path: Path) -> None:
    config = configure(tmp_path, python_server("hang", "hang.py", start_timeout_seconds=1_000))
    with subprocess.Popen(
        [HALFLAP, "list", "-c", config],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
    ) as process:
        assert eventually(lambda: len(children_of(process.pid)) >= 2)
        children = children_of(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()
        assert eventually(lambda: not any(alive(pid) for pid in children))


def test_ctrl_c_while_it_loads_shows_no_traceback(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'halflap.gateway': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from halflap.cli import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "list"], capture_output=True, env=environment(tmp_path), check=False
    )
    assert (done.returncode, done.stderr) == (130, b"")


def test_python_dash_m_is_the_same_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "halflap", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("halflap ")


def test_nor_of_what_is_only_told(done: dict[str, Done]) -> None:
    told = {asked: done[f"{asked} unread"] for asked in ("--help", "explain not-reached", "lst")}
    assert [one.code for one in told.values()] == [0, 0, 2]
    assert told["--help"].err == told["explain not-reached"].err == ""


@pytest.mark.parametrize("how", ["", "--json"])
def test_a_reader_who_has_seen_enough_changes_nothing_of_the_exit_code(
    done: dict[str, Done], how: str
) -> None:
    assert [done[f"{health} unread {how}"].code for health in ("well", "sick")] == [0, 1]
    assert done[f"well unread {how}"].err == ""


def test_a_pipe_that_breaks_elsewhere_does_not_pass_for_a_reader_who_has_seen_enough() -> None:
    @reported
    def command() -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        command()
