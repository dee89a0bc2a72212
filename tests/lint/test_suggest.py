from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import pytest

from halflap.learn import infer, render
from halflap.lint import Seen, drafts_of, server_of
from halflap.lint.sample import TEXT, record, tool
from halflap.schema import Type, compile_or_say
from halflap.schema.stub import write_types
from halflap.schema.types import read_type

if TYPE_CHECKING:
    from halflap.lint import Draft


def draft(*values: Any, name: str = "get_order", **seen_else: Any) -> Draft:
    shape = infer(values, list(range(len(values))))
    schema = render(shape, notes=False)
    seen = Seen(observations=len(values), confidence=0.5, type=read_type(schema), schema=schema, **seen_else)
    (one,) = drafts_of(server_of("shop", [tool(name)], {name: seen}))
    return one


ORDER = {"order_id": "a", "items": [{"sku": "x", "price": 5}], "note": None}


def test_a_draft_is_a_schema_that_results_fit_and_types_that_python_reads() -> None:
    one = draft(ORDER, {**ORDER, "paid": True})
    assert one.schema is not None
    assert "x-halflap" not in str(one.schema)
    validator = compile_or_say(one.schema)
    assert not isinstance(validator, str)
    assert validator.problems(ORDER) == []
    assert validator.problems({"order_id": 5})
    names: dict[str, Any] = {}
    exec(compile(one.python, "draft", "exec", dont_inherit=True), names)
    assert set(names["GetOrderResult"].__annotations__) == {"order_id", "items", "note", "paid"}
    assert set(names["GetOrderResultItems"].__annotations__) == {"sku", "price"}
    assert names["GetOrderResult"].__optional_keys__ == {"paid"}
    assert not one.is_wrapped


def test_errors_told_as_text_are_left_out_and_that_is_said() -> None:
    failed: dict[str, Any] = {"failures": ("Error: no such order",), "failed_texts": 1}
    one = draft(*[ORDER] * 6, "Error: no such order", **failed)
    assert not one.is_wrapped
    assert one.schema is not None
    assert set(one.schema["properties"]) == set(ORDER)
    assert one.schema["type"] == "object"
    assert one.left_out.startswith("1 result that told of an error as text (“Error: no such order”)")
    assert one.to_json()["leftOut"] == one.left_out
    assert one.observations == 6
    more = draft(*[ORDER] * 2, *["Error: no such order"] * 2, **failed, observed_texts=2)
    assert (more.observations, more.left_out[:9]) == (2, "2 results")
    mixed = draft(*[ORDER] * 6, "Error: no such order", "No orders yet.", **failed, texts=1)
    assert mixed.is_wrapped
    assert not mixed.left_out


def test_the_types_of_python_say_which_texts_are_dates() -> None:
    one = draft(*[{"orders": [{"placed_at": f"2026-01-0{day}T00:00:00Z"}]} for day in range(1, 6)])
    assert "# orders[].placed_at: date-time\n" in one.python
    ast.parse(one.python)


@pytest.mark.parametrize("value", [[ORDER], "text", 5, [[1]]])
def test_what_is_no_object_goes_under_result(value: Any) -> None:
    one = draft(value, value)
    assert one.is_wrapped
    validator = compile_or_say(one.schema)
    assert not isinstance(validator, str)
    assert validator.problems({"result": value}) == []
    assert validator.problems(value)


@pytest.mark.parametrize(
    "name", ["get-order", "getOrder", "2fast", "注文", "class", "a" * 300, "\x1b[31m", "__import__('os')"]
)
def test_the_types_have_names_of_python_whatever_the_tool_is_called(name: str) -> None:
    ast.parse(draft(ORDER, ORDER, name=name).python)


def test_where_too_little_is_known_it_is_said_what_to_do() -> None:
    tools = [tool("one"), tool("two"), tool("three", None, record(name={"type": "string"}))]
    drafts = list(drafts_of(server_of("shop", tools, {"two": Seen(observations=1)})))
    assert [one.original_name for one in drafts] == ["one", "two"]
    assert "halflap backfill" in drafts[0].why
    assert "once, which is too little" in drafts[1].why
    assert drafts[0].to_json() == {
        "server": "shop",
        "tool": "mcp__shop__one",
        "originalName": "one",
        "observations": 0,
        "confidence": 0.0,
        "why": drafts[0].why,
    }


def test_a_type_that_is_no_object_gets_a_name_of_its_own() -> None:
    text = write_types("list orders", Type("array", items=Type("integer")))
    names: dict[str, Any] = {}
    exec(text, names)
    assert names["ListOrders"] == list[int]


def test_keys_that_are_no_names_are_kept() -> None:
    names: dict[str, Any] = {}
    exec(draft({"first name": 1, "class": {"x y": 2}}, {"first name": 1, "class": {"x y": 2}}).python, names)
    assert set(names["GetOrderResult"].__annotations__) == {"first name", "class"}


def test_keys_that_look_like_data_are_not_kept_and_that_is_said() -> None:
    one = draft(*[{"name": "a", 'q"uote': 2, "rows": [{"id": 1, "ada@example.com": 5}]}] * 4)
    assert one.unnamed == ("the result", "the result → rows")
    assert one.to_json()["unnamed"] == list(one.unnamed)
    assert draft(*[{"ada@example.com": 5, "bob@example.com": 6}] * 4).unnamed == ()


def test_of_several_tools_of_one_name_the_one_that_can_be_called_is_drafted() -> None:
    twice = server_of("shop", [tool("get_order"), tool("get_order", record(text=TEXT))])
    assert [one.tool for one in drafts_of(twice)] == ["mcp__shop__get_order"]
