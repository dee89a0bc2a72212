"""`halflap install`, `--move` and `--undo`."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from clients.homes import TIME, Home
from clients.test_init import CODEX, GOOSE
from halflap.cli.commands import clients

CURSOR = ".cursor/mcp.json"
FILES = {
    "claude-code": (".claude.json", "mcpServers"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "cursor": (CURSOR, "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
    "windsurf": (".codeium/windsurf/mcp_config.json", "mcpServers"),
    "gemini": (".gemini/settings.json", "mcpServers"),
    "zed": (".config/zed/settings.json", "context_servers"),
    "cline": (
        ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
        "mcpServers",
    ),
}
MINE: dict[str, Any] = {
    "mcpServers": {"time": TIME, "work": {"command": "work"}},
    "theme": ["dark", {"a": None}],
    "last": "é",
}
COMMENTED = '{\n  // My servers.\n  "mcpServers": {"time": {"command": "uvx"}}\n}\n'


@pytest.fixture(autouse=True)
def _configured(person: Home) -> None:
    configured(person, time=TIME)


def configured(person: Home, **servers: Any) -> None:
    person.write(".config/halflap/config.yaml", json.dumps({"mcpServers": servers}))


def install(person: Home, *words: str) -> Any:
    """Install, and return what it reports."""
    done = person.run("install", *words, "--yes", "--json")
    assert done.code == 0, done.err
    return done.json


def servers_in(path: Path, key: str = "mcpServers") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_bytes())[key]
    return found


@pytest.mark.parametrize("client", FILES)
def test_halflap_is_added_beside_other_servers_and_undone_without_a_trace(person: Home, client: str) -> None:
    name, key = FILES[client]
    path = person.write(name, {"other": [1, {"a": None}], key: {"mine": {"command": "x"}}, "last": "é"})
    before = path.read_bytes()
    install(person, client)
    after = json.loads(path.read_bytes())
    entry = after[key].pop("halflap")
    assert after == json.loads(before)
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-1] == "serve"
    assert entry.get("alwaysLoad", False) is (client == "claude-code")
    installed = path.read_bytes()
    install(person, client)
    assert (path.read_bytes(), len(list(person.backups.iterdir()))) == (installed, 1)
    install(person, client, "--undo")
    assert path.read_bytes() == before


@pytest.mark.slow
def test_the_written_command_starts_halflap_without_a_path(person: Home) -> None:
    path = person.write(CURSOR, {})
    install(person, "cursor")
    entry = servers_in(path)["halflap"]
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    kept = {name: os.environ[name] for name in ("HOME", "PYTHONPATH") if name in os.environ}
    process = subprocess.run(
        [entry["command"], *entry["args"]],
        input=json.dumps(greeting).encode() + b"\n",
        env={**kept, **entry.get("env", {})},
        capture_output=True,
        timeout=60,
        check=False,
    )
    answer = json.loads(process.stdout.splitlines()[0])
    assert answer["result"]["serverInfo"]["name"] == "halflap", process.stderr


def test_codex_and_goose_keep_their_comments(person: Home) -> None:
    codex = person.write(".codex/config.toml", CODEX)
    goose = person.write(".config/goose/config.yaml", GOOSE)
    for client, path, text in (("codex", codex, CODEX), ("goose", goose, GOOSE)):
        install(person, client)
        lines = iter(path.read_text().splitlines())
        assert all(line in lines for line in text.splitlines())
        install(person, client, "--undo")
        assert path.read_text() == text
    install(person, "codex")
    assert tomllib.loads(codex.read_text())["mcp_servers"]["halflap"]["args"] == ["serve"]


def test_move_takes_out_what_halflap_has_and_names_the_rest(person: Home) -> None:
    configured(person, time=TIME, work={"command": "another"})
    path = person.write(CURSOR, MINE)
    before = path.read_bytes()
    done = install(person, "cursor", "--move")
    assert (done["moved"], [one["name"] for one in done["stays"]]) == (["time"], ["work"])
    assert sorted(servers_in(path)) == ["halflap", "work"]
    install(person, "cursor", "--undo")
    assert path.read_bytes() == before


def test_projects_of_claude_code_are_moved_and_restored(person: Home) -> None:
    (person.folder / "shop").mkdir()
    project = str(person.folder / "shop")
    servers = {"a": {"command": "./a"}, "b": TIME}
    value: dict[str, Any] = {
        "mcpServers": {},
        "projects": {project: {"mcpServers": servers, "history": []}},
    }
    path = person.write(".claude.json", value)
    person.run("init", "--yes")
    assert install(person, "claude-code", "--move")["moved"] == ["a", "b"]
    changed = json.loads(path.read_bytes())
    assert changed["projects"][project] == {"mcpServers": {}, "history": []}
    # Claude Code writes its file whenever it likes.
    path.write_text(json.dumps({**changed, "numStartups": 8}, indent=2))
    install(person, "claude-code", "--undo")
    assert json.loads(path.read_bytes()) == {**value, "numStartups": 8}


def test_undo_after_other_changes_takes_out_only_halflap(person: Home) -> None:
    path = person.write(CURSOR, MINE)
    install(person, "cursor", "--move")
    path.write_text(path.read_text().replace("work", "office"))
    done = install(person, "cursor", "--undo")
    assert (done["exact"], done["restored"]) == (False, ["time"])
    servers = {"office": {"command": "office"}, "time": TIME}
    assert json.loads(path.read_bytes()) == {**MINE, "mcpServers": servers}


@pytest.mark.parametrize(
    "content",
    [
        '{\n "mcpServers": {\n  "a": 1\n  "b": 2\n }\n}',
        '{"mcpServers": []}',
        '{"mcpServers": {"halflap": {"command": "other"}}}',
        "\udcff",
    ],
)
def test_a_file_that_cannot_be_edited_safely_is_left_alone(person: Home, content: str) -> None:
    path = person.write(CURSOR, "")
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    before = person.files()
    done = person.run("install", "cursor", "--yes")
    assert (done.code, str(path) in done.err) == (1, True)
    assert person.files() == before


@pytest.mark.parametrize(
    ("client", "file", "text"),
    [
        ("goose", ".config/goose/config.yaml", "&a\nextensions: &all\n  a: {cmd: x}\nmore: *all\n"),
        ("cursor", CURSOR, COMMENTED),
    ],
)
def test_where_no_edit_is_safe_the_snippet_is_printed(
    person: Home, client: str, file: str, text: str
) -> None:
    path = person.write(file, text)
    done = person.run("install", client, "--yes")
    assert (done.code, path.read_text()) == (1, text)
    printed = yaml.safe_load(done.err.partition("\n\n")[2])
    assert next(iter(printed.values()))["halflap"]["args"] == ["serve"]


def test_a_file_that_changes_during_the_question_is_edited_again(
    person: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, changed = person.write(".claude.json", {"numStartups": 1}), '{"numStartups": 2, "tips": {}}'
    monkeypatch.setattr(clients, "confirm", lambda *_, **__: path.write_text(changed))
    install(person, "claude-code")
    after = json.loads(path.read_bytes())
    assert (after["numStartups"], list(after["mcpServers"])) == (2, ["halflap"])
    install(person, "claude-code", "--undo")
    assert path.read_text() == changed


@pytest.mark.parametrize("lost", ["file", "layout"])
def test_an_undo_that_is_not_possible_names_the_backups(person: Home, lost: str) -> None:
    path = person.write(CURSOR, MINE)
    install(person, "cursor", "--move")
    path.unlink() if lost == "file" else path.write_text("[]")
    done = person.run("install", "cursor", "--undo", "--yes")
    assert (done.code, str(person.backups) in done.err) == (1, True)


def test_servers_with_a_sign_in_are_not_moved(person: Home) -> None:
    person.write(CURSOR, {"mcpServers": {"a": TIME, "b": {"url": "https://b.example/mcp"}}})
    person.run("init", "--yes")
    done = install(person, "cursor", "--move")
    assert (done["moved"], [one["name"] for one in done["stays"]]) == (["a"], ["b"])


def test_an_entry_there_was_is_updated_and_restored(person: Home) -> None:
    started = {"command": "halflap", "args": ["serve", "--config", "/my.yaml"], "disabled": False}
    path = person.write(CURSOR, {"mcpServers": {"gate": started}})
    install(person, "cursor")
    now = servers_in(path)["gate"]
    assert (now["args"], now["disabled"]) == (["serve"], False)
    path.write_text(path.read_text().replace("false", "true"))
    install(person, "cursor", "--undo")
    assert servers_in(path) == {"gate": started}


@pytest.mark.parametrize("changed", [False, True])
def test_two_installations_are_undone_together(person: Home, changed: bool) -> None:
    path = person.write(CURSOR, MINE)
    original = path.read_text()
    install(person, "cursor")
    if changed:
        path.write_text(path.read_text().replace("dark", "light"))
    assert install(person, "cursor", "--move")["moved"] == ["time"]
    assert install(person, "cursor", "--undo")["exact"] is True
    assert path.read_text() == (original.replace("dark", "light") if changed else original)
