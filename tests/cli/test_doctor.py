from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import OLD, PLAIN, configure, environment, halflap, in_terminal, side_by_side
from halflap.cli.doctor_page import sandbox_lines
from halflap.cli.doctor_page import show as show_page
from halflap.cli.tokens import count_tokens, tokenizer_name
from support import HALFLAP, PATIENCE, ROOT, children_of, eventually, python_server

if TYPE_CHECKING:
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
    return side_by_side(
        {
            "sick": partial(halflap, *doctor, "--json", home=place),
            "narrow": partial(in_terminal, *doctor, "--log", home=place, columns=40),
            "usual": partial(in_terminal, *doctor, home=place, columns=80),
            "healthy": partial(halflap, *doctor, home=healthy),
            "unknown": partial(halflap, *doctor, "ecko", home=place),
            "empty": partial(halflap, "doctor", home=empty, PYTHONIOENCODING="ascii"),
        }
    )


@pytest.fixture(scope="module")
def sick(done: dict[str, Done]) -> Done:
    return done["sick"]


def page_of(done: Done) -> list[str]:
    """Give the lines of the page as they stand in the terminal, without what was shown while servers started."""
    shown = done.out.split("\x1b[?25h")[-1]
    return [re.sub(r"\x1b\[[0-9;]*[mAK]", "", line) for line in shown.splitlines() if line.strip()]


def test_one_sick_server_is_a_failure(sick: Done) -> None:
    assert sick.code == 1
    assert sick.json["healthy"] is False
    assert sick.json["summary"] == "5 of 6 servers need you; 1 hint"


def test_all_that_is_said_is_in_the_json_under_the_documented_keys(sick: Done) -> None:
    assert not sick.err
    assert sick.json.keys() == KEYS
    assert all(server.keys() == SERVER_KEYS for server in sick.json["servers"])
    assert all(finding.keys() == FINDING_KEYS for finding in sick.json["findings"])


@pytest.mark.parametrize(
    ("name", "code", "error"),
    [
        (
            "dies",
            "process-ended",
            "its process ended with exit code 7. Its last words: dies_at_start: the licence file",
        ),
        (
            "hangs",
            "start-timeout",
            "it did not get ready within 1 s. If it needs longer, set `start_timeout_seconds`",
        ),
        ("missing", "command-not-found", "the command 'no-such-program' was not found. Install it"),
        ("away", "not-reached", "it cannot be reached"),
    ],
)
def test_a_sick_server_has_its_last_error_and_what_to_do(
    place: Path, sick: Done, name: str, code: str, error: str
) -> None:
    server = next(one for one in sick.json["servers"] if one["name"] == name)
    assert (server["state"], server["healthy"]) == ("failed", False)
    assert server["lastError"].startswith(error)
    (finding,) = (one for one in sick.json["findings"] if one["server"] == name)
    assert finding["what"][1:] == server["lastError"][1:]
    assert finding["code"] == server["trouble"] == code
    assert finding["todo"].endswith(f"Its entry is in {place / 'halflap-test.json'}.")


def test_a_healthy_server_has_its_numbers(sick: Done) -> None:
    plain = sick.json["servers"][0]
    assert (plain["tools"], plain["outputs"]) == (5, {"declared": 1, "learned": 0, "unknown": 4})
    assert (plain["lastError"], plain["serverInfo"]) == (None, "plain 1")
    assert 0 < plain["startSeconds"] < 30


def test_the_log_of_a_dead_server_is_kept(sick: Done) -> None:
    logs = {server["name"]: server["log"] for server in sick.json["servers"]}
    assert logs["dies"] == ["dies_at_start: the licence file is missing"]


def test_the_cost_of_definitions_is_counted_not_guessed(sick: Done) -> None:
    tokens = sick.json["tokens"]
    assert (tokens["tokenizer"], tokens["toCount"]) == (tokenizer_name(), None)
    assert (tokens["definitions"]["tools"], tokens["exposed"]["tools"]) == (5, 12)
    assert tokens["definitions"]["tokens"] == sick.json["servers"][0]["tokens"]
    for part in ("definitions", "exposed"):
        assert 0 < tokens[part]["tokens"] < tokens[part]["characters"]


def test_a_word_is_one_token_and_what_cannot_be_written_has_some() -> None:
    assert (count_tokens("hello"), count_tokens("")) == (1, 0)
    assert (count_tokens("a\ud800b") or 0) > 1


def test_a_project_file_that_is_not_trusted_is_a_hint(place: Path, sick: Done) -> None:
    assert sick.json["untrustedProjectFiles"] == [str(place / ".mcp.json")]
    assert sick.json["findings"][-1]["about"] == "project-file"


@pytest.mark.parametrize(("which", "columns"), [("narrow", 40), ("usual", 80)])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(
    done: dict[str, Done], which: str, columns: int
) -> None:
    lines = page_of(done[which])
    assert done[which].code == 1
    assert lines[0] == "5 of 6 servers need you; 1 hint"
    assert max(map(len, lines)) <= columns
    words = " ".join(" ".join(lines).split())
    assert "Its last words: dies_at_start: the licence file is missing" in words
    for name, state in (("plain", "ready"), ("dies", "failed"), ("off", "disabled")):
        assert any(re.search(rf"\b{name} +{state}\b", line) for line in lines)


def test_the_worst_comes_first(done: dict[str, Done]) -> None:
    page = "\n".join(page_of(done["usual"]))
    places = [
        page.index(words) for words in ("✗ dies:", "✗ away:", "! ", "\n✗  dies", "\n✓  plain", "\nStore")
    ]
    assert places == sorted(places)


def test_colours_are_for_terminals(done: dict[str, Done]) -> None:
    assert "\x1b[1;31m5 of 6 servers need you" in done["usual"].out
    assert "\x1b" not in done["healthy"].out


def test_nothing_that_a_server_says_draws_on_the_terminal(done: dict[str, Done]) -> None:
    for which in ("narrow", "usual"):
        assert "it cannot" in " ".join(page_of(done[which]))
        assert not any(bad in done[which].out for bad in ("\x1b]", "\x1b[2J", "\x9b", "\a"))


def test_progress_is_shown_while_servers_start(done: dict[str, Done]) -> None:
    assert "waiting for" in done["usual"].out
    assert not done["healthy"].err


def test_a_hint_is_no_failure(done: dict[str, Done]) -> None:
    assert done["healthy"].code == 0
    lines = done["healthy"].out.splitlines()
    assert lines[0] == "The server is well; 1 hint"
    assert "! old: a tool without a name was left out [definition-left-out]" in lines
    assert "Tools      3, 3 of them callable" in lines
    assert any(line.startswith("Outputs    ░") for line in lines)


def test_a_server_that_is_not_configured_is_a_mistake(done: dict[str, Done]) -> None:
    assert done["unknown"].code == 2
    assert "There is no server named 'ecko'. There are: plain, dies, draws" in done["unknown"].err


def test_without_any_server_it_says_what_to_do(done: dict[str, Done]) -> None:
    assert done["empty"].code == 0
    assert "! No server is configured yet. [no-server]\n  > `halflap init` takes in" in done["empty"].out


def hangs(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return "hang.py" in Path(f"/proc/{pid}/cmdline").read_text()
    return False


def test_ctrl_c_ends_it_at_once_with_what_is_known(tmp_path: Path) -> None:
    config = configure(tmp_path, PLAIN, python_server("hangs", "hang.py", start_timeout_seconds=300))
    with subprocess.Popen(
        [HALFLAP, "doctor", "-c", config],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(tmp_path),
        cwd=tmp_path,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert eventually(lambda: any(map(hangs, children_of(process.pid))))
            os.killpg(process.pid, signal.SIGINT)
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert (process.returncode, err) == (130, "")
    # Whether the other one had started by then is a matter of luck.
    assert re.match("Interrupted; so far, no server is known to need you; (1 hint|2 hints)\n", out)
    assert "! hangs: It was still starting." in out
    assert "it was interrupted before" in out


@pytest.mark.parametrize(("name", "words"), [("jail", "run in the jail,"), ("monty", "run in monty,")])
def test_where_programs_run_is_said_in_words(name: str, words: str) -> None:
    ready: dict[str, Any] = {"name": name, "trouble": None, "layers": ["a", "b"], "missing": {}, "notes": []}
    ready["check"] = {"layers": ["c"], "missing": {"d": "none here"}, "trouble": None}
    assert sandbox_lines(ready) == [
        (f"{words} behind a, b", ""),
        ("checked before they run by ty, behind c", ""),
        ("the check without d: none here", "yellow"),
    ]
    ready["check"]["trouble"] = "it is off"
    assert sandbox_lines(ready)[1:] == [("not checked before they run: it is off", "yellow")]


def test_without_a_tokenizer_nothing_is_called_a_count(
    sick: Done, capsys: pytest.CaptureFixture[str]
) -> None:
    examined = sick.json
    to_count = "`pip install 'halflap[tokens]'` brings a tokenizer that counts them"
    examined["tokens"] |= {"tokenizer": None, "toCount": to_count}
    for part in ("definitions", "exposed"):
        examined["tokens"][part]["tokens"] = None
    for server in examined["servers"]:
        server["tokens"] = None
    show_page(examined, log=False)
    page = capsys.readouterr().out
    assert f"Tokens     not counted: {to_count}" in page
    assert f"{examined['tokens']['exposed']['characters']:,}" in page
    assert "counted with" not in page


def test_words_agree_with_their_numbers(sick: Done, capsys: pytest.CaptureFixture[str]) -> None:
    examined = {**sick.json, "tools": 1, "callable": 1}
    examined["store"] = {**examined["store"], "runs": 1, "calls": 1, "learnedTools": 1}
    examined["edges"] = {**examined["edges"], "total": 1}
    for counted in (None, "o200k_base"):
        size = {"tools": 1, "tokens": 30, "characters": 99}
        examined["tokens"] = {
            "tokenizer": counted, "toCount": "how", "definitions": size, "exposed": {**size, "tools": 5}
        }  # fmt: skip
        show_page(examined, log=False)
    page = capsys.readouterr().out
    assert "1 run, 1 call, 1 learned definition\n" in page
    assert "Tools      1, callable\n" in page
    assert "30 for 1 definition\n" in page
    assert "99 characters in 1 definition, 99 in the 5 that" in page
    assert not re.search(r"\b1 \w{2,}s\b", page.partition("\nTools")[2])


def test_what_does_not_fit_beside_a_server_stands_below_it_or_is_named(done: dict[str, Done]) -> None:
    narrow = " ".join(" ".join(page_of(done["narrow"])).split())
    assert re.search(
        r"✓ plain +ready 5 tools · output of 1 of 5 known · ready in [\d.]+ s · \d+ tokens · protocol 20",
        narrow,
    )
    assert " 0 tokens" not in narrow
    assert "Not shown for want of width: protocol. --json has all." in " ".join(page_of(done["usual"]))


@pytest.mark.parametrize("key", sorted(KEYS | SERVER_KEYS | FINDING_KEYS))
def test_every_key_is_documented(key: str) -> None:
    assert f"`{key}`" in (ROOT / "docs" / "doctor.md").read_text()
