"""Reading definitions from a file, and drafting the schemas that they lack."""

from __future__ import annotations

import json
from typing import Any

import pytest

from halflap.core.errors import UsageError
from halflap.lint import Evidence, drafts_of, read_definitions, server_of
from halflap.schema import read_type
from lint.samples import field, record, report_of, tool

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
    assert {one.name: [each.tool.original_name for each in one.tools] for one in read} == servers


@pytest.mark.parametrize(
    "text",
    ["", "{", "[" * 100_000, "5", "{}", '{"tools": 5}', '{"a": {"tools": []}, "b": 5}', '[{"title": "b"}]'],
)
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"tools\.json"):
        read_definitions(text, "shop", "tools.json")


def test_two_tools_with_the_same_name_are_both_linted() -> None:
    report = report_of(tool("delete_it"), tool("delete_it", record(q={"type": "string"})))
    assert len(report.tools) == 2
    assert len({one.tool for one in report.findings if one.rule == "destructive-not-annotated"}) == 2
    assert {one.original_name for one in report.findings} == {"delete_it"}


def drafted(schema: dict[str, Any], *, observations: int = 4) -> Any:
    evidence = Evidence(observations, 0.8, read_type(schema), schema)
    (draft,) = drafts_of(server_of("shop", [ONE], {"get_order": evidence}))
    return draft


def test_a_draft_is_the_learned_schema_without_notes() -> None:
    note: Any = {"x-halflap": {"observations": 4}}
    learned = record("id", id=field("string", **note), **{"x-halflap": field("integer", **note)}) | note
    draft = drafted(learned)
    assert draft.schema == record("id", id=field("string"), **{"x-halflap": field("integer")})
    assert not draft.is_wrapped
    assert "TypedDict" in draft.python
    assert draft.to_json()["patch"] == {"outputSchema": draft.schema}


def test_results_that_are_no_objects_are_drafted_under_result() -> None:
    draft = drafted({"type": "array", "items": field("string")})
    assert draft.is_wrapped
    assert draft.schema["required"] == ["result"]
    assert draft.schema["properties"]["result"]["type"] == "array"


def test_without_results_there_is_a_reason_instead_of_a_draft() -> None:
    (never,) = drafts_of(server_of("shop", [ONE]))
    (seldom,) = drafts_of(server_of("shop", [ONE], {"get_order": Evidence(observations=1)}))
    assert never.schema is seldom.schema is None
    assert never.reason != seldom.reason
    assert list(drafts_of(server_of("shop", [tool("get_it", returns=record(a=field("string")))]))) == []
