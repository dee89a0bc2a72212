"""Drafts of missing output schemas."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import pytest

from halflap.learn import infer, schema_of
from halflap.lint import Seen, drafts_of, server_of
from halflap.lint.sample import record, tool
from halflap.schema import read_type, try_compile

if TYPE_CHECKING:
    from halflap.lint import Draft


def draft(*values: Any, name: str = "get_order", **seen_else: Any) -> Draft:
    shape = infer(values, list(range(len(values))))
    schema = schema_of(shape, notes=False)
    seen = Seen(observations=len(values), confidence=0.5, type=read_type(schema), schema=schema, **seen_else)
    (one,) = drafts_of(server_of("shop", [tool(name)], {name: seen}))
    return one


ORDER = {"order_id": "a", "items": [{"sku": "x", "price": 5}], "note": None}


def test_a_draft_is_a_schema_that_fits_and_python_that_parses() -> None:
    one = draft(ORDER, {**ORDER, "paid": True})
    assert one.schema is not None
    assert "x-halflap" not in str(one.schema)
    validator = try_compile(one.schema)
    assert not isinstance(validator, str)
    assert validator.problems(ORDER) == []
    assert validator.problems({"order_id": 5})
    names: dict[str, Any] = {}
    exec(compile(one.python, "draft", "exec", dont_inherit=True), names)
    assert set(names["GetOrderResult"].__annotations__) == {"order_id", "items", "note", "paid"}
    assert set(names["GetOrderResultItems"].__annotations__) == {"sku", "price"}
    assert names["GetOrderResult"].__optional_keys__ == {"paid"}
    assert not one.is_wrapped


def test_errors_as_text_are_left_out() -> None:
    failed: dict[str, Any] = {"failures": ("Error: no such order",), "failed_texts": 1}
    one = draft(*[ORDER] * 6, "Error: no such order", **failed)
    assert not one.is_wrapped
    assert one.schema is not None
    assert set(one.schema["properties"]) == set(ORDER)
    assert one.schema["type"] == "object"
    assert one.left_out
    assert one.to_json()["leftOut"] == one.left_out
    assert one.observations == 6
    more = draft(*[ORDER] * 2, *["Error: no such order"] * 2, **failed, observed_texts=2)
    assert more.observations == 2
    mixed = draft(*[ORDER] * 6, "Error: no such order", "No orders yet.", **failed, texts=1)
    assert mixed.is_wrapped
    assert not mixed.left_out


@pytest.mark.parametrize("value", [[ORDER], "text", 5, [[1]]])
def test_a_value_that_is_no_object_goes_under_result(value: Any) -> None:
    one = draft(value, value)
    assert one.is_wrapped
    validator = try_compile(one.schema)
    assert not isinstance(validator, str)
    assert validator.problems({"result": value}) == []
    assert validator.problems(value)


@pytest.mark.parametrize("name", ["get-order", "getOrder", "2fast"])
def test_types_get_valid_names(name: str) -> None:
    ast.parse(draft(ORDER, ORDER, name=name).python)


def test_too_few_results_give_a_reason() -> None:
    tools = [tool("one"), tool("two"), tool("three", None, record(name={"type": "string"}))]
    drafts = list(drafts_of(server_of("shop", tools, {"two": Seen(observations=1)})))
    assert [one.original_name for one in drafts] == ["one", "two"]
    assert "halflap backfill" in drafts[0].why
    assert drafts[1].why
    assert drafts[0].to_json() == {
        "server": "shop",
        "tool": "mcp__shop__one",
        "originalName": "one",
        "observations": 0,
        "confidence": 0.0,
        "why": drafts[0].why,
    }


def test_keys_that_look_like_data_are_not_kept() -> None:
    one = draft(*[{"name": "a", 'q"uote': 2, "rows": [{"id": 1, "ada@example.com": 5}]}] * 4)
    assert one.unnamed == ("the result", "the result → rows")
    assert one.to_json()["unnamed"] == list(one.unnamed)
    assert draft(*[{"ada@example.com": 5, "bob@example.com": 6}] * 4).unnamed == ()
