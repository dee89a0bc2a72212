from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clients.homes import TIME

if TYPE_CHECKING:
    from clients.homes import Home

ONE, TWO = "/src/one", "/src/two"


def off_in(person: Home, off: Any, *folders: str) -> str:
    """Have a server of the person's own switched off in projects, take it in, and give what was said."""
    projects = {folder: {"disabledMcpServers": off} for folder in folders}
    person.write(".claude.json", {"mcpServers": {"q": TIME, "r": {"command": "r"}}, "projects": projects})
    return person.run("init", "--yes").err


def test_a_server_that_is_off_in_several_projects_is_said_once(person: Home) -> None:
    said = off_in(person, ["q"], ONE, TWO)
    assert (
        f"Note: `q` is switched off in the projects {ONE} and {TWO} alone; in Halflap it is on everywhere."
        in said
    )
    assert said.count("is switched off in") == 1


def test_a_server_that_is_off_in_a_project_stays_with_the_reason(person: Home) -> None:
    off_in(person, ["q"], ONE)
    done = person.run("install", "claude-code", "--move", "--yes", "--json")
    assert done.json["moved"] == ["r"]
    assert f"`q` stays: it is switched off in the project {ONE}, and on in Halflap everywhere." in done.err
    assert "q" in json.loads((person.folder / ".claude.json").read_bytes())["mcpServers"]


@pytest.mark.parametrize("off", ["q", {"q": True}])
def test_where_it_cannot_be_told_what_is_off_in_a_project_servers_stay(person: Home, off: Any) -> None:
    off_in(person, off, ONE)
    done = person.run("install", "claude-code", "--move", "--yes", "--json")
    assert done.json["moved"] == []
    assert f"it may be switched off in a project: `disabledMcpServers` of the project {ONE} is " in done.err


def test_a_server_of_the_projects_own_says_nothing_of_another_of_its_name(person: Home) -> None:
    project = {"disabledMcpServers": ["q"], "mcpServers": {"q": {"command": "theirs"}}}
    person.write(".claude.json", {"mcpServers": {"q": TIME}, "projects": {str(person.work): project}})
    assert "alone" not in person.run("init", "--yes").err
    assert person.run("install", "claude-code", "--move", "--yes", "--json").json["moved"] == ["q"]
