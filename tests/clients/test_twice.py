"""What stands twice: a name in one object, and a file that two clients, or a client and a folder, have."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clients.homes import TIME
from clients.test_install import configured
from halflap.config import load_config

if TYPE_CHECKING:
    from clients.homes import Home

TWICE = """\
{
  "mcpServers": {
    // the old one
    "a": {"command": "one"},
    "z": {"command": "z"},
    "a": {"command": "two"} // the new one
  }
}
"""


def names(person: Home) -> list[str]:
    return [server.name for server in load_config(person.config, project=False).servers]


@pytest.mark.parametrize("first", ['"a"', '"\\u0061"'])
def test_both_of_one_name_go_out_and_come_back(person: Home, first: str) -> None:
    text = TWICE.replace('"a"', first, 1)
    path = person.write(".cursor/mcp.json", text)
    person.run("init", "--yes")
    done = person.run("install", "cursor", "--move", "--yes", "--json")
    assert done.json["moved"] == ["a", "z"]
    assert "`a` stands there twice: both go out" in done.err
    path.write_text(path.read_text() + " ")
    done = person.run("install", "cursor", "--undo", "--yes", "--json")
    assert done.json["restored"] == ["a", "z"]
    assert path.read_text() == text + " "


def test_a_name_that_is_there_again_is_left_though_it_stood_there_twice(person: Home) -> None:
    path = person.write(".cursor/mcp.json", TWICE)
    person.run("init", "--yes")
    person.run("install", "cursor", "--move", "--yes")
    path.write_text('{"mcpServers": {"a": {"command": "newer"}}}')
    done = person.run("install", "cursor", "--undo", "--yes")
    assert done.err.count("`a` is there again already") == 1
    after = json.loads(path.read_bytes())
    assert after == {"mcpServers": {"a": {"command": "newer"}, "z": {"command": "z"}}}


@pytest.mark.parametrize("more", [(), ("--undo",)])
def test_an_entry_of_halflaps_that_stands_twice_is_told_with_its_lines(
    person: Home, more: tuple[str, ...]
) -> None:
    configured(person)
    own = '"halflap": {"command": "halflap", "args": ["serve"]}'
    text = f'{{"mcpServers": {{\n{own},\n{own}\n}}}}'
    path = person.write(".cursor/mcp.json", "{}")
    person.run("install", "cursor", "--yes")
    path.write_text(text)
    done = person.run("install", "cursor", "--yes", *more)
    assert done.code == 1
    assert "line 3: the key `halflap` occurs twice; the first is on line 2. Keep one of them." in done.err
    assert path.read_text() == text


def test_names_that_stand_twice_in_a_project_of_claude_code_are_told(person: Home) -> None:
    servers = '{"a": {"command": "one"},\n "a": {"command": "two"}}'
    person.write(".claude.json", f'{{"projects": {{\n"{person.work}": {{"mcpServers": {servers}}}}}}}')
    done = person.run("init", "--yes")
    assert "line 3: the server `a` stands here twice; the first is on line 2." in done.err


def test_on_one_line_names_that_stand_twice_are_told_with_column_and_project(person: Home) -> None:
    servers = '{"a": {"command": "one"}, "a": {"command": "two"}}'
    text = f'{{"projects": {{"{person.work}": {{"mcpServers": {servers}}}}}}}'
    path = person.write(".claude.json", text)
    first, second = text.index('"a"') + 1, text.rindex('"a"') + 1
    done = person.run("init", "--yes")
    assert (
        f"{path}, project {person.work}: line 1, column {second}: the server `a` stands here twice; "
        f"the first is at column {first}." in done.err
    )


def clients_with(person: Home, **servers: Any) -> None:
    person.write(".cursor/mcp.json", {"mcpServers": servers})


def test_in_the_home_folder_a_file_is_read_once(person: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    clients_with(person, time=TIME)
    monkeypatch.chdir(person.folder)
    done = person.run("init", "--yes", "--project")
    assert names(person) == ["time"]
    assert done.err.count("Found 1 server") == 1
    # The folder's file is the person's own, so the server that came in is the one that goes out.
    done = person.run("install", "cursor", "--project", "--move", "--yes", "--json")
    assert done.json["moved"] == ["time"]


def test_a_file_that_links_lead_to_is_read_once(person: Home) -> None:
    clients_with(person, time={"command": "x", "args": ["${env:A}"]})
    for name in (".config/Claude/claude_desktop_config.json", "work/.cursor/mcp.json"):
        (person.folder / name).parent.mkdir(parents=True)
        (person.folder / name).symlink_to(person.folder / ".cursor" / "mcp.json")
    person.run("init", "--yes", "--project")
    assert names(person) == ["time"]


def test_of_a_server_that_was_put_in_anew_and_moved_again_the_later_comes_back(person: Home) -> None:
    configured(person, time=TIME, again={"command": "newer"})
    path = person.write(".cursor/mcp.json", {"mcpServers": {"time": TIME}})
    person.run("install", "cursor", "--move", "--yes")
    now = json.loads(path.read_bytes())
    path.write_text(json.dumps({"mcpServers": {"time": {"command": "newer"}, **now["mcpServers"]}}))
    person.run("install", "cursor", "--move", "--yes")
    done = person.run("install", "cursor", "--undo", "--yes", "--json")
    assert done.json["restored"] == ["time"]
    assert "`time` was moved twice: the later comes back." in done.err
    assert json.loads(path.read_bytes()) == {"mcpServers": {"time": {"command": "newer"}}}
