"""Files that `halflap install` leaves alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clients.test_install import COMMENTED, configured
from halflap.cli import installing

if TYPE_CHECKING:
    from clients.homes import Home

REFUSED = {
    "a mistake": '{\n "mcpServers": {\n  "a": 1\n  "b": 2\n }\n}',
    "a list": "[]",
    "no object": '{"mcpServers": []}',
    "twice": '{"mcpServers": {}, "mcpServers": {}}',
    "another": '{"mcpServers": {"halflap": {"command": "other"}}}',
    "by URL": '{"mcpServers": {"halflap": {"url": "http://127.0.0.1:8765/mcp"}}}',
    "not UTF-8": "\udcff",
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_file_that_cannot_be_edited_safely_is_left_alone(person: Home, kind: str) -> None:
    configured(person)
    path = person.write(".cursor/mcp.json", "")
    path.write_bytes(REFUSED[kind].encode("utf-8", "surrogateescape"))
    before = person.files()
    done = person.run("install", "cursor", "--yes")
    assert done.code == 1
    assert str(path) in done.err
    assert person.files() == before


@pytest.mark.parametrize("kind", ["folder", "write-protected", "parent is a file"])
def test_an_unwritable_file_is_reported(person: Home, kind: str) -> None:
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
    assert person.run("install", "cursor", "--undo", "--yes").code == 2


def test_a_file_that_changes_during_the_question_is_read_again(
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


@pytest.mark.parametrize(
    "arguments",
    [
        ("emacs",),
        ("cursor", "--undo"),
        ("cursor", "--undo", "--move"),
        ("cursor", "--move"),
        ("cursor", "-c", "nowhere.yaml"),
    ],
)
def test_what_makes_no_sense_is_refused(person: Home, arguments: tuple[str, ...]) -> None:
    assert person.run("install", *arguments, "--yes").code == 2
    assert person.files() == {}


def test_undo_of_a_deleted_file_names_its_backup(person: Home) -> None:
    configured(person)
    path = person.write(".cursor/mcp.json", COMMENTED)
    person.run("install", "cursor", "--move", "--yes")
    path.unlink()
    done = person.run("install", "cursor", "--undo", "--yes")
    assert done.code == 1
    assert str(person.backups) in done.err


def test_a_changed_backup_is_not_restored(person: Home) -> None:
    configured(person)
    path = person.write(".cursor/mcp.json", COMMENTED)
    person.run("install", "cursor", "--yes")
    (copy,) = person.backups.iterdir()
    copy.write_text("{}")
    person.run("install", "cursor", "--undo", "--yes")
    assert path.read_text() == COMMENTED
