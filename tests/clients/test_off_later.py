"""What is switched off in a client after Halflap has it is said at every `halflap init`, until it is off here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clients.homes import TIME
from clients.test_switched_off import OFF, WITHOUT, taken_in
from halflap.config import load_config

if TYPE_CHECKING:
    from clients.homes import Home

WHERE = "Cursor, ~/.cursor/mcp.json"
OTHER = {"command": "other"}
TOOL = (
    f"`time` is there already, with convert_time, which is switched off in {WHERE}. "
    "To have it off: `tools.block`, mcp__time__convert_time."
)
SERVER = (
    f"`time` is on in Halflap, and switched off in {WHERE}. To have it off: write `disabled: true` into it."
)


def edited(person: Home, old: str, new: str) -> None:
    text = person.config.read_text()
    assert old in text
    person.config.write_text(text.replace(old, new))


@pytest.mark.parametrize("more", [{}, {"other": OTHER}])
@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (WITHOUT, TOOL),
        (OFF, SERVER),
        (
            {**TIME, "enabledTools": ["get_time"]},
            f"`time` is on in Halflap. In {WHERE}, only some of its tools are on (`enabledTools`).",
        ),
        (
            {**TIME, "disabled": "true"},
            f"`time` is on in Halflap. In {WHERE}, `disabled` is a text there, not true or false.",
        ),
    ],
)
def test_what_is_switched_off_later_is_said_as_long_as_it_is_on_here(
    person: Home, entry: dict[str, Any], said: str, more: dict[str, Any]
) -> None:
    taken_in(person, cursor=TIME)
    person.write(".cursor/mcp.json", {"mcpServers": {"time": entry, **more}})
    for _ in range(2):
        assert said in person.run("init", "--yes").err
    edited(person, "  time:\n", "  time:\n    disabled: true\n")
    assert "Note" not in person.run("init", "--yes").err


@pytest.mark.parametrize(("entry", "off"), [(WITHOUT, "mcp__time__convert_time"), (OFF, "disabled: true")])
def test_what_came_in_switched_off_and_was_switched_on_here_is_decided(
    person: Home, entry: dict[str, Any], off: str
) -> None:
    taken_in(person, cursor=entry)
    edited(person, off, "mcp__time__other" if entry is WITHOUT else "disabled: false")
    assert not load_config(person.config, project=False).servers[0].disabled
    assert "Note" not in person.run("init", "--yes").err


def test_what_was_off_in_one_client_from_the_first_is_said_once(person: Home) -> None:
    done, _ = taken_in(person, claude=TIME, cursor=OFF)
    assert "`time` is on: it is switched off in one client, and on in another." in done.err
    assert "Note" not in person.run("init", "--yes").err


@pytest.mark.parametrize(
    ("tools", "advice"),
    [
        ("{block: [x]}", "add mcp__d__a_b to `tools.block`, then take `disabled` out"),
        (
            "{allow: ['*']}",
            "see that nothing in `tools.allow` stands for mcp__d__a_b, then take `disabled` out",
        ),
    ],
)
def test_the_advice_names_tools_as_they_are_named_here(person: Home, tools: str, advice: str) -> None:
    person.write(".config/halflap/config.yaml", f"tools: {tools}\n")
    person.write(
        ".codeium/windsurf/mcp_config.json", {"mcpServers": {"d": {**TIME, "disabledTools": ["a b"]}}}
    )
    done = person.run("init", "--yes")
    assert f"(a b): {advice}." in done.err
    assert advice in person.config.read_text()


@pytest.mark.parametrize("tools", ["{block: [mcp__d__a*]}", "{allow: [mcp__d__c]}"])
def test_a_server_whose_tools_are_off_here_already_is_on(person: Home, tools: str) -> None:
    person.write(".config/halflap/config.yaml", f"tools: {tools}\n")
    person.write(
        ".codeium/windsurf/mcp_config.json", {"mcpServers": {"d": {**TIME, "disabledTools": ["a b"]}}}
    )
    done = person.run("init", "--yes")
    assert not load_config(person.config, project=False).servers[0].disabled
    assert "Note" not in done.err


def test_where_only_some_tools_are_let_through_here_a_list_of_some_needs_no_word(person: Home) -> None:
    person.write(
        ".config/halflap/config.yaml",
        {"tools": {"allow": ["mcp__time__get_time"]}, "mcpServers": {"time": TIME}},
    )
    person.write(".cursor/mcp.json", {"mcpServers": {"time": {**TIME, "enabledTools": ["get_time"]}}})
    assert "Note" not in person.run("init", "--yes").err
