from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clients.homes import TIME
from clients.test_install import COMMENTED, configured
from halflap.cli import installing
from halflap.clients import jsonblocks

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def test_servers_that_the_client_signs_in_to_stay(person: Home) -> None:
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
    assert "`signed` stays: the client signs in to it by `auth`, which Halflap does not." in said
    assert "`remote` stays: it has no headers of its own" in said


def test_a_server_that_needs_no_sign_in_can_be_named(person: Home) -> None:
    names, _ = moved(person, "--also", "open", open=REMOTE)
    assert names == ["halflap"]


@pytest.mark.parametrize(
    ("more", "said"),
    [(("--move", "--also", "nobody"), "has no server 'nobody'"), (("--also", "time"), "both")],
)
def test_a_name_that_means_nothing_is_refused(person: Home, more: tuple[str, ...], said: str) -> None:
    configured(person)
    path = person.write(".cursor/mcp.json", COMMENTED)
    done = person.run("install", "cursor", "--yes", *more)
    assert done.code == 2
    assert said in done.err
    assert path.read_text() == COMMENTED


def test_a_server_that_halflap_has_lost_while_one_was_asked_stays(
    person: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(person, time=TIME, other={"command": "other"})
    person.write(".cursor/mcp.json", {"mcpServers": {"time": TIME, "other": {"command": "other"}}})
    monkeypatch.setattr(installing, "may_write", lambda *_, **__: configured(person, time=TIME))
    done = person.run("install", "cursor", "--move", "--yes", "--json")
    assert done.json["moved"] == ["time"]
    assert left(person) == ["other", "halflap"]
    assert "`other` stays: Halflap's configuration does not have it" in done.err


def test_servers_in_the_older_file_of_vs_code_are_named(person: Home) -> None:
    configured(person)
    settings = person.write(".config/Code/User/settings.json", {"mcp": {"servers": {"old": TIME}}})
    before = settings.read_bytes()
    done = person.run("install", "vscode", "--move", "--yes")
    assert "`old` stays: it is in settings.json" in done.err
    assert settings.read_bytes() == before


@pytest.mark.parametrize(
    ("started", "more", "expected"),
    [
        (["halflap", "serve", "--config", "/my.yaml"], (), ["serve", "--config", "/my.yaml"]),
        (
            ["uvx", "halflap", "serve", "-c", "/my.yaml", "--quiet"],
            (),
            ["serve", "-c", "/my.yaml", "--quiet"],
        ),
        (
            ["halflap", "serve", "--quiet", "--config=/my.yaml"],
            ("-c", "{config}"),
            ["serve", "--quiet", "--config", "{config}"],
        ),
        (["halflap", "serve", "-c", "/my.yaml"], ("-c", "{config}"), ["serve", "--config", "{config}"]),
    ],
)
def test_an_entry_keeps_the_options_that_it_starts_halflap_with(
    person: Home, started: list[str], more: tuple[str, ...], expected: list[str]
) -> None:
    configured(person)
    path = person.write(
        ".cursor/mcp.json", {"mcpServers": {"gate": {"command": started[0], "args": started[1:]}}}
    )
    chosen = [word.replace("{config}", str(person.config)) for word in more]
    person.run("install", "cursor", "--yes", *chosen)
    args = json.loads(path.read_bytes())["mcpServers"]["gate"]["args"]
    wanted = [word.replace("{config}", str(person.config)) for word in expected]
    assert args[args.index("serve") :] == wanted


def test_two_entries_that_start_halflap_are_said(person: Home) -> None:
    configured(person)
    one = {"command": "halflap", "args": ["serve"]}
    person.write(".cursor/mcp.json", {"mcpServers": {"a": one, "b": one}})
    done = person.run("install", "cursor", "--yes")
    assert "2 entries start Halflap: `a`, `b`. `a` is the one that is brought up to date" in done.err


def test_how_to_take_it_back_is_said_whole_and_other_places_are_named(person: Home) -> None:
    configured(person)
    done = person.run("install", "cursor", "--project", "--yes")
    assert "Take it back: halflap install cursor --project --undo" in done.err
    done = person.run("install", "cursor", "--undo", "--yes")
    assert done.code == 2
    assert str(person.work / ".cursor" / "mcp.json") in done.err
    assert person.run("install", "cursor", "--project", "--undo", "--yes").code == 0


@pytest.mark.parametrize("command", [("init",), ("install", "cursor")])
def test_where_nobody_can_be_asked_the_error_says_so(person: Home, command: tuple[str, ...]) -> None:
    configured(person, other={"command": "other"})
    person.write(".cursor/mcp.json", {"mcpServers": {"a": TIME}})
    done = person.run(*command)
    assert done.code == 2
    assert "[confirmation-needed]" in done.err


AROUND = """\
{
  // top
  "servers": {
    // about alpha: ask Bob for the key
    "alpha": {
      "command": "alpha", // inline alpha
      /* block in alpha */
      "args": ["a"]
    }, // after alpha
    // about beta
    "beta": {"command": "beta"}, /* after beta */
    // about gamma

    "gamma": {"command": "gamma"}
    // the end
  },
  "inputs": [] // none
}
"""


def test_comments_around_what_is_moved_stay_on_their_lines_and_those_within_are_named(person: Home) -> None:
    path = person.write(".config/Code/User/mcp.json", AROUND)
    person.run("init", "--yes")
    done = person.run("install", "vscode", "--move", "--yes")
    lines = [line.strip() for line in path.read_text().splitlines() if "//" in line or "/*" in line]
    assert lines == [
        "// top",
        "// about alpha: ask Bob for the key",
        "// after alpha",
        "// about beta",
        "/* after beta */",
        "// about gamma",
        "// the end",
        '"inputs": [] // none',
    ]
    assert (
        "Note: 2 comments within `alpha` go with it: `// inline alpha`, `/* block in alpha */`. The copy has them, and "
        "--undo brings them back." in done.err
    )
    path.write_text(path.read_text() + "// added\n")
    person.run("install", "vscode", "--undo", "--yes")
    assert [line for line in path.read_text().splitlines() if line.strip()] == [
        line for line in [*AROUND.splitlines(), "// added"] if line.strip()
    ]


BEHIND = """\
{
  "servers": {
    // files: the work folder
    "files": {
      "command": "files"
    },

    // memory of everything
    "memory": {"command": "memory"},
    /* a third,
       for a while */
    "third": {"command": "third"}
  }
}
"""


@pytest.mark.parametrize("stays", [(), ("files",), ("memory",), ("third",)])
def test_servers_come_back_beside_their_comments_though_none_stayed(
    person: Home, stays: tuple[str, ...]
) -> None:
    names = [name for name in ("files", "memory", "third") if name not in stays]
    configured(person, **{name: {"command": name} for name in names})
    path = person.write(".config/Code/User/mcp.json", BEHIND)
    assert person.run("install", "vscode", "--move", "--yes", "--json").json["moved"] == names
    path.write_text(path.read_text() + " ")
    person.run("install", "vscode", "--undo", "--yes")
    lines = [line for line in path.read_text().splitlines() if line.strip()]
    assert lines == [line for line in BEHIND.splitlines() if line.strip()]


def test_many_servers_go_out_of_a_large_file_and_come_back_in_one_pass(
    person: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"s{number}" for number in range(70)]
    servers = {name: {"command": name} for name in names}
    configured(person, **servers)
    value = {"history": ["x" * 50] * 20_000, "mcpServers": servers, "last": 1}
    path = person.write(".claude.json", json.dumps(value))
    looked_at = 0
    find = jsonblocks.Document.find

    def counted(document: jsonblocks.Document, path: Sequence[str]) -> jsonblocks.Block | None:
        nonlocal looked_at
        looked_at += 0 if document._blocks else 1
        return find(document, path)

    monkeypatch.setattr(jsonblocks.Document, "find", counted)
    done = person.run("install", "claude-code", "--move", "--yes", "--json")
    assert done.json["moved"] == names
    # Each text that is taken apart costs as much as the file is large.
    assert looked_at < len(names) / 2
    path.write_text(path.read_text() + " ")
    looked_at = 0
    person.run("install", "claude-code", "--undo", "--yes", "--json")
    assert path.read_text() == json.dumps(value) + " "
    assert looked_at < len(names) / 2


def test_undoing_after_another_change_brings_names_back_as_they_were_spelled(person: Home) -> None:
    text = '{"mcpServers":{"a":{"command":"cat"},"\\u00e9b":{"command":"tac"},"x\\/y":{"command":"rev"}}}'
    path = person.write(".cursor/mcp.json", text)
    person.run("init", "--yes")
    person.run("install", "cursor", "--move", "--yes")
    assert left(person) == ["halflap"]
    path.write_text(path.read_text() + "\n")
    person.run("install", "cursor", "--undo", "--yes")
    assert path.read_text() == text + "\n"


def test_undoing_where_the_servers_are_gone_keeps_the_spelling_too(person: Home) -> None:
    path = person.write(".cursor/mcp.json", '{"mcpServers":{"\\u00e9b":{"command":"tac"}}}')
    person.run("init", "--yes")
    person.run("install", "cursor", "--move", "--yes")
    path.write_text("{}")
    person.run("install", "cursor", "--undo", "--yes")
    assert '"\\u00e9b"' in path.read_text()


def test_scripts_are_told_what_stays_and_what_there_is_to_note(person: Home) -> None:
    configured(person, time=TIME)
    own = {"command": "halflap", "args": ["serve"]}
    path = person.write(
        ".cursor/mcp.json", {"mcpServers": {"time": TIME, "x": {"command": "x"}, "a": own, "b": own}}
    )
    done = person.run("install", "cursor", "--move", "--yes", "--json")
    assert done.json["moved"] == ["time"]
    assert done.json["stays"] == [
        {"name": "x", "why": "Halflap's configuration does not have it, or not like this."}
    ]
    (noted,) = done.json["notes"]
    assert noted.startswith("2 entries start Halflap: `a`, `b`.")
    assert "`x` stays: Halflap's configuration does not have it" in done.err
    path.write_text(path.read_text() + " ")
    undone = person.run("install", "cursor", "--undo", "--yes", "--json").json
    assert undone["still"] == ["a", "b"]
    assert any("was changed since by something else" in line for line in undone["notes"])
