from __future__ import annotations

import json
from typing import Any

import pytest

from halflap.errors import UsageError
from halflap.lint import read_definitions
from halflap.lint.sample import record, tool
from lint.making import report_of

ONE = tool("get_order")


@pytest.mark.parametrize(
    ("data", "servers"),
    [
        ([ONE], {"shop": ["get_order"]}),
        ({"tools": [ONE]}, {"shop": ["get_order"]}),
        ({"jsonrpc": "2.0", "id": 1, "result": {"tools": [ONE]}}, {"shop": ["get_order"]}),
        ({"a": {"tools": [ONE]}, "b": {"tools": [], "category": "x"}}, {"a": ["get_order"], "b": []}),
        ({"servers": {"a": {"tools": [ONE]}}}, {"a": ["get_order"]}),
        ([], {"shop": []}),
    ],
)
def test_every_form_is_read(data: Any, servers: dict[str, list[str]]) -> None:
    read = read_definitions(json.dumps(data), "shop", "tools.json")
    assert {one.name: [each.tool.original_name for each in one.entries] for one in read} == servers


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "cannot be read as JSON"),
        ("{", "cannot be read as JSON"),
        ("[" * 100_000, "cannot be read as JSON"),
        ("5", "no tools in a form that is known"),
        ("{}", "no tools in a form that is known"),
        ('{"tools": 5}', "no tools in a form that is known"),
        ('{"a": {"tools": []}, "b": 5}', "no tools in a form that is known"),
        ("[5]", "tool 1 of shop has no `name`"),
        ('[{"name": "a"}, {"title": "b"}]', "tool 2 of shop has no `name`"),
    ],
)
def test_what_is_none_is_told_with_what_it_should_be(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=r"tools\.json") as raised:
        read_definitions(text, "shop", "tools.json")
    assert told in str(raised.value)


def test_names_that_differ_only_in_odd_characters_are_two_tools() -> None:
    (server,) = read_definitions(json.dumps([tool("a.b"), tool("a/b"), tool("a.b")]), "shop", "tools.json")
    assert len({one.name for one in server.entries}) == 3
    assert server.duplicates == ("a.b",)


def test_both_of_two_tools_with_one_name_are_looked_at() -> None:
    first, second = tool("delete_it"), tool("delete_it", record(q={"type": "string"}))
    report = report_of(first, second)
    assert len(report.tools) == 2
    assert len({one.tool for one in report.findings if one.rule == "destructive-not-annotated"}) == 2
    assert [one.path for one in report.findings if one.rule == "parameter-without-description"] == ["input.q"]
    assert {one.original_name for one in report.findings} == {"delete_it"}
