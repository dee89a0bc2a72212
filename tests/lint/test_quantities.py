"""Numbers: which need a unit, and which never did."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.lint.sample import TEXT, field, record, tool
from lint.making import found, paths, taking

MEASURED: list[tuple[str, str, str, dict[str, Any]]] = [
    ("amount", "number", "", {}),
    ("total_price", "number", "What it costs.", {}),
    ("timeout", "integer", "How long to wait.", {}),
    ("maxDuration", "number", "", {}),
    ("width", "number", "", {}),
    ("file_size", "integer", "How large it is.", {}),
    ("interest_rate", "number", "The rate.", {}),
    ("temperature", "number", "How warm it is.", {}),
    ("timestamp", "integer", "When it was.", {}),
    ("weight", "number", "", {}),
    ("price", "number", "The price of the auction won.", {}),
    ("price", "number", "Points to the price row.", {}),
    ("price", "number", "The price in a list of those won.", {}),
    ("latency", "number", "Latency of the day.", {}),
    ("latency", "number", "Latency in the last hour.", {}),
    ("weight", "number", "The weight of a thing.", {}),
    ("distance", "number", "I'm not sure how far.", {}),
    ("amount_due", "number", "How much.", {}),
    ("interval", "number", "Time between.", {}),
    ("market_cap", "number", "Capitalisation.", {}),
    ("timeout", "number", "How long.", {"currency": TEXT}),
    ("timeout", "number", "How long.", {"weight_unit": TEXT}),
]
CLEAR: list[tuple[str, str, str, dict[str, Any]]] = [
    ("amount", "number", "In USD.", {}),
    ("amount", "number", "", {"currency": TEXT}),
    ("amount", "integer", "", {"unit": TEXT}),
    ("amount_cents", "integer", "", {}),
    ("priceUsd", "number", "", {}),
    ("timeout_ms", "integer", "", {}),
    ("timeoutSeconds", "integer", "", {}),
    ("timeout", "integer", "How long to wait, 30 seconds by default.", {}),
    ("timeout", "number", "超时时间 秒", {}),
    ("width", "integer", "Width in pixels.", {}),
    ("interest_rate", "number", "As a fraction (0.05 = 5 %).", {}),
    ("temperature", "number", "", {"model": TEXT}),
    ("timestamp", "integer", "Unix time.", {}),
    ("order_count", "integer", "", {}),
    ("user_id", "integer", "", {}),
    ("year", "integer", "", {}),
    ("latitude", "number", "", {}),
    ("longitude", "number", "", {}),
    ("page_size", "integer", "", {}),
    ("font_weight", "integer", "", {}),
    ("border_radius", "number", "", {}),
    ("score", "number", "", {}),
    ("port", "integer", "", {}),
    ("frame_rate", "number", "", {}),
    ("exchange_rate", "number", "", {}),
    ("price_level", "integer", "", {}),
    ("max_results", "integer", "", {}),
    ("weight", "number", "In g.", {}),
    ("weight", "number", "Unit: g.", {}),
    ("weight", "number", "The weight (g)", {}),
    ("weight", "number", "Up to 500 g.", {}),
    ("distance", "number", "Distance in m.", {}),
    ("voltage", "number", "The voltage in V", {}),
    ("temperature", "number", "Measured in K.", {}),
    ("price", "number", "The price in won.", {}),
    ("price", "integer", "The price, in loyalty points.", {}),
    ("duration", "integer", "Duration in days.", {}),
    ("latency_s", "number", "", {}),
    ("amount", "integer", "How many apples there are.", {}),
    ("weight", "number", "Weight of the edge in the graph, without dimension.", {}),
    ("weight", "number", "As a fraction, from 0 to 1.", {}),
    ("distance", "number", "Normalized.", {}),
    ("weight", "number", "", {"weight_unit": TEXT}),
    ("temperature", "number", "", {"temperatureUnit": TEXT}),
    ("duration", "number", "", {"time_unit": TEXT}),
    ("confidence_interval", "number", "", {}),
]


@pytest.mark.parametrize(("name", "kind", "said", "beside"), MEASURED)
def test_a_number_that_measures_something_needs_a_unit(name: str, kind: str, said: str, beside: Any) -> None:
    assert paths("number-without-unit", taking(name, kind, said, beside)) == [f"input.{name}"]


@pytest.mark.parametrize(("name", "kind", "said", "beside"), CLEAR)
def test_a_number_with_a_unit_or_without_need_of_one_is_left_alone(
    name: str, kind: str, said: str, beside: Any
) -> None:
    assert paths("number-without-unit", taking(name, kind, said, beside)) == []


WEATHER = {
    name: field("number", "How it is.")
    for name in ("temperature", "wind_speed", "distance", "revenue", "timeout", "file_size")
}
PHYSICAL = {"temperature", "wind_speed", "distance"}


@pytest.mark.parametrize(
    ("name", "said", "told"),
    [
        ("units", "Which.", PHYSICAL),
        ("unit", "Metric or imperial.", PHYSICAL),
        ("unit", "Which.", set()),
        ("unit", "Seconds or minutes.", {"timeout"}),
        ("currency", "Which.", {"revenue"}),
        ("temperature_unit", "Which.", {"temperature"}),
    ],
)
def test_one_unit_is_not_that_of_everything_beside_it(name: str, said: str, told: set[str]) -> None:
    fields: dict[str, Any] = {**WEATHER, name: field("string", said)}
    lacking = {
        path.rpartition(".")[2]
        for path in paths("number-without-unit", tool("get_it", None, record(**fields)))
    }
    assert lacking == WEATHER.keys() - told


def test_a_number_that_may_be_null_needs_a_unit_too() -> None:
    due = {"type": ["number", "null"], "description": "How much."}
    assert paths("number-without-unit", tool("get_it", None, record(amount_due=due))) == ["output.amount_due"]


def test_the_unit_may_be_a_keyword_of_the_schema() -> None:
    for said in ({"x-unit": "USD cents"}, {"x-halflap": {"unit": "USD cents"}}):
        amount = {"type": "integer", **said}
        assert paths("number-without-unit", tool("do_it", record(amount=amount))) == []


def test_the_unit_of_a_list_may_be_told_of_its_items() -> None:
    for said in ({"description": "In USD."}, {"x-halflap": {"unit": "USD"}}):
        prices = {"type": "array", "description": "Prices.", "items": {"type": "number", **said}}
        assert paths("number-without-unit", tool("do_it", None, record(prices=prices))) == []
    bare = {"type": "array", "description": "Prices.", "items": {"type": "number"}}
    assert paths("number-without-unit", tool("do_it", None, record(prices=bare))) == ["output.prices[]"]


@pytest.mark.parametrize(
    ("name", "first", "second", "told"),
    [
        ("amount", {"x-halflap": {"unit": "USD"}}, {"x-halflap": {"unit": "USD cents"}}, "USD cents"),
        ("amount", {"description": "In USD."}, {"description": "In USD cents."}, "USD cents"),
        ("amount", {"description": "In USD."}, {"description": "In cents."}, "cents"),
        ("amount", {"description": "In USD, not cents."}, {"description": "In EUR."}, "EUR"),
        ("weight", {"x-halflap": {"unit": "kg"}}, {"x-halflap": {"unit": "lb"}}, "pounds"),
        ("weight", {"description": "In kg."}, {"description": "In g."}, "grams"),
        ("load", {"x-halflap": {"unit": "kg"}}, {"x-halflap": {"unit": "stone"}}, "stone"),
        ("timeout", {"description": "In seconds."}, {"description": "In ms."}, "milliseconds"),
        ("tax_rate", {"description": "A fraction."}, {"description": "In percent."}, "percent"),
    ],
)
def test_a_field_with_another_unit_elsewhere_is_found(name: str, first: Any, second: Any, told: str) -> None:
    tools = [
        tool(f"get_{at}", None, {"type": "object", "properties": {name: {"type": "number", **said}}})
        for at, said in enumerate((first, second))
    ]
    (one,) = found("unit-differs", *tools)
    assert (one.tool, one.path) == ("mcp__shop__get_1", f"output.{name}")
    assert f"{name} is in {told} in get_1" in one.message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("kg", "kilograms"),
        ("USD cents", "cents"),
        ("s", "seconds"),
        ("percent", "%"),
        ("items per box", "items  per box"),
    ],
)
def test_one_unit_written_in_two_ways_is_one(first: str, second: str) -> None:
    tools = [
        tool(f"get_{at}", None, record(load={"type": "number", "x-halflap": {"unit": unit}}))
        for at, unit in enumerate((first, second))
    ]
    assert found("unit-differs", *tools) == []


def test_the_unit_may_stand_in_the_description_of_the_tool() -> None:
    listed_there = tool("load", record(duration=field("number")))
    assert (
        paths(
            "number-without-unit",
            {**listed_there, "description": "Load.\n\nArgs:\n    duration: How much, in seconds."},
        )
        == []
    )
    assert (
        paths(
            "number-without-unit",
            {**listed_there, "description": "Load. Offset and duration are in seconds."},
        )
        == []
    )
    assert paths("number-without-unit", {**listed_there, "description": "Load within 5 seconds."}) == [
        "input.duration"
    ]


def test_pixels_go_without_saying_on_a_screen_and_not_on_a_slide() -> None:
    size = record(width=field("number", "How wide."))
    assert paths("number-without-unit", tool("take_screenshot", size)) == []
    assert paths("number-without-unit", tool("add_image_to_slide", size)) == ["input.width"]
