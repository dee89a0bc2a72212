"""Adding servers to a configuration file that a person wrote."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.clients import Addition, Additions, with_additions
from halflap.config.problems import Problems
from halflap.config.source_lines import parse
from halflap.core.errors import ClientFileError

FILE = Path("/home/me/config.yaml")
ONE = Additions((Addition("new-one", {"command": "x", "args": ["${A}", "- b: #c"]}, ("from somewhere",)),))


def value_of(text: str, path: Path = FILE) -> Any:
    problems = Problems(path)
    source = parse(text.encode(), path, problems)
    assert source is not None, problems.found
    return source.value


FORMS = {
    "nothing": "",
    "no servers": "tools:\n  pin: hold",
    "braces": "mcpServers: {} # none yet\ntools: {pin: hold}\n",
    "block": "mcpServers:\n  a:\n    command: a\n\n# after\ntools: {pin: hold}\n",
    "list form": "servers:\n- name: a\n  command: a\n",
    "windows": "mcpServers:\r\n  a:\r\n    command: a\r\ntools: {pin: hold}\r\n",
    "json": '{"mcpServers": {"a": {"command": "a"}}}\n',
    "json with comments": '// mine\n{\n  "mcpServers": {\n    "a": {"command": "a"}, // a\n  },\n}\n',
}


@pytest.mark.parametrize("form", FORMS)
def test_servers_are_added_to_a_file_whose_other_lines_stay(form: str) -> None:
    before = FORMS[form]
    path = FILE.with_suffix(".json") if form.startswith("json with") else FILE
    after = with_additions(path, before, ONE)
    assert value_of(after, path) == ONE.wanted(value_of(before, path))
    assert all(mark in after for mark in ("// mine", "# after", "# none yet") if mark in before)
    if form == "windows":
        assert after.count("\n") == after.count("\r\n")
    if form in {"block", "windows"}:
        lines = iter(after.splitlines())
        assert all(line in lines for line in before.splitlines())


@pytest.mark.parametrize(
    "form", ["mcpServers:\n  a: {command: a}\n...\n", "mcpServers: &x\n  a: {command: a}\nmore: 1\n---\n"]
)
def test_a_form_that_cannot_be_edited_is_refused_with_what_to_add(form: str) -> None:
    wanted = Additions(ONE.servers, ("core",), ("mcp__a__b",))
    with pytest.raises(Exception, match=r"Nothing was written|another document") as caught:
        with_additions(FILE, form, wanted)
    if isinstance(caught.value, ClientFileError):
        assert "  new-one:\n    command: x\n" in str(caught.value)


LETTERS = [*"aZ0- :#'\"\\\n\t}{[,*&!%@`~é😀\x85\u2028\x7f\ufeff", "${", "null", "true", "1e3", "0x1"]


def text_of(seed: int) -> str:
    random = Random(seed)
    return "".join(random.choice(LETTERS) for _ in range(random.randrange(6)))


@given(st.integers(0, 2**40), st.sampled_from(sorted(FORMS)))
def test_any_text_round_trips(seed: int, form: str) -> None:
    if form.startswith("json with"):
        return
    texts = [text_of(seed + number) for number in range(6)]
    entry = {"command": texts[0], "args": texts[1:4], "env": {f"k{texts[4]}": texts[5]}, "disabled": True}
    additions = Additions((Addition(f"n{texts[5]}", entry, (texts[0], texts[1])),))
    after = with_additions(FILE, FORMS[form], additions)
    assert value_of(after)["mcpServers"][f"n{texts[5]}"] == entry
