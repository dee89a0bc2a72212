"""Reading definitions from a file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from halflap.core.errors import UsageError
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
def test_every_form_of_a_definitions_file_is_read(data: Any, servers: dict[str, list[str]]) -> None:
    read = read_definitions(json.dumps(data), "shop", "tools.json")
    assert {one.name: [each.tool.original_name for each in one.entries] for one in read} == servers


@pytest.mark.parametrize(
    "text",
    ["", "{", "[" * 100_000, "5", "{}", '{"tools": 5}', '{"a": {"tools": []}, "b": 5}', '[{"title": "b"}]'],
)
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"tools\.json"):
        read_definitions(text, "shop", "tools.json")


def test_two_tools_of_one_name_are_both_linted() -> None:
    first, second = tool("delete_it"), tool("delete_it", record(q={"type": "string"}))
    report = report_of(first, second)
    assert len(report.tools) == 2
    assert len({one.tool for one in report.findings if one.rule == "destructive-not-annotated"}) == 2
    assert [one.path for one in report.findings if one.rule == "parameter-without-description"] == ["input.q"]
    assert {one.original_name for one in report.findings} == {"delete_it"}
