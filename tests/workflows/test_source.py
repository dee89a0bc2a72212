"""Files with workflows: encodings, JSON that says something twice, and half characters."""

from __future__ import annotations

import json
from time import process_time
from typing import Any

import pytest

from halflap.errors import WorkflowError
from halflap.workflows.form import read_specification
from halflap.workflows.source import decoded, parse_source
from halflap.workflows.yawl import read_yawl

XML = (
    "<specificationSet><specification uri='s'><decomposition id='N'><processControlElements>"
    "<inputCondition id='i'><flowsInto><nextElementRef id='a'/></flowsInto></inputCondition>"
    "<task id='a'><name>Größe</name><flowsInto><nextElementRef id='o'/></flowsInto></task>"
    "<outputCondition id='o'/></processControlElements></decomposition></specification></specificationSet>"
)


def told(text: str) -> list[tuple[str, str]]:
    with pytest.raises(WorkflowError) as caught:
        read_specification(parse_source(text))
    return [(one.path, one.message) for one in caught.value.problems]


def small(task: str = '"id": "a"', rest: str = "") -> str:
    return f"""{{"id": "n", "input": "i", "output": "o", "tasks": [{{{task}}}],
        "flows": [{{"from": "i", "to": "a"}}, {{"from": "a", "to": "o"}}]{rest}}}"""


@pytest.mark.parametrize(
    ("encoding", "named"),
    [
        ("utf-8", "utf-8"),
        ("utf-8-sig", "UTF-8"),
        ("utf-16", "utf-16"),
        ("latin-1", "ISO-8859-1"),
        ("latin-1", "latin-1"),
        ("cp1252", "Windows-1252"),
    ],
)
def test_a_file_is_read_in_the_encoding_that_it_names(encoding: str, named: str) -> None:
    data = f'<?xml version="1.0" encoding="{named}"?>{XML}'.encode(encoding)
    assert read_yawl(data).net.tasks["a"].label == "Größe"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_json_is_read_with_a_byte_order_mark_or_without(encoding: str) -> None:
    text = small('"id": "a", "label": "Größe"')
    found = read_specification(parse_source(decoded(text.encode(encoding))))
    assert found.net.tasks["a"].label == "Größe"


@pytest.mark.parametrize("named", ["klingon", "punycode", "idna", "utf-7", "unicode_escape", "utf-16"])
def test_an_encoding_that_is_not_read_is_told_at_once(named: str) -> None:
    data = f'<?xml version="1.0" encoding="{named}"?>'.encode() + b"a" * 100_000 + b"-" + b"b" * 1_000_000
    began = process_time()
    with pytest.raises(WorkflowError, match=f"It is in {named}, which is not read. Save it as UTF-8"):
        read_yawl(data)
    assert process_time() - began < 1


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32"])
def test_what_does_not_say_its_byte_order_is_refused(encoding: str) -> None:
    with pytest.raises(WorkflowError, match="which is not read"):
        decoded(small().encode(encoding))


def test_bytes_that_are_not_what_they_say_are_told_with_their_place() -> None:
    with pytest.raises(WorkflowError, match="It is not UTF-8, at byte 3"):
        decoded(b'{"\xff": 1}')


def test_a_key_that_comes_twice_is_refused_with_its_place_beside_what_else_is_wrong() -> None:
    twice = (
        '"id": "a", "duration": 1, "duration": 99, "arguments": {"q": [{"k": 1, "k": 2, "k": 3}]}, "cost": -1'
    )
    found = told(small(twice, ', "label": "x", "label": "x"'))
    assert [path for path, _ in found] == [
        "label",
        "tasks[0].duration",
        "tasks[0].cost",
        "tasks[0].arguments.q[0].k",
    ]
    assert found[1][1] == "It is there 2 times, and only one can count. Take the others out."
    assert "3 times" in found[3][1]


@pytest.mark.parametrize(
    ("task", "rest", "path"),
    [
        (r'"id": "a", "label": "x\ud800"', "", "tasks[0].label"),
        (r'"id": "a", "reads": ["x", "\udfff"]', "", "tasks[0].reads[1]"),
        (r'"id": "a", "arguments": {"q": ["\ud800"]}', "", "tasks[0].arguments.q[0]"),
        (r'"id": "a", "arguments": {"\ud800": 1}', "", r"tasks[0].arguments.\ud800"),
        (r'"id": "a", "\ud800": 1', "", r"tasks[0].\ud800"),
        ('"id": "a"', r', "notes": ["\ud800"]', "notes[0]"),
        ('"id": "a"', r', "kept": [{"name": "x", "text": "\ud800"}]', "kept[0].text"),
        ('"id": "a"', r', "$schema": "\ud800"', "$schema"),
    ],
)
def test_half_a_character_is_refused_wherever_it_is(task: str, rest: str, path: str) -> None:
    found = told(small(task, rest))
    assert [where for where, _ in found] == [path]
    str(found).encode()


def test_a_whole_character_may_be_written_as_two_halves() -> None:
    found = read_specification(parse_source(small(r'"id": "a", "label": "\ud83e\udd16"')))
    assert found.net.tasks["a"].label == "🤖"


@pytest.mark.parametrize(
    ("blank", "said"), [(" ", "nothing but spaces"), ("\t\n", "nothing but spaces"), ("", "empty")]
)
def test_what_has_nothing_but_spaces_is_told_as_that(blank: str, said: str) -> None:
    wrong: Any = json.loads(small())
    wrong["tasks"][0] |= {"reads": [blank], "resource": blank}
    wrong["label"] = blank
    found = told(json.dumps(wrong))
    assert [path for path, _ in found] == ["tasks[0].reads[0]", "tasks[0].resource", "label"]
    assert all(said in message for _, message in found)
