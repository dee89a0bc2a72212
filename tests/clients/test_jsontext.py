from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.clients import jsontext
from halflap.errors import ClientFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NEW = {"command": "/opt/halflap", "args": ["serve"], "alwaysLoad": True}
KEYS = ["a", "b", "c", "d", "é", 'q"', "//x", "/*"]
SCALARS = [0, -7, 1.5, True, None, "", "x // y", "/* no */", '"', "}", ",", "é😀"]
SPACES = ["", "", " ", "\t", "\n", "\r\n", "\n  ", "  \n", "\n\n    "]
COMMENTS = ["", "", "", "/* c */", "/*,*/", "/* a\n b */", "// l\n", "//  \t\n", '// "x": {\n', "//\r\n"]
BEGINNINGS = ["", "\ufeff"]
LAYOUTS = [None, 2, 4, "\t"]


class Writer:
    """Writes values as somebody may have: comments and spaces anywhere, trailing commas."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.pick: Callable[[Sequence[Any]], Any] = self.random.choice
        self.wild = self.random.random() < 0.7

    def object(self, depth: int = 0) -> dict[str, Any]:
        return {self.pick(KEYS): self.value(depth + 1) for _ in range(self.random.randrange(4))}

    def value(self, depth: int) -> Any:
        kind = self.random.randrange(6) if depth < 4 else 0
        if kind == 4:
            return [self.value(depth + 1) for _ in range(self.random.randrange(3))]
        return self.object(depth) if kind == 5 else self.pick(SCALARS)

    def trivia(self) -> str:
        return f"{self.pick(SPACES)}{self.pick(COMMENTS)}{self.pick(SPACES)}"

    def written(self, value: Any) -> str:
        if not isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=self.pick([True, False]))
        parts = []
        for key in value if isinstance(value, dict) else range(len(value)):
            name = f"{json.dumps(key)}{self.trivia()}:" if isinstance(value, dict) else ""
            parts.append(f"{self.trivia()}{name}{self.trivia()}{self.written(value[key])}{self.trivia()}")
        trailing = "," + self.trivia() if parts and self.pick([True, False]) else ""
        inner = ",".join(parts) + trailing if parts else self.trivia()
        return f"{{{inner}}}" if isinstance(value, dict) else f"[{inner}]"

    def text(self, value: Any) -> str:
        if self.wild:
            return f"{self.pick(BEGINNINGS)}{self.trivia()}{self.written(value)}{self.trivia()}"
        plain = json.dumps(value, indent=self.pick(LAYOUTS), ensure_ascii=False)
        return plain.replace("\n", self.pick(["\n", "\r\n"]))


Document = tuple[str, list[str], dict[str, Any]]


def made(seed: int) -> Document:
    """Give a text, the path of an object in it, and the value of all of it."""
    writer = Writer(seed)
    path: list[str] = []
    value = writer.object()
    for name in ["mcpServers", "mcp"][: writer.random.randrange(3)]:
        around = writer.object()
        value = {**around, name: value} if writer.pick([True, False]) else {name: value, **around}
        path.insert(0, name)
    return writer.text(value), path, value


DOCUMENTS = st.builds(made, st.integers(0, 2**40))


def at(value: Any, path: list[str]) -> Any:
    for key in path:
        value = value[key]
    return value


def is_within(part: str, whole: str) -> bool:
    """Say whether nothing but insertions makes one text of the other."""
    letters = iter(whole)
    return all(letter in letters for letter in part)


@given(DOCUMENTS, st.integers(0, 5))
def test_what_is_put_in_is_all_that_is_different_and_can_be_taken_out(document: Document, index: int) -> None:
    text, path, value = document
    block = jsontext.find(text, path)
    assert block is not None
    hollow = None if block.members else text[block.start + 1 : block.end]
    changed = jsontext.insert(text, path, "halflap", NEW, index=index)
    at(value, path)["halflap"] = NEW
    assert jsontext.parse(changed) == value
    assert is_within(text, changed)
    assert jsontext.remove(changed, path, "halflap", hollow=hollow) == text


@given(DOCUMENTS, st.data())
def test_what_is_taken_out_leaves_every_comment_and_every_other_value(
    document: Document, data: st.DataObject
) -> None:
    text, path, value = document
    inner = at(value, path)
    if not inner:
        return
    key = data.draw(st.sampled_from(list(inner)))
    block = jsontext.find(text, path)
    assert block is not None
    member = block.members[block.index(key) or 0]
    raw = jsontext.raw(text, path, key)
    changed = jsontext.remove(text, path, key)
    del inner[key]
    assert jsontext.parse(changed) == value
    assert is_within(changed, text)
    outside = text[: member.start] + text[member.end :]
    assert set((Counter(outside) - Counter(changed)).elements()) <= {",", *" \t\r\n"}
    assert outside.count(",") - changed.count(",") <= 1
    back = jsontext.insert(changed, path, key, None, index=block.index(key), verbatim=raw)
    assert raw in back
    assert list(at(jsontext.parse(back), path)) == list(at(jsontext.parse(text), path))


@given(DOCUMENTS, st.data())
def test_a_value_is_replaced_and_nothing_else(document: Document, data: st.DataObject) -> None:
    text, path, value = document
    inner = at(value, path)
    if not inner:
        return
    key = data.draw(st.sampled_from(list(inner)))
    block = jsontext.find(text, path)
    assert block is not None
    member = block.members[block.index(key) or 0]
    changed = jsontext.replace_value(text, path, key, NEW)
    inner[key] = NEW
    assert jsontext.parse(changed) == value
    assert changed.startswith(text[: member.value])
    assert changed.endswith(text[member.end :])


def test_it_looks_like_what_is_there() -> None:
    text = '{\n    "mcpServers": {\n        "a": {}, // mine\n    }\n}\n'
    assert jsontext.insert(text, ["mcpServers"], "b", {"x": 1}) == (
        '{\n    "mcpServers": {\n        "a": {}, // mine\n        "b": {\n            "x": 1\n        },\n    }\n}\n'
    )
    assert jsontext.insert('{"a":1}', ["s"], "b", {"x": 1}) == '{"a":1,"s":{"b":{"x":1}}}'
    tabs = '{\r\n\t"a": 1\r\n}'
    assert jsontext.insert(tabs, [], "b", {"x": 1}) == '{\r\n\t"a": 1,\r\n\t"b": {\r\n\t\t"x": 1\r\n\t}\r\n}'


@pytest.mark.parametrize("text", ["", " \n", "\ufeff", "// nothing yet"])
def test_a_file_with_nothing_in_it_becomes_one_with_something(text: str) -> None:
    changed = jsontext.insert(text, ["mcpServers"], "b", NEW)
    assert changed.startswith(text)
    assert jsontext.parse(changed) == {"mcpServers": {"b": NEW}}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n "a": 1\n "b": 2}', "line 2: .*column 8"),
        ('{"a": {"b": 1}', "line 1"),
        ('{"a": NaN}', "line 1"),
        ('{"a":' * 5000, "nested more than"),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ClientFileError, match=said):
        jsontext.parse(text)


@pytest.mark.parametrize(
    "text", ['{"mcpServers": []}', '{"mcpServers": null}', "[]", '{"mcpServers": {}, "mcpServers": {}}']
)
def test_where_nothing_can_be_put_that_is_said(text: str) -> None:
    with pytest.raises(ClientFileError, match=r"no object|occurs twice"):
        jsontext.insert(text, ["mcpServers"], "b", NEW)
