"""The forms of logs; docs/backfill.md has an example of each, which tests/docs reads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from backfill.logs import KEY, found_in, lines, trace
from halflap.backfill import Rules
from halflap.backfill.records import value_of
from halflap.schema import Reading
from halflap.store import ToolKey


def called(identifier: str, name: str = "mcp__shop__get_order") -> dict[str, Any]:
    function = {"name": name, "arguments": '{"id": 1}'}
    return {"role": "assistant", "tool_calls": [{"id": identifier, "function": function}]}


def answered(identifier: str, content: Any = '{"id": 1}') -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identifier, "content": content}


def asked(identifier: Any, name: str = "get_order") -> dict[str, Any]:
    params = {"name": name, "arguments": {}}
    return {"jsonrpc": "2.0", "id": identifier, "method": "tools/call", "params": params}


def replied(identifier: Any, value: Any = None) -> dict[str, Any]:
    result: dict[str, Any] = {"content": [], "structuredContent": value or {"id": 1}}
    return {"jsonrpc": "2.0", "id": identifier, "result": result}


def test_forms_may_be_mixed() -> None:
    conversation = [called("a"), answered("a")]
    log = lines(trace(1), {"messages": conversation}, asked(1), trace(2), replied(1), *conversation)
    assert found_in(log).counts.observations == 5


def test_calls_without_results_are_counted_as_unpaired() -> None:
    found = found_in(lines(called("a"), answered("b"), {"messages": [called("c")]}, answered("c")))
    assert (found.counts.observations, found.counts.unpaired) == (0, 4)


def test_a_json_document_is_read_item_by_item() -> None:
    items = [called("a"), answered("a"), trace(1), [trace(2), trace(3)], "text", {"messages": []}]
    found = found_in(json.dumps(items, indent=2).encode())
    assert found.counts.observations == 4
    assert found_in(json.dumps(items).encode()).counts.observations == 4


def test_requests_of_a_server_are_not_taken_for_results() -> None:
    sampling = {"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": {}}
    text = {"type": "text", "text": "x"}
    sampled = {"jsonrpc": "2.0", "id": 1, "result": {"role": "assistant", "content": text}}
    found = found_in(lines(*({"message": one} for one in (asked(1), sampling, sampled, replied(1)))))
    assert (found.counts.observations, found.counts.unpaired) == (1, 0)


def test_a_protocol_error_is_no_result() -> None:
    error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "no such tool"}}
    found = found_in(lines(asked(1), error, asked(1), replied(1)))
    assert (found.counts.observations, found.counts.unpaired) == (1, 1)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("42", "42"),
        ('{"a": 1}', {"a": 1}),
        (42, 42),
        (None, None),
        ({"content": [{"type": "text", "text": "[1]"}]}, [1]),
        ([{"type": "text", "text": "[1]"}, {"type": "text", "text": "x"}], [[1], "x"]),
        ('{"content": [{"type": "text", "text": "[1]"}], "isError": false}', [1]),
        ({"content": [{"type": "image", "data": "eA==", "mimeType": "image/png"}]}, {"type": "image", "mimeType": "image/png"}),
        ({"content": "a note", "id": 1}, {"content": "a note", "id": 1}),
        ({"result": 1}, {"result": 1}),
    ],
)  # fmt: skip
def test_a_result_is_read_as_a_program_sees_it(raw: Any, value: Any) -> None:
    assert value_of(raw) == (value, False)


def test_declared_wrappers_are_removed_and_declared_text_is_not_parsed() -> None:
    assert value_of({"result": [1]}, Reading(wrapped=True)) == ([1], False)
    assert value_of({"result": 1, "more": 2}, Reading(wrapped=True))[0] == {"result": 1, "more": 2}
    assert value_of("[1]", Reading(is_text=True)) == ("[1]", False)


def test_a_tool_is_learned_under_its_current_definition() -> None:
    key = ToolKey("my shop", "get-order", "hash")
    rules = Rules(
        server="my shop", names={"mcp__my_shop__get_order": key}, readings={key: Reading(wrapped=True)}
    )
    log = lines(trace(1, {"result": 1}, "mcp__my_shop__get_order"), trace(2, {"result": 1}, "get-order"))
    found = found_in(log, rules)
    assert list(found.knowledge.shapes) == [key]
    assert found.knowledge.shapes[key].results.root.kinds.keys() == {"integer"}


def test_names_without_a_server_are_reported() -> None:
    found = found_in(lines(trace(1), trace(2, tool="bash"), trace(3, tool="read")), Rules())
    counts = found.counts
    assert (counts.observations, counts.nameless, counts.nameless_tools) == (1, 2, {"bash", "read"})


def test_times_are_kept() -> None:
    log = [trace(1, at=1.7e9), trace(2, timestamp="2026-01-01T00:00:00Z"), trace(3, ts=1_700_000_001_000)]
    odd = [trace(4, at="9999-12-31T00:00:00Z"), trace(5, at=7), trace(6, at="soon")]
    shape = found_in(lines(*log, *odd)).knowledge.shapes[KEY].results
    assert (shape.first, shape.last) == (1.7e9, 1_767_225_600.0)
