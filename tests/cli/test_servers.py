"""`halflap add`, `remove`, `enable` and `disable`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from clients.homes import Home, settle
from halflap.config import load_config

if TYPE_CHECKING:
    from pathlib import Path

    from halflap.config import ServerConfig

YAML = """\
# Mine.
mcpServers:
  time: {command: uvx, args: [mcp-server-time]}  # UTC

  files:   # at work
    command: npx
    # args: [none]
servers:
  - name: listed
    command: x
# The end.
execution: {timeout_seconds: 5}
"""


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    return settle(tmp_path, monkeypatch)


def servers(person: Home) -> dict[str, ServerConfig]:
    return {one.name: one for one in load_config(person.config, project=False).servers}


def test_servers_are_added_by_command_and_by_url_and_replaced_only_on_request(person: Home) -> None:
    done = person.run("add", "time", "-e", "TZ=UTC", "--", "uvx", "mcp-server-time", "--local", "-v")
    assert done.code == 0, done.err
    headers = ("-H", "X-Key=${KEY:-a=b}", "-H", "Authorization: Bearer x")
    assert person.run("add", "docs", "https://docs.example/mcp", *headers).code == 0
    found = servers(person)
    assert (found["time"].command, found["time"].args) == ("uvx", ("mcp-server-time", "--local", "-v"))
    assert dict(found["time"].env) == {"TZ": "UTC"}
    assert found["docs"].url == "https://docs.example/mcp"
    assert dict(found["docs"].headers) == {"X-Key": "a=b", "Authorization": "Bearer x"}
    assert person.run("add", "time", "--", "two").code == 2
    assert person.run("add", "time", "--force", "--", "two").code == 0
    assert servers(person)["time"].command == "two"


def test_every_other_line_of_the_file_stays(person: Home) -> None:
    person.write(".config/halflap/config.yaml", YAML)
    for name in ("time", "files"):
        assert person.run("disable", name).code == 0
        assert servers(person)[name].disabled
        assert person.run("enable", name).code == 0
    assert person.config.read_text() == YAML
    person.run("add", "new", "--", "x")
    person.run("remove", "new")
    assert person.config.read_text() == YAML
    assert person.run("disable", "listed").code == 1
    person.run("remove", "files")
    assert list(servers(person)) == ["time", "listed"]
    for line in ("# Mine.", "# UTC", "# The end."):
        assert line in person.config.read_text()


@pytest.mark.parametrize(
    "words",
    [
        "add script -- x",
        "add a/b -- x",
        "add me -- halflap serve",
        "add a https://a.example -e A=1",
        "add a -H A=1 -- x",
        "add a -e A -- x",
        "remove nobody",
    ],
)
def test_invalid_usage_is_refused(person: Home, words: str) -> None:
    person.write(".config/halflap/config.yaml", YAML)
    assert person.run(*words.split()).code == 2
    assert person.config.read_text() == YAML


def test_a_json_configuration_is_edited_and_one_with_comments_is_left_to_the_person(person: Home) -> None:
    mine = person.write("mine.json", {"mcpServers": {"a": {"command": "x"}}})
    done = person.run("disable", "a", "-c", str(mine), "--json")
    assert done.json == {"file": str(mine), "name": "a", "disabled": True}
    assert json.loads(mine.read_text())["mcpServers"]["a"]["disabled"] is True
    text = "// mine\n" + mine.read_text()
    mine.write_text(text)
    done = person.run("add", "b", "-c", str(mine), "--", "new")
    assert (done.code, mine.read_text()) == (1, text)
    assert '"command": "new"' in done.err
