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

FILES = {
    "claude-code": (".claude.json", "mcpServers"),
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
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


def configured(person: Home, **servers: Any) -> None:
    person.write(".config/halflap/config.yaml", json.dumps({"mcpServers": servers or {"time": TIME}}))


def entry(path: Path, key: str = "mcpServers") -> dict[str, Any]:
    found = json.loads(path.read_bytes())[key]["halflap"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("client", FILES)
def test_halflap_is_added_beside_other_servers_and_undone_without_a_trace(person: Home, client: str) -> None:
    configured(person)
    name, key = FILES[client]
    path = person.write(name, {"other": [1, {"a": None}], key: {"mine": {"command": "x"}}, "last": "é"})
    before = path.read_bytes()
    done = person.run("install", client, "--yes")
    assert done.code == 0, done.err
    after = json.loads(path.read_bytes())
    assert sorted(after[key]) == ["halflap", "mine"]
    del after[key]["halflap"]
    assert after == json.loads(before)
    command = [entry(path, key)["command"], *entry(path, key)["args"]]
    assert Path(command[0]).is_absolute()
    assert command[-1] == "serve"
    assert entry(path, key).get("alwaysLoad", False) is (client == "claude-code")
    assert person.run("install", client, "--undo", "--yes").code == 0
    assert path.read_bytes() == before


@pytest.mark.parametrize("client", ["claude-code", "vscode"])
def test_installing_twice_changes_nothing(person: Home, client: str) -> None:
    configured(person)
    path = person.write(FILES[client][0], {})
    person.run("install", client, "--yes")
    before = path.read_bytes()
    person.run("install", client, "--yes")
    assert path.read_bytes() == before
    assert len(list(person.backups.iterdir())) == 1
    person.run("install", client, "--undo", "--yes")
    assert path.read_bytes() == b"{}\n"


@pytest.mark.slow
def test_the_written_command_starts_halflap_without_a_path(person: Home) -> None:
    configured(person)
    path = person.write(".cursor/mcp.json", {})
    person.run("install", "cursor", "--yes")
    command = [entry(path)["command"], *entry(path)["args"]]
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    greeting["params"] = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    kept = {name: os.environ[name] for name in ("HOME", "PYTHONPATH") if name in os.environ}
    process = subprocess.run(
        command,
        input=json.dumps(greeting).encode() + b"\n",
        env={**kept, **entry(path).get("env", {})},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert json.loads(process.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "halflap", (
        process.stderr
    )


def test_codex_and_goose_keep_their_comments(person: Home) -> None:
    configured(person)
    codex = person.write(".codex/config.toml", CODEX)
    goose = person.write(".config/goose/config.yaml", GOOSE)
    for client, path, text in (("codex", codex, CODEX), ("goose", goose, GOOSE)):
        assert person.run("install", client, "--yes").code == 0
        lines = iter(path.read_text().splitlines())
        assert all(line in lines for line in text.splitlines())
        assert person.run("install", client, "--undo", "--yes").code == 0
        assert path.read_text() == text
    person.run("install", "codex", "--yes")
    assert tomllib.loads(codex.read_text())["mcp_servers"]["halflap"]["args"] == ["serve"]


def test_move_takes_out_what_halflap_has_and_names_the_rest(person: Home) -> None:
    configured(person, time=TIME, work={"command": "another"})
    path = person.write(".cursor/mcp.json", MINE)
    before = path.read_bytes()
    done = person.run("install", "cursor", "--move", "--yes", "--json")
    assert (done.json["moved"], [one["name"] for one in done.json["stays"]]) == (["time"], ["work"])
    assert sorted(json.loads(path.read_bytes())["mcpServers"]) == ["halflap", "work"]
    person.run("install", "cursor", "--undo", "--yes")
    assert path.read_bytes() == before


def test_projects_of_claude_code_are_moved_and_restored(person: Home) -> None:
    (person.folder / "shop").mkdir()
    project = str(person.folder / "shop")
    value = {
        "mcpServers": {},
        "projects": {project: {"mcpServers": {"a": {"command": "./a"}, "b": TIME}, "history": []}},
    }
    path = person.write(".claude.json", json.dumps(value))
    before = path.read_bytes()
    person.run("init", "--yes")
    done = person.run("install", "claude-code", "--move", "--yes", "--json")
    assert done.json["moved"] == ["a", "b"]
    assert json.loads(path.read_bytes())["projects"][project] == {"mcpServers": {}, "history": []}
    # Claude Code writes its file whenever it likes.
    changed = json.loads(path.read_bytes())
    path.write_text(json.dumps({**changed, "numStartups": 8}, indent=2))
    person.run("install", "claude-code", "--undo", "--yes")
    assert json.loads(path.read_bytes()) == {**json.loads(before), "numStartups": 8}


def test_undo_after_other_changes_takes_out_only_halflap(person: Home) -> None:
    configured(person)
    path = person.write(".cursor/mcp.json", MINE)
    person.run("install", "cursor", "--move", "--yes")
    path.write_text(path.read_text().replace("work", "office"))
    done = person.run("install", "cursor", "--undo", "--yes", "--json")
    assert (done.json["exact"], done.json["restored"]) == (False, ["time"])
    servers = {"office": {"command": "office"}, "time": TIME}
    assert json.loads(path.read_bytes()) == {**MINE, "mcpServers": servers}


def test_without_a_terminal_and_without_yes_nothing_is_written(person: Home) -> None:
    configured(person)
    path = person.write(".cursor/mcp.json", MINE)
    before = path.read_bytes()
    assert person.run("install", "cursor").code == 2
    assert person.run("install", "cursor", "--dry-run").code == 0
    assert path.read_bytes() == before
    assert not person.backups.exists()
    assert person.run("install", "cursor", "--undo", "--yes").code == 2


REFUSED = {
    "a mistake": '{\n "mcpServers": {\n  "a": 1\n  "b": 2\n }\n}',
    "a list": "[]",
    "no object": '{"mcpServers": []}',
    "another": '{"mcpServers": {"halflap": {"command": "other"}}}',
    "by URL": '{"mcpServers": {"halflap": {"url": "http://127.0.0.1:8765/mcp"}}}',
    "not UTF-8": "\udcff",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_file_that_cannot_be_edited_safely_is_left_alone(person: Home, kind: str) -> None:
    configured(person)
    path = person.write(".cursor/mcp.json", "")
    path.write_bytes(REFUSED[kind].encode("utf-8", "surrogateescape"))
    before = person.files()
    done = person.run("install", "cursor", "--yes")
    assert done.code == 1
    assert str(path) in done.err
    assert person.files() == before


@pytest.mark.parametrize(
    ("client", "file", "text"),
    [
        ("goose", ".config/goose/config.yaml", "&a\nextensions: &all\n  a: {cmd: x}\nmore: *all\n"),
        ("cursor", ".cursor/mcp.json", COMMENTED),
    ],
)
def test_where_no_edit_is_safe_the_snippet_is_printed(
    person: Home, client: str, file: str, text: str
) -> None:
    configured(person)
    path = person.write(file, text)
    done = person.run("install", client, "--yes")
    assert (done.code, path.read_text()) == (1, text)
    printed = yaml.safe_load(done.err.partition("\n\n")[2])
    assert next(iter(printed.values()))["halflap"]["args"] == ["serve"]


def test_a_file_that_changes_during_the_question_is_edited_again(
    person: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(person)
    path = person.write(".claude.json", {"numStartups": 1})
    monkeypatch.setattr(
        clients, "confirm", lambda *_, **__: path.write_text('{"numStartups": 2, "tips": {}}')
    )
    assert person.run("install", "claude-code", "--yes").code == 0
    after = json.loads(path.read_bytes())
    assert after["numStartups"] == 2
    assert "halflap" in after["mcpServers"]
    person.run("install", "claude-code", "--undo", "--yes")
    assert path.read_text() == '{"numStartups": 2, "tips": {}}'


@pytest.mark.parametrize("lost", ["file", "layout"])
def test_an_undo_that_is_not_possible_names_the_backups(person: Home, lost: str) -> None:
    configured(person)
    path = person.write(".cursor/mcp.json", MINE)
    person.run("install", "cursor", "--move", "--yes")
    path.unlink() if lost == "file" else path.write_text("[]")
    done = person.run("install", "cursor", "--undo", "--yes")
    assert (done.code, str(person.backups) in done.err) == (1, True)


def test_servers_with_a_sign_in_are_not_moved(person: Home) -> None:
    person.write(".cursor/mcp.json", {"mcpServers": {"a": TIME, "b": {"url": "https://b.example/mcp"}}})
    person.run("init", "--yes")
    done = person.run("install", "cursor", "--move", "--yes", "--json")
    assert (done.json["moved"], [one["name"] for one in done.json["stays"]]) == (["a"], ["b"])


def test_an_entry_there_was_is_updated_and_restored(person: Home) -> None:
    configured(person)
    started = {"command": "halflap", "args": ["serve", "--config", "/my.yaml"], "disabled": False}
    path = person.write(".cursor/mcp.json", {"mcpServers": {"gate": started}})
    person.run("install", "cursor", "--yes")
    now = json.loads(path.read_bytes())["mcpServers"]["gate"]
    assert (now["args"], now["disabled"]) == (["serve"], False)
    path.write_text(path.read_text().replace("false", "true"))
    person.run("install", "cursor", "--undo", "--yes")
    assert json.loads(path.read_bytes()) == {"mcpServers": {"gate": started}}


@pytest.mark.parametrize("changed", [False, True])
def test_two_installations_are_undone_together(person: Home, changed: bool) -> None:
    configured(person)
    path = person.write(".cursor/mcp.json", MINE)
    original = path.read_text()
    person.run("install", "cursor", "--yes")
    if changed:
        path.write_text(path.read_text().replace("dark", "light"))
    assert person.run("install", "cursor", "--move", "--yes", "--json").json["moved"] == ["time"]
    assert person.run("install", "cursor", "--undo", "--yes", "--json").json["exact"] is True
    assert path.read_text() == (original.replace("dark", "light") if changed else original)
