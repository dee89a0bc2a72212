"""What is switched off in one client stays so, or it is said that it does not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clients.homes import TIME
from clients.test_install import configured
from halflap.config import Config, load_config

if TYPE_CHECKING:
    from clients.homes import Done, Home

FILES = {
    "claude": ".claude.json",
    "cursor": ".cursor/mcp.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
}
"""In the order in which they are read."""
WITHOUT = {**TIME, "disabledTools": ["convert_time"]}
OFF = {**TIME, "disabled": True}
CONFINED = {**TIME, "sandboxEnabled": True}


def taken_in(person: Home, **entries: Any) -> tuple[Done, Config]:
    """Take the server `time` in, of which each client has its own entry."""
    for client, entry in entries.items():
        person.write(FILES[client], {"mcpServers": {"time": entry}})
    done = person.run("init", "--yes")
    return done, load_config(person.config, project=False)


@pytest.mark.parametrize(
    "entries", [{"claude": TIME, "windsurf": WITHOUT}, {"claude": WITHOUT, "windsurf": TIME}]
)
def test_a_tool_that_is_off_in_one_client_is_blocked_and_that_is_said(
    person: Home, entries: dict[str, Any]
) -> None:
    done, config = taken_in(person, **entries)
    assert [server.name for server in config.servers] == ["time"]
    assert config.tools.block == ("mcp__time__convert_time",)
    assert "`time`: convert_time is blocked: switched off in one client, and on in another." in done.err


def test_a_tool_that_is_off_in_every_client_needs_no_word(person: Home) -> None:
    done, config = taken_in(person, claude=WITHOUT, windsurf=WITHOUT)
    assert config.tools.block == ("mcp__time__convert_time",)
    assert "blocked" not in done.err


@pytest.mark.parametrize(
    "entries", [{"claude": TIME, "windsurf": WITHOUT}, {"claude": WITHOUT, "windsurf": TIME}]
)
def test_where_it_cannot_be_blocked_the_server_is_not_started(person: Home, entries: dict[str, Any]) -> None:
    person.write(".config/halflap/config.yaml", "tools:\n  pin: hold\n")
    done, config = taken_in(person, **entries)
    assert config.servers[0].disabled
    assert "add mcp__time__convert_time to `tools.block`" in done.err
    assert "add mcp__time__convert_time to `tools.block`" in person.config.read_text()


def test_a_tool_that_is_on_in_a_server_that_halflap_has_is_said_until_it_is_blocked(person: Home) -> None:
    configured(person, time=TIME)
    done, _ = taken_in(person, windsurf=WITHOUT)
    assert (
        "`time` is there already, with convert_time, which is switched off in Windsurf, "
        "~/.codeium/windsurf/mcp_config.json. To have it off: `tools.block`, mcp__time__convert_time."
        in done.err
    )
    person.write(
        ".config/halflap/config.yaml",
        json.dumps({"mcpServers": {"time": TIME}, "tools": {"block": ["mcp__time__conv*"]}}),
    )
    assert "convert_time" not in person.run("init", "--yes").err


@pytest.mark.parametrize("entries", [{"claude": OFF, "windsurf": TIME}, {"claude": TIME, "windsurf": OFF}])
def test_a_server_that_is_off_in_one_client_is_on_and_that_is_said(
    person: Home, entries: dict[str, Any]
) -> None:
    done, config = taken_in(person, **entries)
    assert not config.servers[0].disabled
    assert "`time` is on: it is switched off in one client, and on in another." in done.err


@pytest.mark.parametrize(
    "entries", [{"claude": CONFINED, "windsurf": TIME}, {"claude": TIME, "windsurf": CONFINED}]
)
def test_why_a_server_would_be_off_is_not_written_beside_one_that_is_on(
    person: Home, entries: dict[str, Any]
) -> None:
    done, config = taken_in(person, **entries)
    assert not config.servers[0].disabled
    assert "disabled" not in person.config.read_text()
    assert "`time` is on, as in one client. In another, it is confined by `sandboxEnabled`" in done.err
    assert "disabled: " not in done.err


def test_what_is_off_in_the_client_stays_there_when_others_are_moved(person: Home) -> None:
    taken_in(person, claude=TIME, cursor=OFF)
    done = person.run("install", "cursor", "--move", "--yes", "--json")
    assert done.json["moved"] == []
    assert "`time` stays: it is switched off in the client, and on in Halflap." in done.err


def test_what_is_off_in_both_stays_with_the_reason(person: Home) -> None:
    taken_in(person, cursor=OFF)
    done = person.run("install", "cursor", "--move", "--yes", "--json")
    assert done.json["moved"] == []
    assert "`time` stays: in Halflap's configuration it is disabled." in done.err


def test_a_server_with_tools_that_are_off_goes_only_if_they_are_off_in_halflap(person: Home) -> None:
    taken_in(person, cursor=WITHOUT)
    assert person.run("install", "cursor", "--move", "--print", "--json").json["moved"] == ["time"]
    configured(person, time=TIME)
    done = person.run("install", "cursor", "--move", "--print", "--json")
    assert done.json["moved"] == []
    assert "`time` stays: convert_time is switched off in the client, and on in Halflap." in done.err
