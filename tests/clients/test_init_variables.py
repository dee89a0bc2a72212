from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clients.homes import TIME, Home
from halflap.config import load_config

if TYPE_CHECKING:
    from halflap.config import ServerConfig

ENTRIES: dict[str, tuple[str, dict[str, Any]]] = {
    "env, Cursor": (".cursor/mcp.json", {**TIME, "env": {"T": "${env:GH_TOKEN}"}}),
    "env, Claude Code": (".claude.json", {**TIME, "env": {"T": "${GH_TOKEN}"}}),
    "header": (
        ".cursor/mcp.json",
        {"url": "https://h.example/mcp", "headers": {"X": "Bearer ${env:GH_TOKEN}"}},
    ),
    "argument": (".claude.json", {"command": "x", "args": ["--token", "${GH_TOKEN}"]}),
    "command": (".cursor/mcp.json", {"command": "${env:GH_TOKEN}"}),
    "folder": (".cursor/mcp.json", {"command": "x", "cwd": "${env:GH_TOKEN}"}),
    "host": (".cursor/mcp.json", {"url": "https://${env:GH_TOKEN}/mcp"}),
    "path of a URL": (".cursor/mcp.json", {"url": "https://h.example/${env:GH_TOKEN}"}),
}


def loaded() -> dict[str, ServerConfig]:
    return {server.name: server for server in load_config(project=False).servers}


@pytest.mark.parametrize("kind", ENTRIES)
def test_a_variable_that_is_gone_later_keeps_no_other_server_from_being_used(
    person: Home, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    file, entry = ENTRIES[kind]
    monkeypatch.setenv("GH_TOKEN", "here")
    person.write(file, {"mcpServers": {"a": entry, "b": TIME}})
    done = person.run("init", "--yes")
    assert not loaded()["a"].disabled
    assert "`a`: it reads the variable GH_TOKEN: to be set where the client starts Halflap" in done.err
    monkeypatch.delenv("GH_TOKEN")
    assert set(loaded()) == {"a", "b"}


def test_the_value_of_a_variable_is_written_only_where_nothing_cannot_stand(
    person: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "hushhush")
    servers = {
        str(at): entry for at, (file, entry) in enumerate(ENTRIES.values()) if "env:" in json.dumps(entry)
    }
    person.write(".cursor/mcp.json", {"mcpServers": servers})
    person.run("init", "--yes")
    assert person.config.read_text().count("hushhush") == len(["command", "folder", "host"])


def test_a_variable_that_is_not_set_is_nothing_and_that_is_said(person: Home) -> None:
    entry = {**TIME, "env": {"A": "${env:NOT_SET_ANYWHERE}", "B": "b"}}
    person.write(".cursor/mcp.json", {"mcpServers": {"a": entry}})
    done = person.run("init", "--yes")
    assert not loaded()["a"].disabled
    assert dict(loaded()["a"].env) == {"A": "", "B": "b"}
    said = "it reads the variable NOT_SET_ANYWHERE (not set here): to be set"
    assert said in done.err
    assert said in person.config.read_text()


def test_of_several_variables_those_that_are_not_set_are_named(
    person: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SET", "set")
    person.write(".cursor/mcp.json", {"mcpServers": {"a": {**TIME, "env": {"A": "${env:SET}${env:UNSET}"}}}})
    done = person.run("init", "--yes")
    assert "it reads the variables SET, UNSET (not set here: UNSET): to be set" in done.err


@pytest.mark.parametrize(
    ("file", "client", "text", "named"),
    [
        (".cursor/mcp.json", "Cursor", "${PROJ_TOKEN:-hush}", "${PROJ_TOKEN:-…}"),
        (".cursor/mcp.json", "Cursor", "${A}", "${A}"),
        (".config/Claude/claude_desktop_config.json", "Claude Desktop", "${A}", "${A}"),
        (".claude.json", "Claude Code", "${env:A}", "${env:A}"),
    ],
)
def test_a_variable_that_the_client_does_not_expand_stays_text_and_that_is_said(
    person: Home, file: str, client: str, text: str, named: str
) -> None:
    person.write(file, {"mcpServers": {"a": {"command": "cat", "args": [text, text]}}})
    done = person.run("init", "--yes")
    assert loaded()["a"].args == (text, text)
    assert not loaded()["a"].disabled
    assert done.err.count(f"`a`: `{named}` is text to {client}, which does not expand it") == 1
    assert "nothing like" not in done.err


@pytest.mark.parametrize("text", ["${file}", "${command:x}", "${cwd}"])
def test_what_only_an_editor_knows_keeps_the_server_from_starting(person: Home, text: str) -> None:
    person.write(".config/Code/User/mcp.json", {"servers": {"a": {**TIME, "args": [text]}}})
    done = person.run("init", "--yes")
    assert loaded()["a"].disabled
    assert f"Halflap has nothing like `{text}`: put a value in its place" in done.err


def test_a_default_behind_a_variable_of_an_editor_is_told_to_be_none_of_its_own(person: Home) -> None:
    person.write(".cursor/mcp.json", {"mcpServers": {"a": {**TIME, "args": ["${env:X:-hush}"]}}})
    done = person.run("init", "--yes")
    assert loaded()["a"].disabled
    assert "Cursor knows no defaults, as in `${env:X:-…}`: put a value in its place" in done.err


def test_a_default_of_the_clients_own_stays(person: Home) -> None:
    person.write(".claude.json", {"mcpServers": {"a": {**TIME, "env": {"A": "${GONE:-mine}"}}}})
    done = person.run("init", "--yes")
    assert dict(loaded()["a"].env) == {"A": "mine"}
    assert "to be set" not in done.err


def test_what_is_never_closed_is_text(person: Home) -> None:
    person.write(".claude.json", {"mcpServers": {"a": {**TIME, "env": {"A": "x${y", "B": "${C:-c}${"}}}})
    person.run("init", "--yes")
    assert not loaded()["a"].disabled
    assert dict(loaded()["a"].env) == {"A": "x${y", "B": "c${"}


def test_a_name_that_stands_twice_is_said_with_its_line(person: Home) -> None:
    person.write(".cursor/mcp.json", '{"mcpServers": {\n"a": {"command": "one"},\n"a": {"command": "two"}}}')
    person.write(
        ".claude.json", '{"mcpServers": {"x": {"command": "x"}},\n"mcpServers": {"y": {"command": "y"}}}'
    )
    done = person.run("init", "--yes")
    assert "mcp.json: line 3: the server `a` stands here twice; the first is on line 2." in done.err
    assert ".claude.json: line 2: the key `mcpServers` occurs twice; the first is on line 1." in done.err
    assert set(loaded()) == {"a", "y"}


def test_halflap_in_a_line_for_a_shell_is_not_taken_in(person: Home) -> None:
    line = {"command": "bash", "args": ["-lc", "source ~/.env && exec halflap serve"]}
    person.write(".cursor/mcp.json", {"mcpServers": {"gate": line, "b": TIME}})
    person.run("init", "--yes")
    assert set(loaded()) == {"b"}


def test_a_file_that_cannot_be_read_is_left_out_in_so_many_words(person: Home) -> None:
    person.write(".cursor/mcp.json", "{")
    person.write(".claude.json", {"mcpServers": {"b": TIME}})
    done = person.run("init", "--yes")
    assert "None of its servers is taken in." in done.err
    assert "Nothing was written" not in done.err


def test_a_server_that_is_off_in_one_project_alone_is_said(person: Home) -> None:
    project = {"disabledMcpServers": ["b"]}
    person.write(".claude.json", {"mcpServers": {"b": TIME}, "projects": {str(person.work): project}})
    done = person.run("init", "--yes")
    assert (
        f"`b` is switched off in the project {person.work} alone; in Halflap it is on everywhere." in done.err
    )


def test_what_may_be_halflap_itself_is_taken_in_only_by_name(person: Home) -> None:
    url = "http://127.0.0.1:8765/mcp"
    servers = {"a": {"url": url}, "b": {"command": "npx", "args": ["-y", "mcp-remote", url]}, "c": TIME}
    person.write(".cursor/mcp.json", {"mcpServers": servers})
    done = person.run("init", "--yes", "--also", "b")
    assert set(loaded()) == {"b", "c"}
    assert "Kept out: `a` of Cursor" in done.err
    assert "--also a" in done.err
