from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import ECHO, OLD, configure, halflap, in_terminal, side_by_side
from halflap.cli.doctor import _sandbox_lines
from support import python_server

if TYPE_CHECKING:
    from pathlib import Path

    from cli.program import Done

SERVERS = (
    ECHO,
    python_server("dies", "dies_at_start.py"),
    python_server("hangs", "hang.py", start_timeout_seconds=1),
    {"name": "missing", "command": "no-such-program"},
    {"name": "away", "url": "http://127.0.0.1:9/mcp"},
    {"name": "off", "command": "no-such-program", "disabled": True},
)
KEYS = {
    "name", "transport", "state", "healthy", "startSeconds", "protocolVersion", "serverInfo", "tools",
    "declaredOutputSchemas", "blocked", "changed", "lastError", "warnings", "log", "advice",
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("doctor")
    configure(home, *SERVERS)
    return home


@pytest.fixture(scope="module")
def done(place: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    healthy, empty = tmp_path_factory.mktemp("healthy"), tmp_path_factory.mktemp("empty")
    configure(healthy, OLD)
    doctor = ("doctor", "-c", "halflap-test.json")
    return side_by_side(
        {
            "sick": partial(halflap, *doctor, "--json", home=place),
            "narrow": partial(in_terminal, *doctor, home=place, columns=40),
            "healthy": partial(halflap, *doctor, home=healthy),
            "one": partial(halflap, *doctor, "missing", "--json", home=place),
            "unknown": partial(halflap, *doctor, "ecko", home=place),
            "empty": partial(halflap, "doctor", home=empty),
        }
    )


@pytest.fixture(scope="module")
def sick(done: dict[str, Done]) -> Done:
    return done["sick"]


@pytest.fixture(scope="module")
def shown(done: dict[str, Done]) -> Done:
    return done["narrow"]


def test_one_sick_server_is_a_failure(sick: Done) -> None:
    assert sick.code == 1
    assert sick.json["healthy"] is False


def test_all_that_is_said_is_in_the_json(sick: Done) -> None:
    assert not sick.err
    assert all(server.keys() == KEYS for server in sick.json["servers"])


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("echo", "ready"), ("dies", "failed"), ("hangs", "failed"), ("missing", "failed"), ("away", "failed"),
        ("off", "disabled"),
    ],
)  # fmt: skip
def test_every_server_has_its_state(sick: Done, name: str, state: str) -> None:
    assert {server["name"]: server["state"] for server in sick.json["servers"]}[name] == state


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("dies", "its process ended with exit code 7. Its last words: dies_at_start: the licence file"),
        ("hangs", "it did not get ready within 1 s. If it needs longer, set `start_timeout_seconds`"),
        ("missing", "the command 'no-such-program' was not found. Install it"),
        ("away", "it cannot be reached"),
    ],
)
def test_a_sick_server_has_its_last_error(sick: Done, name: str, error: str) -> None:
    last = {server["name"]: server["lastError"] for server in sick.json["servers"]}
    assert last[name].startswith(error)


@pytest.mark.parametrize("name", ["dies", "hangs", "missing", "away"])
def test_a_sick_server_has_advice(place: Path, sick: Done, name: str) -> None:
    advice = {server["name"]: server["advice"] for server in sick.json["servers"]}[name]
    assert advice[-1].endswith(f"Its entry is in {place / 'halflap-test.json'}.")


def test_a_healthy_server_has_its_numbers(sick: Done) -> None:
    echo = sick.json["servers"][0]
    assert (echo["tools"], echo["declaredOutputSchemas"], echo["lastError"], echo["advice"]) == (
        14,
        2,
        None,
        [],
    )
    assert 0 < echo["startSeconds"] < 30
    assert echo["protocolVersion"] == "2026-07-28"
    assert echo["serverInfo"] == "echo 1.2.3"


def test_the_log_of_a_dead_server_is_kept(sick: Done) -> None:
    logs = {server["name"]: server["log"] for server in sick.json["servers"]}
    assert logs["dies"] == ["dies_at_start: the licence file is missing"]


def test_a_narrow_terminal_shows_names_and_states_whole(shown: Done) -> None:
    assert shown.code == 1
    table = shown.out.split("missing")[0] + shown.out.split("missing", maxsplit=1)[1]
    for word in ("echo", "dies", "hangs", "away", "ready", "failed", "disabled"):
        assert word in table


def test_advice_is_shown(shown: Done) -> None:
    assert "Run its command in a terminal" in shown.out.replace("\n", " ")


def test_all_healthy_is_success(done: dict[str, Done]) -> None:
    assert done["healthy"].code == 0
    assert "3 tools, 3 of them callable" in done["healthy"].out


def test_only_the_servers_that_were_named_are_started(done: dict[str, Done]) -> None:
    assert [server["name"] for server in done["one"].json["servers"]] == ["missing"]


def test_a_server_that_is_not_configured_is_a_mistake(done: dict[str, Done]) -> None:
    assert done["unknown"].code == 2
    assert "There is no server named 'ecko'. There are: echo, dies, hangs" in done["unknown"].err


def test_without_any_server_it_says_what_to_do(done: dict[str, Done]) -> None:
    assert done["empty"].code == 0
    assert "No server is configured yet." in done["empty"].out


@pytest.mark.parametrize(("name", "words"), [("jail", "run in the jail,"), ("monty", "run in monty,")])
def test_where_programs_run_is_said_in_words(name: str, words: str) -> None:
    ready: dict[str, Any] = {"name": name, "trouble": None, "layers": ["a", "b"], "missing": {}, "notes": []}
    ready["check"] = {"layers": ["c"], "missing": {"d": "none here"}, "trouble": None}
    assert _sandbox_lines(ready) == [
        (f"Programs: {words} behind a, b", ""),
        ("  checked before they run by ty, behind c", ""),
        ("    without d: none here", "yellow"),
    ]
    ready["check"]["trouble"] = "it is off"
    assert _sandbox_lines(ready)[1:] == [("  not checked before they run: it is off", "yellow")]
