from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from clients.test_jsontext import DOCUMENTS, Document, Writer, at
from halflap.clients import Installed, install, jsontext, uninstall
from halflap.errors import ClientFileError

ENTRY = {"command": "/opt/halflap", "args": ["serve"], "env": {"A": "b"}}


def noted(done: Installed) -> Installed:
    """Give what was done as it is after it was written down."""
    return Installed.from_json(json.loads(json.dumps(done.as_json())))


@given(DOCUMENTS, st.lists(st.sampled_from(["mcp", "new"]), max_size=2))
def test_what_was_put_in_is_taken_out_to_the_letter(document: Document, more: list[str]) -> None:
    text, path, value = document
    # Also into objects that are not there yet, which are made, and go again.
    keys = [*path, *more] if not any(key in at(value, path) for key in more) else path
    after, done = install(text, keys, ENTRY)
    assert at(jsontext.parse(after), keys)["halflap"] == ENTRY
    assert uninstall(after, noted(done)) == (text, [])


@given(
    DOCUMENTS,
    st.integers(0, 2**30),
    st.sampled_from(["", "\r", '"', "{", "}", ",", "//", "/*", "\\", "\ufeff"]),
)
def test_a_text_that_is_damaged_is_refused_or_changed_as_wanted(
    document: Document, place: int, piece: str
) -> None:
    text, path, _ = document
    at_ = place % (len(text) + 1)
    damaged = text[:at_] + piece + text[at_ + place % 3 :]
    try:
        after, done = install(damaged, path, ENTRY)
    except ClientFileError:
        return
    assert at(jsontext.parse(after), path)["halflap"] == ENTRY
    # Of a text of comments alone, braces are left: there is no telling that they were not there.
    assert uninstall(after, done)[0] == damaged or jsontext.find(damaged, []) is None


@given(DOCUMENTS, st.data())
def test_servers_that_were_moved_come_back_in_their_order(document: Document, data: st.DataObject) -> None:
    text, path, value = document
    names = list(at(value, path))
    chosen = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    after, done = install(text, path, ENTRY, [(tuple(path), name) for name in chosen])
    left = at(jsontext.parse(after), path)
    assert list(left) == [*(name for name in names if name not in chosen), "halflap"]
    back, notes = uninstall(after, noted(done))
    assert jsontext.parse(back) == jsontext.parse(text)
    assert list(at(jsontext.parse(back), path)) == list(at(jsontext.parse(text), path))
    assert notes == []


@given(st.integers(0, 2**40), st.lists(st.sampled_from(["x", "m", "z"]), unique=True))
def test_two_servers_of_one_name_come_back_both_in_their_order(seed: int, chosen: list[str]) -> None:
    writer = Writer(seed)
    servers = {name: writer.object() for name in ("x", "m", "x again", "z")}
    text = writer.text({"mcpServers": servers}).replace('"x again"', '"x"')
    path = ("mcpServers",)
    after, done = install(text, path, ENTRY, [(path, name) for name in chosen])
    assert list(at(jsontext.parse(after), ["mcpServers"])) == [
        *(name for name in ("x", "m", "z") if name not in chosen),
        "halflap",
    ]
    back, notes = uninstall(after, noted(done))
    assert members(back) == members(text)
    assert notes == []


def members(text: str) -> list[tuple[str, str]]:
    block = jsontext.find(text, ["mcpServers"])
    assert block is not None
    return [(member.key, text[member.value : member.end]) for member in block.members]
