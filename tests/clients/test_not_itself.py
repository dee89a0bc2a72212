from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clients.homes import TIME
from clients.test_install import configured
from halflap.config import load_config

if TYPE_CHECKING:
    from clients.homes import Home


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "uvx", "args": ["mcp-server-git", "--repository", "/src/halflap", "serve"]},
        {"command": "bash", "args": ["-c", "echo halflap serve; exec my-mcp"]},
    ],
)
def test_a_server_that_only_mentions_halflap_is_taken_in_and_left_alone(
    person: Home, entry: dict[str, Any]
) -> None:
    path = person.write(".cursor/mcp.json", {"mcpServers": {"mine": entry}})
    person.run("init", "--yes")
    assert [server.name for server in load_config(person.config, project=False).servers] == ["mine"]
    done = person.run("install", "cursor", "--yes", "--json")
    assert done.json["name"] == "halflap"
    after = json.loads(path.read_bytes())["mcpServers"]
    assert after["mine"] == entry
    assert after["halflap"]["args"] == ["serve"]


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "env", "args": ["A=1", "halflap", "serve"]},
        {"command": "cmd", "args": ["/c", "cd", "x", "&&", "halflap", "serve"]},
    ],
)
def test_what_is_set_up_around_halflap_stays(person: Home, entry: dict[str, Any]) -> None:
    configured(person)
    path = person.write(".cursor/mcp.json", {"mcpServers": {"gate": entry}})
    person.run("install", "cursor", "--yes")
    assert json.loads(path.read_bytes())["mcpServers"] == {"gate": entry}


def test_what_starts_halflap_is_kept_out_and_named(person: Home) -> None:
    own = {"command": "uvx", "args": ["halflap", "serve"]}
    person.write(".cursor/mcp.json", {"mcpServers": {"s1": own, "time": TIME}})
    done = person.run("init", "--yes", "--json")
    assert "Kept out: `s1` of Cursor, ~/.cursor/mcp.json: it starts Halflap itself" in done.err
    assert done.json["kept_out"] == [{"name": "s1", "reason": "it starts Halflap itself"}]
    assert [one["name"] for one in done.json["added"]] == ["time"]
    assert "`s1`" not in person.run("install", "cursor", "--move", "--yes", "--print").err
