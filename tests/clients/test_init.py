"""`halflap init`: import servers from other clients."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any

import pytest

from clients.homes import GITHUB, TIME, TOKEN, Home
from halflap.config import Config, load_config

if TYPE_CHECKING:
    from pathlib import Path


def cursor(person: Home, **servers: Any) -> Path:
    return person.write(".cursor/mcp.json", {"mcpServers": servers})


def loaded(person: Home) -> Config:
    return load_config(person.config, project=False)


def names(person: Home) -> list[str]:
    return [server.name for server in loaded(person).servers]


EVERYWHERE: dict[str, Any] = {
    ".claude.json": {"mcpServers": {"a": {"type": "stdio", **TIME}}, "numStartups": 7},
    ".config/Claude/claude_desktop_config.json": {"mcpServers": {"b": TIME}, "globalShortcut": ""},
    ".cursor/mcp.json": {"mcpServers": {"c": TIME}},
    ".config/Code/User/mcp.json": {"servers": {"d": {"type": "stdio", **TIME}}, "inputs": []},
    ".codeium/windsurf/mcp_config.json": {"mcpServers": {"g": {"serverUrl": "https://g.example/mcp"}}},
    "work/.mcp.json": {"mcpServers": {"h": TIME}},
    "work/.cursor/mcp.json": {"mcpServers": {"i": TIME}},
    "work/.vscode/mcp.json": {"servers": {"j": TIME}},
}


def test_servers_of_every_client_are_imported_into_one_configuration(person: Home) -> None:
    for name, content in EVERYWHERE.items():
        person.write(name, content)
    theirs = person.files()
    done = person.run("init", "--yes", "--project")
    assert done.code == 0, done.err
    assert names(person) == list("abcdghij")
    assert {name: data for name, data in person.files().items() if name in theirs} == theirs
    assert stat.S_IMODE(person.config.stat().st_mode) == 0o600
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Windsurf"):
        assert f"# from {client}, ~/" in person.config.read_text()


def test_running_it_again_changes_nothing(person: Home) -> None:
    for name, content in EVERYWHERE.items():
        person.write(name, content)
    assert person.run("init", "--yes", "--project").code == 0
    before = person.files()
    done = person.run("init", "--yes", "--project")
    assert done.code == 0
    assert done.out == ""
    assert person.files() == before
    assert not person.backups.exists()


def test_a_project_is_imported_only_on_request(person: Home) -> None:
    cursor(person, a=TIME)
    person.write("work/.mcp.json", {"mcpServers": {"theirs": TIME}})
    person.run("init", "--yes")
    assert names(person) == ["a"]


def test_two_servers_of_one_name_are_both_kept(person: Home) -> None:
    cursor(person, db={"command": "one"})
    person.write(".claude.json", {"mcpServers": {"db": {"command": "other"}}})
    done = person.run("init", "--yes")
    assert {server.name: server.command for server in loaded(person).servers} == {
        "db": "other",
        "db-cursor": "one",
    }
    assert "db-cursor" in done.err


def test_halflap_itself_is_never_imported(person: Home) -> None:
    cursor(
        person,
        gate={"command": "/x/halflap", "args": ["serve"]},
        halflap={"url": "http://127.0.0.1:1/mcp"},
        a=TIME,
    )
    person.run("init", "--yes")
    assert names(person) == ["a"]


def test_servers_of_projects_keep_their_working_folder(person: Home) -> None:
    project = person.folder / "code" / "shop"
    project.mkdir(parents=True)
    entry = {
        "mcpServers": {"db": {"command": "./db", "args": ["${X:-y}"]}, "off": TIME},
        "disabledMcpServers": ["off"],
    }
    person.write(".claude.json", {"projects": {str(project): entry}})
    person.run("init", "--yes")
    db, off = loaded(person).servers
    assert (db.command, db.cwd, db.args) == (f"{project}/db", str(project), ("y",))
    assert (off.name, off.disabled) == ("off", True)


def test_inputs_of_vs_code_become_variables(person: Home) -> None:
    inputs = [
        {"id": "api-key", "password": True, "description": "The key"},
        {"id": "region", "default": "eu"},
    ]
    servers = {
        "a": {**TIME, "env": {"KEY": "${input:api-key}"}},
        "b": {**TIME, "env": {"R": "${input:region}"}},
    }
    person.write(".config/Code/User/mcp.json", {"inputs": inputs, "servers": servers})
    done = person.run("init", "--yes")
    a, b = loaded(person).servers
    assert (a.disabled, dict(a.env)) == (True, {"KEY": "${API_KEY:-}"})
    assert (b.disabled, dict(b.env)) == (False, {"R": "eu"})
    assert "API_KEY" in done.err


@pytest.mark.parametrize(
    ("file", "args", "expected"),
    [
        (
            ".cursor/mcp.json",
            ["${env:HERE}", "${workspaceFolder}", "${SHELLISH}"],
            ["here", "{work}", "${SHELLISH}"],
        ),
        (".claude.json", ["${HERE}", "${GONE:-d}"], ["here", "d"]),
        (".config/Claude/claude_desktop_config.json", ["${HERE}", "$X"], ["${HERE}", "$X"]),
        (
            "work/.cursor/mcp.json",
            ["${workspaceFolder}/x", "${workspaceFolderBasename}"],
            ["{work}/x", "work"],
        ),
    ],
)
def test_variables_keep_their_meaning(
    person: Home, monkeypatch: pytest.MonkeyPatch, file: str, args: list[str], expected: list[str]
) -> None:
    monkeypatch.setenv("HERE", "here")
    person.write(file, {"mcpServers": {"a": {"command": "x", "args": args}}})
    person.run("init", "--yes", "--project")
    (server,) = loaded(person).servers
    assert list(server.args) == [text.replace("{work}", str(person.work)) for text in expected]


@pytest.mark.parametrize(
    "entry",
    [
        {**TIME, "enabledTools": ["x"]},
        {**TIME, "disabledTools": ["x"]},
        {**TIME, "args": ["${config:x.y}"]},
        {**TIME, "sandbox": {}, "sandboxEnabled": True},
    ],
)
def test_servers_that_would_not_work_as_before_are_written_disabled(
    person: Home, entry: dict[str, Any]
) -> None:
    cursor(person, a=entry, b=TIME)
    done = person.run("init", "--yes")
    assert {server.name: server.disabled for server in loaded(person).servers} == {"a": True, "b": False}
    assert "`a`" in done.err


def test_an_unset_variable_is_reported_and_affects_only_its_server(
    person: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERE", "here")
    cursor(
        person,
        a={"command": "${env:NOT_SET}"},
        b={**TIME, "env": {"A": "${env:NOT_SET}", "B": "${env:HERE}"}},
    )
    done = person.run("init", "--yes")
    assert "`a`" in done.err
    assert "NOT_SET" in done.err
    a, b = loaded(person).servers
    assert a.broken
    assert dict(b.env) == {"A": "", "B": "here"}


def test_servers_that_may_need_a_sign_in_are_named(person: Home) -> None:
    cursor(
        person,
        plain=TIME,
        remote={"url": "https://mcp.example.com/mcp"},
        signed={"url": "http://127.0.0.1:3000/", "oauth": {"clientId": "x"}},
        headed={"url": "https://mcp.example.com/headed", "headers": {"X-Key": "${env:KEY}"}},
        local={"url": "http://127.0.0.1:3000/"},
        query={"url": "https://mcp.example.com/mcp?key=k"},
    )
    assert person.run("init", "--yes", "--json").json["sign_in"] == ["remote", "signed"]


CODEX = """\
model = "gpt-5"  # mine
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]
env = { TOKEN = "${NOT_EXPANDED}" }
[mcp_servers.web]
url = "https://web.example/mcp"
bearer_token_env_var = "WEB_TOKEN"
http_headers = { "X-Team" = "a" }
[mcp_servers.off]
command = "off"
enabled = false
"""
ZED = """\
// Zed settings
{
  "theme": "One Dark",
  "context_servers": {
    "new": {"command": "new", "args": ["a"]},
    "old": {"command": {"path": "old", "args": ["b"], "env": {"A": "1"}}}, // before
    "extension": {"settings": {"key": "x"}},
  },
}
"""
GOOSE = """\
GOOSE_MODEL: x  # mine
extensions:
  developer: {enabled: true, type: builtin, name: developer}
  files:
    enabled: true
    type: stdio
    cmd: npx
    args: [-y, files]
    envs: {A: "1"}
  web: {enabled: false, type: streamable_http, uri: "https://web.example/mcp"}
"""


def test_formats_of_other_clients_are_understood(person: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEB_TOKEN", "secret-token")
    monkeypatch.setenv("GEMINI_KEY", "key")
    person.write(".codex/config.toml", CODEX)
    person.write(".config/zed/settings.json", ZED)
    person.write(".config/goose/config.yaml", GOOSE)
    gemini = {
        "a": {"command": "a", "env": {"K": "$GEMINI_KEY"}},
        "b": {"httpUrl": "https://b.example/mcp"},
        "c": {"url": "https://c.example/sse"},
    }
    person.write(".gemini/settings.json", {"mcpServers": gemini})
    done = person.run("init", "--yes", "--json")
    assert [one["name"] for one in done.json["kept_out"]] == ["extension", "developer"]
    found = {server.name: server for server in loaded(person).servers}
    assert list(found) == ["docs", "web", "off", "a", "b", "c", "new", "old", "files", "web-goose"]
    assert dict(found["docs"].env) == {"TOKEN": "${NOT_EXPANDED}"}
    assert dict(found["web"].headers) == {"X-Team": "a", "Authorization": "Bearer secret-token"}
    assert found["off"].disabled
    assert (dict(found["a"].env), found["c"].transport) == ({"K": "key"}, "sse")
    assert (found["old"].command, found["old"].args, dict(found["old"].env)) == ("old", ("b",), {"A": "1"})
    assert (found["files"].command, found["files"].args) == ("npx", ("-y", "files"))
    assert (found["web-goose"].url, found["web-goose"].disabled) == ("https://web.example/mcp", True)


def test_secrets_are_kept_but_not_shown(person: Home) -> None:
    cursor(person, github=GITHUB)
    done = person.run("init", "--yes")
    assert loaded(person).servers[0].env["GITHUB_TOKEN"] == TOKEN
    assert TOKEN not in done.out + done.err


def test_a_broken_file_does_not_hide_the_others(person: Home) -> None:
    person.write(".cursor/mcp.json", '{\n  "mcpServers": {\n    "a" 1\n  }\n}')
    person.write(".claude.json", {"mcpServers": {"b": TIME}})
    (person.folder / ".codeium/windsurf/mcp_config.json").mkdir(parents=True)
    done = person.run("init", "--yes")
    assert names(person) == ["b"]
    assert ".cursor/mcp.json:3: " in done.err
    assert "mcp_config.json" in done.err


EDITED = """\
# My servers, in my order.
mcpServers:
  zeta: {command: zeta}   # the last letter

  alpha:   # the first
    command: alpha
    args:
      - one
      # - two, some day
# How programs run.
execution: {timeout_seconds: 5}
"""


def test_later_runs_add_new_servers_and_keep_every_line(person: Home) -> None:
    person.config.parent.mkdir(parents=True)
    person.config.write_text(EDITED)
    person.config.chmod(0o640)
    cursor(person, alpha={"command": "alpha", "args": ["one"]}, new=TIME)
    done = person.run("init", "--yes")
    after = person.config.read_text()
    lines = iter(after.splitlines())
    assert all(line in lines for line in EDITED.splitlines())
    assert names(person) == ["zeta", "alpha", "new"]
    assert after.index("# - two, some day") < after.index("new:") < after.index("# How programs run.")
    assert stat.S_IMODE(person.config.stat().st_mode) == 0o640
    (copy,) = person.backups.iterdir()
    assert copy.read_text() == EDITED
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert str(copy) in done.err


def test_a_server_that_was_changed_here_is_left_alone(person: Home) -> None:
    cursor(person, github=GITHUB)
    person.run("init", "--yes")
    person.config.write_text(person.config.read_text().replace("npx", "/my/npx"))
    before = person.files()
    done = person.run("init", "--yes", "--json")
    assert [one["name"] for one in done.json["kept_out"]] == ["github"]
    assert person.files() == before


def test_a_broken_configuration_is_left_alone(person: Home) -> None:
    person.config.parent.mkdir(parents=True)
    person.config.write_text("mcpServers:\n  a: {comand: x}\n")
    cursor(person, b=TIME)
    done = person.run("init", "--yes")
    assert done.code == 2
    assert "config.yaml:2" in done.err
    assert person.config.read_text() == "mcpServers:\n  a: {comand: x}\n"
