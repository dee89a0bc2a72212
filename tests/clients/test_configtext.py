from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.clients import Addition, Additions, with_additions
from halflap.config.document import document
from halflap.config.nodes import Problems, plain
from halflap.errors import ClientFileError

FILE = Path("/home/me/config.yaml")
ONE = Additions((Addition("new-one", {"command": "x", "args": ["${A}", "- b: #c"]}, ("from somewhere",)),))


def value_of(text: str, path: Path = FILE) -> Any:
    problems = Problems(path)
    root = document(text.encode(), path, problems)
    assert root is not None, problems.found
    return plain(root)


FORMS = {
    "nothing": "",
    "comments": "# mine\n",
    "no servers": "tools:\n  pin: hold",
    "empty": "mcpServers:\ntools: {pin: hold}\n",
    "null": "mcpServers: ~  # none yet\n",
    "braces": "mcpServers: {} # none yet\ntools: {pin: hold}\n",
    "one line": "mcpServers: {a: {command: a}, b: {command: b}}\n",
    "one line, trailing comma": "mcpServers: {a: {command: a,},}\n",
    "flow over lines": "mcpServers: {\n  a: {command: a}  # mine\n}\n",
    "block": "mcpServers:\n  a:\n    command: a\n\n# after\ntools: {pin: hold}\n",
    "deeper": "mcpServers:\n        a:\n          command: a\n",
    "comment behind": "mcpServers:\n  a:\n    command: a # the end",
    "list of arguments": "mcpServers:\n  a:\n    command: a\n    args:\n    - one\n    - two\n\n\n",
    "block scalar": "mcpServers:\n  a:\n    command: |-\n      a\n\n# after\ntools: {pin: hold}\n",
    "folded": "mcpServers:\n  a:\n    command: a\n    cwd: >\n      b\n      c\n",
    "list form": "servers:\n- name: a\n  command: a\n",
    "dashes": "---\nmcpServers:\n  a: {command: a}\n",
    "alias": "mcpServers:\n  a: &a {command: a}\n  b: *a\n",
    "windows": "mcpServers:\r\n  a:\r\n    command: a\r\ntools: {pin: hold}\r\n",
    "mark": "\ufeffmcpServers:\n  a: {command: a}\n",
    "quotes": '"mcpServers":\n  "a": {"command": "a"}\n',
    "json": '{"mcpServers": {"a": {"command": "a"}}}\n',
    "json with comments": '// mine\n{\n  "mcpServers": {\n    "a": {"command": "a"}, // a\n  },\n}\n',
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_can_be_added_to_and_keeps_all_its_lines(form: str) -> None:
    before = FORMS[form]
    path = FILE.with_suffix(".json") if form.startswith("json with") else FILE
    after = with_additions(path, before, ONE)
    assert value_of(after, path) == ONE.wanted(value_of(before, path))
    kept = [mark for mark in ("# mine", "// mine", "# after", "# none yet", "# the end") if mark in before]
    assert all(mark in after for mark in kept)
    if form == "windows":
        assert after.count("\n") == after.count("\r\n")
    if form in {
        "block",
        "deeper",
        "comment behind",
        "list of arguments",
        "block scalar",
        "folded",
        "alias",
        "windows",
    }:
        lines = iter(after.splitlines())
        assert all(line in lines for line in before.splitlines())


@pytest.mark.parametrize(
    "form", ["mcpServers:\n  a: {command: a}\n...\n", "mcpServers: &x\n  a: {command: a}\nmore: 1\n---\n"]
)
def test_what_text_cannot_do_is_refused_with_what_to_add(form: str) -> None:
    wanted = Additions(ONE.servers, ("core",), ("mcp__a__b",))
    with pytest.raises(Exception, match=r"Nothing was written|more than one document") as caught:
        with_additions(FILE, form, wanted)
    if isinstance(caught.value, ClientFileError):
        assert "  new-one:\n    command: x\n" in str(caught.value)


def test_a_new_file_says_what_it_is_for() -> None:
    text = with_additions(FILE, None, Additions(ONE.servers, ("core",), ("mcp__a__b",)))
    assert text.startswith("# Halflap's configuration.")
    assert value_of(text) == Additions(ONE.servers, ("core",), ("mcp__a__b",)).wanted({})


LETTERS = [
    "a",
    "Z",
    "0",
    "-",
    " ",
    ":",
    "#",
    "'",
    '"',
    "\\",
    "\n",
    "\t",
    "${",
    "}",
    "{",
    "[",
    ",",
    "*",
    "&",
    "!",
    "%",
    "@",
    "`",
    "~",
    "é",
    "😀",
    "\x85",
    "\u2028",
    "\x7f",
    "\ufeff",
    "null",
    "true",
    "1e3",
    "0x1",
]


def text_of(seed: int) -> str:
    random = Random(seed)
    return "".join(random.choice(LETTERS) for _ in range(random.randrange(6)))


@given(st.integers(0, 2**40), st.sampled_from(sorted(FORMS)))
def test_any_text_can_be_written_and_is_read_as_it_was(seed: int, form: str) -> None:
    if form.startswith("json with"):
        return
    texts = [text_of(seed + number) for number in range(6)]
    entry = {"command": texts[0], "args": texts[1:4], "env": {f"k{texts[4]}": texts[5]}, "disabled": True}
    additions = Additions((Addition(f"n{texts[5]}", entry, (texts[0], texts[1])),))
    after = with_additions(FILE, FORMS[form], additions)
    assert value_of(after)["mcpServers"][f"n{texts[5]}"] == entry
