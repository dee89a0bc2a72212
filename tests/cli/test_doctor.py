"""`halflap doctor`: its JSON, its page and its exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from cli.program import OLD, PLAIN, configure, environment, halflap
from halflap.cli.commands.doctor import count_tokens
from support import HALFLAP, PATIENCE, ROOT, children_of, eventually, python_server

if TYPE_CHECKING:
    from pathlib import Path

    from cli.program import Done

DRAWING = r"printf '\033[2J\033]0;owned\007 it cannot \302\233[31mgo on\n' >&2; exit 3"
SERVERS = (
    PLAIN,
    python_server("dies", "dies_at_start.py"),
    {"name": "draws", "command": "sh", "args": ["-c", DRAWING]},
    python_server("hangs", "hang.py", start_timeout_seconds=1),
    {"name": "missing", "command": "no-such-program"},
    {"name": "away", "url": "http://127.0.0.1:9/mcp"},
    {"name": "off", "command": "no-such-program", "disabled": True},
)
KEYS = {
    "healthy", "summary", "findings", "version", "python", "configuration", "configurationWarnings",
    "untrustedProjectFiles", "servers", "tools", "callable", "outputs", "collisions", "drift", "driftDays",
    "brokenScripts", "brokenPrograms", "sandbox", "store", "edges", "learning", "unfinished", "interrupted", "tokens",
}  # fmt: skip
SERVER_KEYS = {
    "name", "transport", "state", "healthy", "signIn", "startSeconds", "protocolVersion", "serverInfo", "tools",
    "outputs", "blocked", "held", "changed", "unfilled", "trouble", "lastError", "warnings", "log", "tokens",
}  # fmt: skip
FINDING_KEYS = {"severity", "code", "about", "server", "what", "todo"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("doctor")
    configure(home, *SERVERS)
    (home / ".mcp.json").write_text(json.dumps({"mcpServers": {"more": {"command": "no-such-program"}}}))
    return home


@pytest.fixture(scope="module")
def done(place: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    healthy, empty = tmp_path_factory.mktemp("healthy"), tmp_path_factory.mktemp("empty")
    configure(healthy, OLD)
    doctor = ("doctor", "-c", "halflap-test.json")
    return {
        "sick": halflap(*doctor, "--json", home=place),
        "terminal": halflap(*doctor, home=place, columns=60),
        "healthy": halflap(*doctor, home=healthy),
        "unknown": halflap(*doctor, "ecko", home=place),
        "empty": halflap("doctor", home=empty),
    }


@pytest.fixture(scope="module")
def sick(done: dict[str, Done]) -> Done:
    return done["sick"]


def test_a_failed_server_exits_with_1(sick: Done) -> None:
    assert (sick.code, sick.err, sick.json["healthy"]) == (1, "", False)


def test_the_json_has_the_documented_keys(sick: Done) -> None:
    assert sick.json.keys() == KEYS
    assert all(server.keys() == SERVER_KEYS for server in sick.json["servers"])
    assert all(finding.keys() == FINDING_KEYS for finding in sick.json["findings"])
    page = (ROOT / "docs" / "doctor.md").read_text()
    assert [key for key in KEYS | SERVER_KEYS | FINDING_KEYS if f"`{key}`" not in page] == []


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("dies", "process-ended"),
        ("hangs", "start-timeout"),
        ("missing", "command-not-found"),
        ("away", "not-reached"),
    ],
)
def test_a_failed_server_has_a_finding_with_its_error(place: Path, sick: Done, name: str, code: str) -> None:
    server = next(one for one in sick.json["servers"] if one["name"] == name)
    assert (server["state"], server["healthy"], server["trouble"]) == ("failed", False, code)
    (finding,) = (one for one in sick.json["findings"] if one["server"] == name)
    assert finding["code"] == code
    assert finding["what"][1:] == server["lastError"][1:]
    assert str(place / "halflap-test.json") in finding["todo"]


def test_a_healthy_server_has_its_numbers(sick: Done) -> None:
    plain = sick.json["servers"][0]
    assert (plain["tools"], plain["outputs"]) == (5, {"declared": 1, "learned": 0, "unknown": 4})
    assert (plain["lastError"], plain["serverInfo"]) == (None, "plain 1")
    assert plain["startSeconds"] > 0


def test_the_log_of_a_dead_server_is_kept(sick: Done) -> None:
    logs = {server["name"]: server["log"] for server in sick.json["servers"]}
    assert logs["dies"] == ["dies_at_start: the licence file is missing"]


def test_tokens_of_definitions_are_counted(sick: Done) -> None:
    tokens = sick.json["tokens"]
    assert tokens["tokenizer"] == "o200k_base"
    assert tokens["definitions"]["tools"] == 5
    assert tokens["definitions"]["tokens"] == sick.json["servers"][0]["tokens"]
    for part in ("definitions", "exposed"):
        assert 0 < tokens[part]["tokens"] < tokens[part]["characters"]
    assert (count_tokens("hello"), count_tokens("")) == (1, 0)


def test_an_untrusted_project_file_is_a_hint(place: Path, sick: Done) -> None:
    assert sick.json["untrustedProjectFiles"] == [str(place / ".mcp.json")]
    assert sick.json["findings"][-1]["about"] == "project-file"


def test_the_page_fits_the_terminal_and_lists_every_server(done: dict[str, Done]) -> None:
    shown = done["terminal"].out.split("\x1b[?25h")[-1]
    lines = [re.sub(r"\x1b\[[0-9;]*[mAK]", "", line) for line in shown.splitlines() if line.strip()]
    assert done["terminal"].code == 1
    assert max(map(len, lines)) <= 60
    for name, state in (("plain", "ready"), ("dies", "failed"), ("off", "disabled")):
        assert re.search(rf"\b{name}\n +{state}\b", "\n".join(lines))
    assert not any(bad in done["terminal"].out for bad in ("\x1b]", "\x1b[2J", "\x9b", "\a"))


def test_a_hint_is_no_failure(done: dict[str, Done]) -> None:
    assert (done["healthy"].code, done["healthy"].err) == (0, "")
    assert "[definition-left-out]" in done["healthy"].out
    assert "\x1b" not in done["healthy"].out


def test_an_unknown_server_exits_with_2(done: dict[str, Done]) -> None:
    assert done["unknown"].code == 2
    assert "Error [server-not-found]" in done["unknown"].err


def test_without_any_server_it_is_a_hint(done: dict[str, Done]) -> None:
    assert done["empty"].code == 0
    assert "[no-server]" in done["empty"].out


@pytest.mark.slow
def test_ctrl_c_reports_what_is_known_so_far(tmp_path: Path) -> None:
    config = configure(tmp_path, PLAIN, python_server("hangs", "hang.py", start_timeout_seconds=300))
    with subprocess.Popen(
        [HALFLAP, "doctor", "--json", "-c", config],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        cwd=tmp_path,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert eventually(lambda: len(children_of(process.pid)) >= 2)
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, err) == (130, "")
    assert json.loads(out)["interrupted"] is True
