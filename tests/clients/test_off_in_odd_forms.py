"""What a person switched off stays off, also where the file says so in a form that nobody expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clients.homes import TIME
from clients.test_switched_off import taken_in
from halflap.config import load_config

if TYPE_CHECKING:
    from clients.homes import Home


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"disabled": "true"}, "`disabled` is a text there, not true or false"),
        ({"disabled": 1}, "`disabled` is a number there, not true or false"),
        ({"enabled": "no"}, "`enabled` is a text there, not true or false"),
        ({"disabledTools": "q"}, "`disabledTools` is a text there, not a list of names"),
        ({"disabledTools": {"q": True}}, "`disabledTools` is an object there, not a list of names"),
        ({"excludeTools": True}, "`excludeTools` is a boolean there, not a list of names"),
        ({"disabledTools": ["q", {"name": "r"}]}, "`disabledTools` has an object in it, not a name"),
        ({"enabledTools": "q"}, "`enabledTools` is a text there, not a list of names"),
        ({"includeTools": []}, "none of its tools is on (`includeTools` is empty)"),
        ({"tools": {"q": False}}, "`tools` is an object there, not a list of names"),
    ],
)
def test_a_switch_of_another_type_leaves_the_server_off_with_the_reason(
    person: Home, said: dict[str, Any], reason: str
) -> None:
    done, config = taken_in(person, windsurf={**TIME, **said})
    assert config.servers[0].disabled
    assert f"`time`: disabled: {reason}: " in done.err
    assert reason in person.config.read_text()


def test_the_names_among_what_is_odd_are_blocked(person: Home) -> None:
    _, config = taken_in(person, windsurf={**TIME, "disabledTools": ["q", 1]})
    assert config.tools.block == ("mcp__time__q",)


@pytest.mark.parametrize(
    "said", [{"disabled": None}, {"disabled": False}, {"disabledTools": []}, {"enabledTools": None}]
)
def test_a_switch_that_says_nothing_leaves_the_server_on(person: Home, said: dict[str, Any]) -> None:
    done, config = taken_in(person, windsurf={**TIME, **said})
    assert not config.servers[0].disabled
    assert "Note" not in done.err


@pytest.mark.parametrize("value", ["b", {"b": True}])
def test_what_is_off_in_a_project_in_another_form_is_off_too(person: Home, value: Any) -> None:
    project = {"disabledMcpServers": value, "disabledMcpjsonServers": value, "mcpServers": {"b": TIME}}
    person.write("work/.mcp.json", {"mcpServers": {"c": {"command": "c"}}})
    person.write(
        ".claude.json", {"mcpServers": {"own": {"command": "own"}}, "projects": {str(person.work): project}}
    )
    done = person.run("init", "--yes", "--project")
    servers = load_config(person.config, project=False).servers
    assert {server.name: server.disabled for server in servers} == {"own": False, "b": True, "c": True}
    assert "`b`: disabled: `disabledMcpServers` of its project is " in done.err
    assert "`c`: disabled: `disabledMcpjsonServers` of its project is " in done.err
    assert f"`disabledMcpServers` of the project {person.work} is " in done.err


def test_a_server_with_an_odd_switch_stays_in_the_client(person: Home) -> None:
    person.write(".config/halflap/config.yaml", {"mcpServers": {"time": TIME}})
    person.write(".cursor/mcp.json", {"mcpServers": {"time": {**TIME, "disabled": "true"}}})
    done = person.run("install", "cursor", "--move", "--print", "--json")
    assert done.json["moved"] == []
    assert "`time` stays: `disabled` is a text there, not true or false." in done.err
