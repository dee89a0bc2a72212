from __future__ import annotations

import json
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
    ".config/Code/User/settings.json": {"editor.tabSize": 2, "mcp": {"servers": {"e": TIME}}},
    ".config/Code - Insiders/User/mcp.json": {"servers": {"f": TIME}},
    ".codeium/windsurf/mcp_config.json": {"mcpServers": {"g": {"serverUrl": "https://g.example/mcp"}}},
    "work/.mcp.json": {"mcpServers": {"h": TIME}},
    "work/.cursor/mcp.json": {"mcpServers": {"i": TIME}},
    "work/.vscode/mcp.json": {"servers": {"j": TIME}},
}


def test_the_servers_of_every_client_come_into_one_configuration(person: Home) -> None:
    for name, content in EVERYWHERE.items():
        person.write(name, content)
    theirs = person.files()
    done = person.run("init", "--yes", "--project")
    assert done.code == 0, done.err
    assert names(person) == list("abcdefghij")
    assert loaded(person).server.families == ("core",)
    assert {name: data for name, data in person.files().items() if name in theirs} == theirs
    assert stat.S_IMODE(person.config.stat().st_mode) == 0o600
    for client in ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "VS Code Insiders", "Windsurf"):
        assert f"# from {client}, ~/" in person.config.read_text()


def test_running_it_again_changes_nothing(person: Home) -> None:
    for name, content in EVERYWHERE.items():
        person.write(name, content)
    assert person.run("init", "--yes", "--project").code == 0
    before = person.files()
    done = person.run("init", "--yes", "--project")
    assert done.code == 0
    assert "Nothing is new" in done.err
    assert done.out == ""
    assert person.files() == before
    assert not person.backups.exists()


def test_without_a_terminal_and_without_yes_nothing_is_written(person: Home) -> None:
    cursor(person, a=TIME)
    done = person.run("init")
    assert done.code == 2
    assert "+  a:" in done.out
    assert "Nothing was written: there is nobody to ask here." in done.err
    assert not person.config.exists()


@pytest.mark.parametrize("option", ["--print", "--dry-run"])
def test_it_can_only_show(person: Home, option: str) -> None:
    cursor(person, a=TIME)
    before = person.files()
    done = person.run("init", option, "--yes")
    assert done.code == 0
    assert done.out.startswith(f"--- /dev/null\n+++ {person.config}\n")
    assert person.files() == before


def test_with_yes_a_project_has_to_be_asked_for(person: Home) -> None:
    cursor(person, a=TIME)
    person.write("work/.mcp.json", {"mcpServers": {"theirs": TIME}})
    done = person.run("init", "--yes")
    assert names(person) == ["a"]
    assert "--project too" in done.err


def test_where_there_is_nothing_nothing_is_written(person: Home) -> None:
    done = person.run("init", "--yes")
    assert done.code == 0
    assert "no MCP server" in done.err
    assert not person.config.exists()


def test_one_server_in_several_clients_is_one(person: Home) -> None:
    cursor(person, github=GITHUB)
    person.write(".claude.json", {"mcpServers": {"github": {"type": "stdio", **GITHUB, "alwaysLoad": True}}})
    done = person.run("init", "--yes")
    assert names(person) == ["github"]
    assert "also from Cursor" in person.config.read_text()
    assert "about the client alone: alwaysLoad" in done.err


def test_two_servers_of_one_name_are_both_kept(person: Home) -> None:
    cursor(person, db={"command": "one"})
    person.write(".claude.json", {"mcpServers": {"db": {"command": "other"}}})
    done = person.run("init", "--yes")
    assert {server.name: server.command for server in loaded(person).servers} == {
        "db": "other",
        "db-cursor": "one",
    }
    assert "`db` of Cursor, ~/.cursor/mcp.json comes in as `db-cursor`" in done.err


def test_halflap_itself_is_never_taken_in(person: Home) -> None:
    cursor(
        person,
        gate={"command": "/x/halflap", "args": ["serve"]},
        halflap={"url": "http://127.0.0.1:1/mcp"},
        a=TIME,
    )
    person.run("init", "--yes")
    assert names(person) == ["a"]


def test_servers_of_projects_run_where_they_ran(person: Home) -> None:
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


def test_a_server_of_a_project_that_is_gone_is_not_started(person: Home) -> None:
    person.write(".claude.json", {"projects": {"/nowhere/at/all": {"mcpServers": {"a": TIME}}}})
    done = person.run("init", "--yes")
    assert loaded(person).servers[0].disabled
    assert "the folder of its project is not there any more" in done.err


def test_what_is_switched_off_stays_so(person: Home) -> None:
    person.write(".codeium/windsurf/mcp_config.json", {"mcpServers": {"a": {**TIME, "disabled": True}}})
    person.write("work/.mcp.json", {"mcpServers": {"b": TIME}})
    person.write(".claude.json", {"projects": {str(person.work): {"disabledMcpjsonServers": ["b"]}}})
    person.run("init", "--yes", "--project")
    assert {server.name: server.disabled for server in loaded(person).servers} == {"a": True, "b": True}


def test_tools_that_are_switched_off_stay_so(person: Home) -> None:
    servers = {"my-files": {**TIME, "disabledTools": ["delete", "move"]}}
    person.write(".codeium/windsurf/mcp_config.json", {"mcpServers": servers})
    person.run("init", "--yes")
    assert loaded(person).tools.block == ("mcp__my_files__delete", "mcp__my_files__move")


def test_tools_that_cannot_be_switched_off_keep_their_server_from_starting(person: Home) -> None:
    person.config.parent.mkdir(parents=True)
    person.config.write_text("tools:\n  pin: hold\n")
    person.write(
        ".codeium/windsurf/mcp_config.json", {"mcpServers": {"a": {**TIME, "disabledTools": ["delete"]}}}
    )
    done = person.run("init", "--yes")
    assert loaded(person).servers[0].disabled
    assert "add mcp__a__delete to `tools.block`" in done.err


def test_what_vs_code_asks_for_becomes_a_variable(person: Home) -> None:
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
    assert "set the variable API_KEY, then take `disabled` out" in done.err


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
def test_variables_mean_what_they_meant(
    person: Home, monkeypatch: pytest.MonkeyPatch, file: str, args: list[str], expected: list[str]
) -> None:
    monkeypatch.setenv("HERE", "here")
    person.write(file, {"mcpServers": {"a": {"command": "x", "args": args}}})
    person.run("init", "--yes", "--project")
    (server,) = loaded(person).servers
    assert list(server.args) == [text.replace("{work}", str(person.work)) for text in expected]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"command": "${env:NOT_SET_ANYWHERE}"}, "command is empty once its variables are expanded"),
        ({**TIME, "args": ["${config:x.y}"]}, "nothing like `${config:x.y}`"),
        ({**TIME, "envFile": "/nowhere/.env"}, "there is no such file"),
        ({**TIME, "sandboxEnabled": True}, "does not confine servers"),
        ({**TIME, "includeTools": ["a"]}, "`tools.allow`"),
    ],
)
def test_what_would_not_work_is_written_but_disabled(person: Home, entry: dict[str, Any], said: str) -> None:
    cursor(person, a=entry, b=TIME)
    done = person.run("init", "--yes")
    assert {server.name: server.disabled for server in loaded(person).servers} == {"a": True, "b": False}
    assert said in done.err
    assert said in person.config.read_text()


@pytest.mark.parametrize(
    "entry",
    [{}, "text", {"command": ["a"]}, {"url": "ftp://x"}, {"command": "x", "type": "websocket"}, {"url": 1}],
)
def test_what_cannot_be_a_server_is_kept_out_and_named(person: Home, entry: Any) -> None:
    cursor(person, odd=entry, b=TIME)
    done = person.run("init", "--yes")
    assert names(person) == ["b"]
    assert "Kept out: `odd` of Cursor" in done.err


def test_keys_that_have_no_meaning_here_are_named(person: Home) -> None:
    cursor(person, a={**TIME, "timeout": 9, "oddKey": 1})
    done = person.run("init", "--yes")
    assert "`timeout` is left out" in done.err
    assert "`oddKey` is left out" in done.err
    assert names(person) == ["a"]


def test_secrets_are_kept_but_not_shown(person: Home) -> None:
    cursor(person, github=GITHUB)
    done = person.run("init", "--yes")
    assert loaded(person).servers[0].env["GITHUB_TOKEN"] == TOKEN
    assert TOKEN not in done.out + done.err
    assert "Secrets stand in the clear in: github." in done.err
    assert "${NAME}" in done.err


def test_secrets_make_a_file_private(person: Home) -> None:
    person.config.parent.mkdir(parents=True)
    person.config.write_text("{}\n")
    person.config.chmod(0o644)
    cursor(person, github=GITHUB)
    person.run("init", "--yes")
    assert stat.S_IMODE(person.config.stat().st_mode) == 0o600


def test_one_file_that_is_broken_keeps_nothing_else_from_being_found(person: Home) -> None:
    person.write(".cursor/mcp.json", '{\n  "mcpServers": {\n    "a" 1\n  }\n}')
    person.write(".claude.json", {"mcpServers": {"b": TIME}})
    (person.folder / ".codeium/windsurf/mcp_config.json").mkdir(parents=True)
    done = person.run("init", "--yes")
    assert names(person) == ["b"]
    assert ".cursor/mcp.json: line 3: a key needs `:` and a value after it (column 9)." in done.err
    assert "mcp_config.json: this is a folder, not a file." in done.err


@pytest.mark.parametrize("content", ["", "// nothing\n", "{}", '\ufeff{"mcpServers": {}}'])
def test_files_with_nothing_in_them_are_no_mistake(person: Home, content: str) -> None:
    person.write(".cursor/mcp.json", content)
    done = person.run("init", "--yes")
    assert done.code == 0
    assert "Left out" not in done.err


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


def test_later_runs_add_what_is_new_and_leave_every_line(person: Home) -> None:
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


def test_what_the_person_changed_or_took_out_is_not_added_again(person: Home) -> None:
    cursor(person, github=GITHUB, gone=TIME)
    person.run("init", "--yes")
    text = person.config.read_text().partition("  # from Cursor, ~/.cursor/mcp.json\n  gone:")[0]
    person.config.write_text(text.replace("npx", "/my/npx"))
    before = person.files()
    done = person.run("init", "--yes")
    assert person.files() == before
    assert "Left as you have it: `gone`" in done.err
    assert "Left as you have it: `github`" in done.err
    assert person.run("init", "--yes", "--again").code == 0
    assert names(person) == ["github", "github-cursor", "gone"]


def test_a_secret_that_became_a_variable_is_the_same_server(
    person: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", TOKEN)
    person.config.parent.mkdir(parents=True)
    person.config.write_text(
        "mcpServers:\n  mine: {command: npx, args: ['-y', '@mcp/github'], env: {GITHUB_TOKEN: '${MY_TOKEN}'}}\n"
    )
    cursor(person, github=GITHUB)
    assert "Nothing is new" in person.run("init", "--yes").err


def test_a_configuration_that_is_gone_is_written_anew(person: Home) -> None:
    cursor(person, a=TIME)
    person.run("init", "--yes")
    person.config.unlink()
    person.run("init", "--yes")
    assert names(person) == ["a"]


def test_a_broken_configuration_is_left_alone(person: Home) -> None:
    person.config.parent.mkdir(parents=True)
    person.config.write_text("mcpServers:\n  a: {comand: x}\n")
    cursor(person, b=TIME)
    done = person.run("init", "--yes")
    assert done.code == 2
    assert "config.yaml:2: unknown key `comand`" in done.err
    assert person.config.read_text() == "mcpServers:\n  a: {comand: x}\n"


def test_a_configuration_that_is_named_is_the_one_that_is_written(person: Home) -> None:
    cursor(person, a=TIME)
    mine = person.folder / "mine.json"
    mine.write_text('{\n  // mine\n  "servers": {"z": {"command": "z"}}\n}\n')
    assert person.run("init", "--yes", "-c", str(mine)).code == 0
    assert "// mine" in mine.read_text()
    assert [server.name for server in load_config(mine, project=False).servers] == ["a", "z"]
    assert not person.config.exists()


def test_a_form_that_cannot_be_added_to_is_left_with_what_to_add(person: Home) -> None:
    cursor(person, a=TIME)
    mine = person.write("mine.json", '{"mcpServers": null}')
    done = person.run("init", "--yes", "-c", str(mine))
    assert done.code == 1
    assert f"{mine}: its form does not allow" in done.err
    assert "  a:\n    command: uvx\n" in done.err
    assert mine.read_text() == '{"mcpServers": null}'


def test_families_are_written_once_and_then_are_the_persons(person: Home) -> None:
    cursor(person, a=TIME)
    assert person.run("init", "--yes", "--family", "cor").code == 2
    person.config.parent.mkdir(parents=True)
    person.config.write_text("mcpServers:\n  b: {command: b}\n")
    person.run("init", "--yes")
    assert loaded(person).server.families == ()
    assert person.run("init", "--yes", "--family", "core").code == 0
    assert loaded(person).server.families == ("core",)
    assert "Nothing is new" in person.run("init", "--yes", "--family", "core").err
    person.config.write_text("server: {families: []}\n")
    done = person.run("init", "--yes", "--family", "core")
    assert done.code == 2
    assert "which is yours" in done.err


def test_scripts_are_told_what_was_done(person: Home) -> None:
    cursor(person, github=GITHUB, odd={})
    done = person.run("init", "--yes", "--json")
    assert done.json["written"] is True
    assert [one["name"] for one in done.json["added"]] == ["github"]
    assert [one["name"] for one in done.json["kept_out"]] == ["odd"]
    again = person.run("init", "--yes", "--json").json
    assert again["written"] is False
    assert [one["name"] for one in again["present"]] == ["github"]
    assert TOKEN not in json.dumps(done.json)
