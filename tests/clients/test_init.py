"""`halflap init`: import servers from other clients."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any

import pytest

from clients.homes import TIME, Home
from halflap.config import load_config

if TYPE_CHECKING:
    from cli.program import Done
    from halflap.config import ServerConfig


def imported(person: Home, *options: str, **cursor: Any) -> tuple[dict[str, ServerConfig], Done]:
    """Import from the files there are, and these servers of Cursor; return what is configured then."""
    if cursor:
        person.write(".cursor/mcp.json", {"mcpServers": cursor})
    done = person.run("init", "--yes", *options)
    assert done.code == 0, done.err
    return {one.name: one for one in load_config(person.config, project=False).servers}, done


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


def test_servers_of_every_client_are_imported_once_into_one_configuration(person: Home) -> None:
    for name, content in EVERYWHERE.items():
        person.write(name, content)
    theirs = person.files()
    assert list(imported(person)[0]) == list("abcdg")
    assert list(imported(person, "--project")[0]) == list("abcdghij")
    before = person.files()
    assert {name: data for name, data in before.items() if name in theirs} == theirs
    assert stat.S_IMODE(person.config.stat().st_mode) == 0o600
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Windsurf"):
        assert f"# from {client}, ~/" in person.config.read_text()
    imported(person, "--project")
    assert person.files() == before


def test_two_servers_of_one_name_are_both_kept(person: Home) -> None:
    person.write(".claude.json", {"mcpServers": {"db": {"command": "other"}}})
    found, done = imported(person, db={"command": "one"})
    assert {name: one.command for name, one in found.items()} == {"db": "other", "db-cursor": "one"}
    assert "db-cursor" in done.err


def test_halflap_itself_is_never_imported(person: Home) -> None:
    gate = {"command": "/x/halflap", "args": ["serve"]}
    found, _ = imported(person, gate=gate, halflap={"url": "http://127.0.0.1:1/mcp"}, a=TIME)
    assert list(found) == ["a"]


def test_servers_of_projects_keep_their_working_folder(person: Home) -> None:
    project = person.folder / "code" / "shop"
    project.mkdir(parents=True)
    servers = {"db": {"command": "./db", "args": ["${X:-y}"]}, "off": TIME}
    entry = {"mcpServers": servers, "disabledMcpServers": ["off"]}
    person.write(".claude.json", {"projects": {str(project): entry}})
    found, _ = imported(person)
    assert (found["db"].command, found["db"].cwd) == (f"{project}/db", str(project))
    assert (found["db"].args, found["off"].disabled) == (("y",), True)


def test_inputs_of_vs_code_become_variables(person: Home) -> None:
    inputs = [{"id": "api-key", "password": True}, {"id": "region", "default": "eu"}]
    env = {"a": {"KEY": "${input:api-key}"}, "b": {"R": "${input:region}"}}
    servers = {name: {**TIME, "env": variables} for name, variables in env.items()}
    person.write(".config/Code/User/mcp.json", {"inputs": inputs, "servers": servers})
    found, done = imported(person)
    assert (found["a"].disabled, dict(found["a"].env)) == (True, {"KEY": "${API_KEY:-}"})
    assert (found["b"].disabled, dict(found["b"].env)) == (False, {"R": "eu"})
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
    found, _ = imported(person, "--project")
    assert list(found["a"].args) == [text.replace("{work}", str(person.work)) for text in expected]


@pytest.mark.parametrize(
    "more", [{"enabledTools": ["x"]}, {"args": ["${config:x.y}"]}, {"sandbox": {}, "sandboxEnabled": True}]
)
def test_servers_that_would_not_work_as_before_are_written_disabled(person: Home, more: Any) -> None:
    found, done = imported(person, a={**TIME, **more}, b=TIME)
    assert {name: one.disabled for name, one in found.items()} == {"a": True, "b": False}
    assert "`a`" in done.err


def test_an_unset_variable_is_reported_and_affects_only_its_server(person: Home) -> None:
    unset = "${env:NOT_SET}"
    found, done = imported(person, a={"command": unset}, b={**TIME, "env": {"A": unset, "B": "1"}})
    assert ("`a`" in done.err, "NOT_SET" in done.err) == (True, True)
    assert found["a"].broken
    assert dict(found["b"].env) == {"A": "", "B": "1"}


def test_servers_that_may_need_a_sign_in_are_named_and_who_is_signed_in(person: Home) -> None:
    held = {"principal": "local", "signed_in_at": 0, "expires_at": 86_400, "renews_itself": False}
    person.write(".local/share/halflap/sign-ins/x.json", held | {"url": "https://mcp.example.com/held"})
    _, done = imported(
        person,
        "--json",
        plain=TIME,
        held={"url": "https://mcp.example.com/held"},
        remote={"url": "https://mcp.example.com/mcp"},
        signed={"url": "http://127.0.0.1:3000/", "oauth": {"clientId": "x"}},
        headed={"url": "https://mcp.example.com/headed", "headers": {"X-Key": "${env:KEY}"}},
        local={"url": "http://127.0.0.1:3000/"},
        query={"url": "https://mcp.example.com/mcp?key=k"},
    )
    assert done.json["sign_in"] == ["remote", "signed"]
    assert done.json["signed_in"]["held"][0]["expiresAt"] == "1970-01-02T00:00:00+00:00"


CODEX = """\
model = "gpt-5"  # mine
[mcp_servers.docs]
command = "npx"
args = ["-y", "docs"]
env = { TOKEN = "${NOT_EXPANDED}" }
startup_timeout_sec = 20
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
    env_keys: [FILES_KEY]
  web: {enabled: false, type: streamable_http, uri: "https://web.example/mcp"}
"""
GEMINI = {
    "a": {"command": "a", "env": {"K": "$GEMINI_KEY"}},
    "b": {"httpUrl": "https://b.example/mcp"},
    "c": {"url": "https://c.example/sse"},
}


def test_formats_of_other_clients_are_understood(person: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEB_TOKEN", "secret-token")
    monkeypatch.setenv("GEMINI_KEY", "key")
    person.write(".codex/config.toml", CODEX)
    person.write(".config/zed/settings.json", ZED)
    person.write(".config/goose/config.yaml", GOOSE)
    person.write(".gemini/settings.json", {"mcpServers": GEMINI})
    found, done = imported(person, "--json")
    assert [one["name"] for one in done.json["kept_out"]] == ["extension", "developer"]
    assert list(found) == ["docs", "web", "off", "a", "b", "c", "new", "old", "files", "web-goose"]
    assert dict(found["docs"].env) == {"TOKEN": "${NOT_EXPANDED}"}
    assert found["docs"].start_timeout_seconds == 20
    assert dict(found["web"].headers) == {"X-Team": "a", "Authorization": "Bearer secret-token"}
    assert found["off"].disabled
    assert (dict(found["a"].env), found["c"].transport) == ({"K": "key"}, "sse")
    assert (found["old"].command, found["old"].args, dict(found["old"].env)) == ("old", ("b",), {"A": "1"})
    assert (found["files"].command, found["files"].args) == ("npx", ("-y", "files"))
    assert found["files"].inherit_env == ("FILES_KEY",)
    assert "FILES_KEY is not set here" in done.err
    assert (found["web-goose"].url, found["web-goose"].disabled) == ("https://web.example/mcp", True)


def test_a_broken_file_does_not_hide_the_others(person: Home) -> None:
    person.write(".cursor/mcp.json", '{\n  "mcpServers": {\n    "a" 1\n  }\n}')
    (person.folder / ".codeium/windsurf/mcp_config.json").mkdir(parents=True)
    person.write(".claude.json", {"mcpServers": {"b": TIME}})
    found, done = imported(person)
    assert list(found) == ["b"]
    assert (".cursor/mcp.json:3: " in done.err, "mcp_config.json" in done.err) == (True, True)


def test_a_broken_entry_does_not_prevent_other_changes(person: Home) -> None:
    person.write(".config/halflap/config.yaml", "mcpServers:\n  a: {comand: x}\n  b: 1\n")
    assert list(imported(person, c=TIME)[0]) == ["a", "b", "c"]
    assert person.run("add", "d", "--", "echo").code == 0
    assert person.run("disable", "a").code == 0
    assert person.run("disable", "b").code == 1
    assert [person.run("remove", name).code for name in "ab"] == [0, 0]
    assert list(imported(person)[0]) == ["c", "d"]
