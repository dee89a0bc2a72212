from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

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


def test_an_entry_that_was_renamed_goes_too(person: Home) -> None:
    path = installed(person, "--move")
    path.write_text(path.read_text().replace('"halflap":', '"hl":'))
    done = person.run("install", "cursor", "--undo", "--yes")
    assert "`hl` starts Halflap, where `halflap` is gone: it is taken out." in done.err
    assert "Halflap is out of Cursor." in done.err
    assert json.loads(path.read_bytes()) == {"mcpServers": {"time": TIME}}


def test_entries_that_still_start_halflap_are_named(person: Home) -> None:
    path = installed(person)
    value = json.loads(path.read_bytes())
    value["mcpServers"] |= dict.fromkeys(("h1", "h2"), value["mcpServers"]["halflap"])
    del value["mcpServers"]["halflap"]
    path.write_text(json.dumps(value))
    done = person.run("install", "cursor", "--undo", "--yes", "--json")
    assert "Cursor still starts Halflap, as `h1`, `h2`" in done.err
    assert "is out of" not in done.err
    assert done.json["still"] == ["h1", "h2"]


def test_an_entry_of_the_persons_own_is_as_it_was_and_named(person: Home) -> None:
    configured(person)
    own = {"command": "halflap", "args": ["serve", "--quiet"], "env": {"A": "1"}}
    path = person.write(".cursor/mcp.json", {"mcpServers": {"gate": own}})
    person.run("install", "cursor", "--yes")
    path.write_text(path.read_text() + "\n")
    done = person.run("install", "cursor", "--undo", "--yes")
    assert "Cursor still starts Halflap, as `gate`" in done.err
    assert "goes with it" not in done.err
    assert json.loads(path.read_bytes())["mcpServers"] == {"gate": own}


def test_what_was_written_into_halflaps_entry_is_named_when_it_goes(person: Home) -> None:
    path = installed(person)
    text = path.read_text().replace('"serve"', '"serve", "--verbose", "--key=hunter2", "hunter2"')
    path.write_text(
        text.replace('"halflap": {', '"halflap": { // note to self\n"env": {"MY": "hunter2"}, "timeout": 5,')
    )
    done = person.run("install", "cursor", "--undo", "--yes")
    assert (
        "What was written into `halflap` since goes with it: `env.MY`, `timeout`, `--verbose`, `--key` of `args`, the "
        "comment `// note to self`. The copy has it." in done.err
    )
    assert "hunter2" not in done.err
    assert "hunter2" not in path.read_text()


def test_what_was_written_into_it_between_two_installations_is_named_too(person: Home) -> None:
    path = installed(person)
    path.write_text(path.read_text().replace('"serve"', '"serve", "--quiet"'))
    person.run("install", "cursor", "--yes")
    path.write_text(path.read_text() + "\n")
    assert "`--quiet` of `args`" in person.run("install", "cursor", "--undo", "--yes").err


@pytest.mark.parametrize("text", ["[]", '{"mcpServers": [', '{"mcpServers": []}', "\ud800"])
def test_where_undoing_is_refused_the_copy_is_named(person: Home, text: str) -> None:
    path = installed(person, "--move")
    (copy,) = person.backups.iterdir()
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    done = person.run("install", "cursor", "--undo", "--yes")
    assert done.code == 1
    assert f"A copy of it, as it was before Halflap, is {copy}." in done.err
    assert path.read_bytes() == text.encode("utf-8", "surrogatepass")


def test_null_is_an_object_with_nothing_in_it(person: Home) -> None:
    path = installed(person, "--move")
    path.write_text('{"mcpServers": null, "a": 1}')
    assert person.run("install", "cursor", "--undo", "--yes").code == 0
    assert json.loads(path.read_bytes()) == {"mcpServers": {"time": TIME}, "a": 1}
    path.write_text('{"mcpServers": null, "a": 1}')
    assert person.run("install", "cursor", "--yes").code == 0
    assert list(json.loads(path.read_bytes())["mcpServers"]) == ["halflap"]
    person.run("install", "cursor", "--undo", "--yes")
    assert path.read_text() == '{"mcpServers": null, "a": 1}'
