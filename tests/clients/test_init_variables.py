"""Variables in imported servers."""

from __future__ import annotations

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
def test_a_variable_that_disappears_disables_only_its_server(
    person: Home, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    file, entry = ENTRIES[kind]
    monkeypatch.setenv("GH_TOKEN", "here")
    person.write(file, {"mcpServers": {"a": entry, "b": TIME}})
    done = person.run("init", "--yes")
    assert not loaded()["a"].disabled
    assert "GH_TOKEN" in done.err
    monkeypatch.delenv("GH_TOKEN")
    assert set(loaded()) == {"a", "b"}


def test_an_unset_variable_is_reported(person: Home) -> None:
    entry = {**TIME, "env": {"A": "${env:NOT_SET_ANYWHERE}", "B": "b"}}
    person.write(".cursor/mcp.json", {"mcpServers": {"a": entry}})
    done = person.run("init", "--yes")
    assert not loaded()["a"].disabled
    assert dict(loaded()["a"].env) == {"A": "", "B": "b"}
    assert "NOT_SET_ANYWHERE" in done.err


def test_editor_variables_disable_a_server(person: Home) -> None:
    person.write(".config/Code/User/mcp.json", {"servers": {"a": {**TIME, "args": ["${file}"]}}})
    done = person.run("init", "--yes")
    assert loaded()["a"].disabled
    assert "${file}" in done.err


def test_defaults_stay(person: Home) -> None:
    person.write(".claude.json", {"mcpServers": {"a": {**TIME, "env": {"A": "${GONE:-mine}"}}}})
    person.run("init", "--yes")
    assert dict(loaded()["a"].env) == {"A": "mine"}
