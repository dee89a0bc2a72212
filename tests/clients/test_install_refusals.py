from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clients.test_install import COMMENTED, configured
from halflap.cli import installing
from halflap.clients import read_file

if TYPE_CHECKING:
    from pathlib import Path

    from clients.homes import Home
    from halflap.clients import FileText

REFUSED = {
    "a mistake": (
        '{\n "mcpServers": {\n  "a": 1\n  "b": 2\n }\n}',
        "line 3: expected `,` or `}` after the value (column 9)",
    ),
    "a list": ("[]", "must be an object"),
    "no object": ('{"mcpServers": []}', "`mcpServers` is no object"),
    "twice": ('{"mcpServers": {}, "mcpServers": {}}', "occurs twice"),
    "another": ('{"mcpServers": {"halflap": {"command": "other"}}}', "is not Halflap"),
    "by URL": ('{"mcpServers": {"halflap": {"url": "http://127.0.0.1:8765/mcp"}}}', "reached by a URL"),
    "not UTF-8": ("\udcff", "is not UTF-8"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_changed_with_care_is_not_changed(person: Home, kind: str) -> None:
    configured(person)
    text, said = REFUSED[kind]
    path = person.write(".cursor/mcp.json", "")
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = person.files()
    done = person.run("install", "cursor", "--yes")
    assert done.code == 1
    assert str(path) in done.err
    assert said in done.err
    assert "Nothing was written." in done.err
    assert person.files() == before


@pytest.mark.parametrize("kind", ["folder", "write-protected", "parent is a file"])
def test_what_cannot_be_written_is_said(person: Home, kind: str) -> None:
    configured(person)
    path = person.folder / ".cursor" / "mcp.json"
    if kind == "folder":
        path.mkdir(parents=True)
    elif kind == "parent is a file":
        person.write(".cursor", "")
    else:
        person.write(".cursor/mcp.json", {}).chmod(0o400)
    done = person.run("install", "cursor", "--yes")
    assert done.code == 1
    assert "Nothing was written." in done.err
    assert person.run("install", "cursor", "--undo", "--yes").code == 2


def test_a_file_that_changes_while_one_is_asked_is_read_again(
    person: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(person)
    path = person.write(".claude.json", {"numStartups": 1})

    def meanwhile(*_: Any, **__: Any) -> None:
        path.write_text('{"numStartups": 2, "tips": {}}')

    monkeypatch.setattr(installing, "may_write", meanwhile)
    assert person.run("install", "claude-code", "--yes").code == 0
    after = json.loads(path.read_bytes())
    assert after["numStartups"] == 2
    assert "halflap" in after["mcpServers"]
    person.run("install", "claude-code", "--undo", "--yes")
    assert path.read_text() == '{"numStartups": 2, "tips": {}}'


def test_a_file_that_never_stays_the_same_is_left_alone(
    person: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(person)
    path = person.write(".claude.json", {"numStartups": 1})

    def busy(file: Path) -> FileText:
        found = read_file(file)
        if file == path:
            path.write_text(json.dumps({"numStartups": json.loads(path.read_bytes())["numStartups"] + 1}))
        return found

    monkeypatch.setattr(installing, "read_file", busy)
    done = person.run("install", "claude-code", "--yes")
    assert done.code == 1
    assert "changed by another program just now" in done.err
    assert "halflap" not in path.read_text()
    assert person.run("install", "claude-code", "--undo", "--yes").code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("emacs",), "There are: claude-code, claude-desktop, cursor, vscode"),
        (("cursor", "--undo"), "nothing to undo"),
        (("cursor", "--undo", "--move"), "--undo without --move"),
        (("cursor", "--move"), "First: halflap init"),
        (("cursor", "-c", "nowhere.yaml"), "there is no such file"),
    ],
)
def test_what_makes_no_sense_is_refused(person: Home, arguments: tuple[str, ...], said: str) -> None:
    done = person.run("install", *arguments, "--yes")
    assert done.code == 2
    assert said in done.err
    assert person.files() == {}


def test_a_file_that_is_gone_cannot_be_undone_but_its_copy_is_named(person: Home) -> None:
    configured(person)
    path = person.write(".cursor/mcp.json", COMMENTED)
    person.run("install", "cursor", "--move", "--yes")
    path.unlink()
    done = person.run("install", "cursor", "--undo", "--yes")
    assert done.code == 1
    assert str(person.backups) in done.err


def test_a_copy_that_was_tampered_with_is_not_restored(person: Home) -> None:
    configured(person)
    path = person.write(".cursor/mcp.json", COMMENTED)
    person.run("install", "cursor", "--yes")
    (copy,) = person.backups.iterdir()
    copy.write_text("{}")
    person.run("install", "cursor", "--undo", "--yes")
    assert path.read_text() == COMMENTED


def test_a_note_that_cannot_be_read_is_said(person: Home) -> None:
    configured(person)
    person.write(".cursor/mcp.json", COMMENTED)
    person.run("install", "cursor", "--yes")
    for note in (person.folder / ".local/share/halflap/clients").iterdir():
        note.write_text('{"version": 99}')
    done = person.run("install", "cursor", "--undo", "--yes")
    assert done.code == 1
    assert "cannot be read" in done.err


def test_half_a_letter_in_an_entry_of_halflaps_stays_as_it_is(
    person: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(person)
    monkeypatch.setenv("HALFLAP_DATA_DIR", str(person.folder / "data"))
    own = '{"command": "halflap", "args": ["serve"], "env": {"A": "\\ud800"}}'
    path = person.write(".cursor/mcp.json", f'{{"mcpServers": {{"halflap": {own}}}}}')
    assert person.run("install", "cursor", "--yes").code == 0
    env = json.loads(path.read_bytes())["mcpServers"]["halflap"]["env"]
    assert env == {"A": "\ud800", "HALFLAP_DATA_DIR": str(person.folder / "data")}
