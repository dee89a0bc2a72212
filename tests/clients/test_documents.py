"""Editing one value of a file and keeping the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.clients.documents import CannotEditError, Document

JSON = """\
{
   "last": ["é", null, 1.50],
   "mcpServers": {
      "a": {"command": "x"}
   },
   "empty": {}
}
"""
YAML = """\
# My servers.
mcpServers:
  zeta: {command: zeta}   # the last letter

  alpha:   # the first
    command: alpha
    args:
      - one
      # - two, some day
# How programs run.
execution: {timeout_seconds: 5}
servers:
  - name: listed
    command: x
"""
TOML = """\
model = "x"  # mine

[mcp_servers.a]
command = "x"  # y

[other]
z = 1
"""
FILES = {"x.json": (JSON, "mcpServers"), "x.yaml": (YAML, "mcpServers"), "x.toml": (TOML, "mcp_servers")}
ENTRY = {"command": "new", "args": ["a", "b: c"], "env": {"A": "1", "B": "yes"}}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_server_is_added_and_the_rest_stays(name: str, newline: str) -> None:
    text, key = FILES[name]
    text = "\ufeff" + text.replace("\n", newline)
    document = Document(Path(name), text)
    before = document.value
    document.put((key, "new"), ENTRY, ["from there"])
    assert document.value == {**before, key: {**before[key], "new": ENTRY}}
    assert document.text.startswith("\ufeff")
    if name != "x.json":
        lines = iter(document.text.split(newline))
        assert all(line in lines for line in text.split(newline))
    document.remove((key, "new"))
    assert document.value == before
    assert name == "x.json" or document.text == text


def test_json_keeps_its_indentation_and_json_with_comments_is_not_written() -> None:
    document = Document(Path("x.json"), JSON)
    document.put(("mcpServers", "new"), ENTRY)
    assert '\n      "new": {\n         "command": "new"' in document.text
    assert "é" in document.text
    text = JSON.replace("{}", "{} // nothing")
    commented = Document(Path("x.json"), text)
    assert commented.value == Document(Path("x.json"), JSON).value
    with pytest.raises(CannotEditError):
        commented.remove(("mcpServers", "a"))
    assert commented.text == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment\n",
        "mcpServers:\n",
        "mcpServers: {}  # none\nb: 1\n",
        "mcpServers: null",
        "b:\n  - 1\n",
    ],
)
def test_the_first_server_is_added_to_any_file(text: str) -> None:
    document = Document(Path("x.yaml"), text)
    document.put(("mcpServers", "new"), ENTRY)
    assert document.at(("mcpServers", "new")) == ENTRY
    for comment in ("# only a comment", "# none"):
        assert (comment in document.text) == (comment in text)


@pytest.mark.parametrize("text", ["", "[tui]\nn = 1\n"])
def test_the_only_server_of_a_toml_file_is_added_and_removed(text: str) -> None:
    document = Document(Path("x.toml"), text)
    document.put(("mcp_servers", "new"), ENTRY)
    assert document.at(("mcp_servers", "new")) == ENTRY
    document.remove(("mcp_servers", "new"))
    assert document.text.strip() == text.strip()


values = st.recursive(
    st.booleans() | st.integers(-9, 9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(
    entry=st.dictionaries(st.text(min_size=1, max_size=6), values, min_size=1, max_size=3),
    name=st.text(min_size=1, max_size=8),
    file=st.sampled_from(sorted(FILES)),
)
def test_whatever_is_put_reads_back_or_is_refused(entry: dict[str, Any], name: str, file: str) -> None:
    text, key = FILES[file]
    document = Document(Path(file), text)
    before = document.value
    try:
        document.put((key, name), entry)
    except CannotEditError:
        assert document.text == text
        return
    assert Document(Path(file), document.text).value == {**before, key: {**before[key], name: entry}}


@pytest.mark.parametrize("name", ["x.json", "x.yaml", "x.toml"])
def test_the_last_mapping_at_the_top_is_removed(name: str) -> None:
    document = Document(Path(name), "")
    document.put(("http", "tokens", "ann"), {"hash": "x"})
    document.remove(("http",))
    assert document.value == {}
