"""What `halflap init` says of what it does not take in, and of what was asked for wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clients.homes import TIME
from halflap.config import load_config

if TYPE_CHECKING:
    from clients.homes import Done, Home


def taken_in(person: Home, *more: str, **servers: Any) -> Done:
    person.write(".cursor/mcp.json", {"mcpServers": servers})
    return person.run("init", "--yes", *more)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"command": "x", "args": [1, True, None, "x"]}, "`args`, item 3, is null"),
        ({"command": "x", "args": ["x", {"y": 1}]}, "`args`, item 2, is an object"),
        ({"command": "x", "env": {"A": "b", "C": None}}, "`env`, `C`, is null"),
        ({"command": ["a"]}, "command must be a string, not a list"),
        ({"url": 1}, "`url` is a number"),
    ],
)
def test_what_is_of_no_kind_that_can_be_used_is_named_to_the_item(
    person: Home, entry: dict[str, Any], said: str
) -> None:
    done = taken_in(person, odd=entry, b=TIME)
    assert f"Kept out: `odd` of Cursor, ~/.cursor/mcp.json: {said}" in done.err


def test_half_a_letter_in_a_name_keeps_that_server_out_and_no_other(person: Home) -> None:
    servers = {"good": TIME, "s\ud800": {"command": "tac"}, "odd": {**TIME, "env": {"K\udc00": "x"}}}
    done = taken_in(person, **servers)
    assert [server.name for server in load_config(person.config, project=False).servers] == ["good"]
    half = "holds half a surrogate pair, which is no character."
    assert f"Kept out: `s\\ud800` of Cursor, ~/.cursor/mcp.json: its name {half}" in done.err
    assert f"Kept out: `odd` of Cursor, ~/.cursor/mcp.json: the key `K\\udc00` {half}" in done.err
    assert len(taken_in(person, "--json", **servers).json["kept_out"]) == 2


def test_half_a_letter_in_the_name_of_a_tool_is_no_trouble(person: Home) -> None:
    done = taken_in(person, a={**TIME, "disabledTools": ["q\ud800"]})
    assert done.code == 0
    assert load_config(person.config, project=False).tools.block == ("mcp__a__q_",)


def test_a_long_name_is_cut_and_one_that_is_empty_is_told_in_words(person: Home) -> None:
    done = taken_in(person, **{"x" * 200: TIME, "": {"command": "one"}, " ": {}})
    assert "x" * 65 not in done.err
    assert f"Note: `{'x' * 59}…` of Cursor, ~/.cursor/mcp.json comes in as `xxx" in done.err
    assert (
        "Note: a server without a name of Cursor, ~/.cursor/mcp.json comes in as `server-cursor`: it needs a name."
        in done.err
    )
    assert "Kept out: a server without a name of Cursor, ~/.cursor/mcp.json: " in done.err
    assert "``" not in done.err


@pytest.mark.parametrize("url", ["http://127.0.0.1:8765/mcp", "https://gate.example.com/team"])
def test_halflap_behind_a_url_is_kept_out_and_named_unless_it_is_another(person: Home, url: str) -> None:
    done = taken_in(person, halflap={"url": url})
    assert "Kept out: `halflap` of Cursor" in done.err
    assert "If it is another: --also halflap" in done.err
    taken_in(person, "--also", "halflap", halflap={"url": url})
    (server,) = load_config(person.config, project=False).servers
    assert (server.name, server.url) == ("halflap", url)


def test_a_name_given_with_also_that_no_client_has_is_refused(person: Home) -> None:
    done = taken_in(person, "--also", "nobody", a=TIME)
    assert done.code == 2
    assert "--also: no client has a server 'nobody'. Nothing was written." in done.err
    assert not person.config.exists()


def test_what_confines_a_server_is_told_once(person: Home) -> None:
    done = taken_in(person, a={**TIME, "sandboxEnabled": True, "sandbox": {"network": False}})
    assert done.err.count("does not confine servers") == 1


def test_no_file_is_written_if_no_server_can_be_used(person: Home) -> None:
    done = taken_in(person, odd={})
    assert done.code == 0
    assert "None of these servers can be taken in: nothing was written." in done.err
    assert "Written" not in done.err
    assert not person.config.exists()


def test_a_family_that_there_is_none_of_is_told_with_those_there_are(person: Home) -> None:
    done = taken_in(person, "--family", "foo", a=TIME)
    assert done.code == 2
    assert "There is no family of tools named 'foo'. There are: core" in done.err
