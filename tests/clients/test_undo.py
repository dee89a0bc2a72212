"""`halflap install --undo` after changes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clients.homes import TIME
from clients.test_install import configured

if TYPE_CHECKING:
    from pathlib import Path

    from clients.homes import Home


def installed(person: Home, *more: str) -> Path:
    configured(person, time=TIME)
    path = person.write(".cursor/mcp.json", {"mcpServers": {"time": TIME}})
    assert person.run("install", "cursor", "--yes", *more).code == 0
    return path


def test_a_renamed_entry_is_removed_too(person: Home) -> None:
    path = installed(person, "--move")
    path.write_text(path.read_text().replace('"halflap":', '"hl":'))
    person.run("install", "cursor", "--undo", "--yes")
    assert json.loads(path.read_bytes()) == {"mcpServers": {"time": TIME}}


def test_changes_to_our_entry_are_reported_when_it_is_removed(person: Home) -> None:
    path = installed(person)
    text = path.read_text().replace('"serve"', '"serve", "--verbose", "--key=hunter2", "hunter2"')
    path.write_text(
        text.replace('"halflap": {', '"halflap": { // note to self\n"env": {"MY": "hunter2"}, "timeout": 5,')
    )
    done = person.run("install", "cursor", "--undo", "--yes")
    assert "env.MY" in done.err
    assert "hunter2" not in done.err
    assert "hunter2" not in path.read_text()


def test_a_refused_undo_names_the_backup(person: Home) -> None:
    path = installed(person, "--move")
    (backup,) = person.backups.iterdir()
    path.write_text("[]")
    done = person.run("install", "cursor", "--undo", "--yes")
    assert (done.code, str(backup) in done.err) == (1, True)
    assert path.read_text() == "[]"
