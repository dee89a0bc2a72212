"""Which servers `--move` takes out of a client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clients.homes import TIME
from clients.test_install import configured
from halflap.cli import installing

if TYPE_CHECKING:
    import pytest

    from clients.homes import Home

REMOTE = {"url": "https://mcp.example.com/mcp"}


def left(person: Home, file: str = ".cursor/mcp.json", key: str = "mcpServers") -> list[str]:
    return list(json.loads((person.folder / file).read_bytes())[key])


def moved(person: Home, *more: str, **servers: Any) -> tuple[list[str], str]:
    """Take servers of Cursor in, move them, and give what is left there and what was said."""
    person.write(".cursor/mcp.json", {"mcpServers": servers})
    person.run("init", "--yes")
    done = person.run("install", "cursor", "--move", "--yes", *more)
    return left(person), done.err


def test_servers_with_a_sign_in_are_not_moved(person: Home) -> None:
    names, said = moved(
        person,
        plain=TIME,
        signed={**REMOTE, "auth": {"CLIENT_ID": "x"}},
        remote={"url": "https://mcp.example.com/other"},
        headed={"url": "https://mcp.example.com/headed", "headers": {"X-Key": "${env:KEY}"}},
        here={"url": "http://127.0.0.1:3000/"},
        query={"url": "https://mcp.example.com/mcp?key=k"},
    )
    assert names == ["signed", "remote", "halflap"]
    assert "`signed`" in said
    assert "`remote`" in said


def test_a_server_that_halflap_lost_meanwhile_is_not_moved(
    person: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(person, time=TIME, other={"command": "other"})
    person.write(".cursor/mcp.json", {"mcpServers": {"time": TIME, "other": {"command": "other"}}})
    monkeypatch.setattr(installing, "may_write", lambda *_, **__: configured(person, time=TIME))
    done = person.run("install", "cursor", "--move", "--yes", "--json")
    assert done.json["moved"] == ["time"]
    assert left(person) == ["other", "halflap"]


def test_an_entry_keeps_its_options(person: Home) -> None:
    configured(person)
    started = {"command": "halflap", "args": ["serve", "--config", "/my.yaml"]}
    path = person.write(".cursor/mcp.json", {"mcpServers": {"gate": started}})
    person.run("install", "cursor", "--yes")
    args = json.loads(path.read_bytes())["mcpServers"]["gate"]["args"]
    assert args[args.index("serve") :] == ["serve", "--config", "/my.yaml"]


def test_undo_after_another_change_keeps_spelling(person: Home) -> None:
    text = '{"mcpServers":{"a":{"command":"cat"},"\\u00e9b":{"command":"tac"},"x\\/y":{"command":"rev"}}}'
    path = person.write(".cursor/mcp.json", text)
    person.run("init", "--yes")
    person.run("install", "cursor", "--move", "--yes")
    assert left(person) == ["halflap"]
    path.write_text(path.read_text() + "\n")
    person.run("install", "cursor", "--undo", "--yes")
    assert path.read_text() == text + "\n"


def test_the_result_as_json(person: Home) -> None:
    configured(person, time=TIME)
    own = {"command": "halflap", "args": ["serve"]}
    path = person.write(
        ".cursor/mcp.json", {"mcpServers": {"time": TIME, "x": {"command": "x"}, "a": own, "b": own}}
    )
    done = person.run("install", "cursor", "--move", "--yes", "--json")
    assert done.json["moved"] == ["time"]
    assert [one["name"] for one in done.json["stays"]] == ["x"]
    assert len(done.json["notes"]) == 1
    path.write_text(path.read_text() + " ")
    undone = person.run("install", "cursor", "--undo", "--yes", "--json").json
    assert undone["still"] == ["a", "b"]
