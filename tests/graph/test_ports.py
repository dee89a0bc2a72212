from __future__ import annotations

from typing import Any

import pytest

from graph.making import tool
from halflap.graph.paths import path_text


def places(ports: Any) -> set[str]:
    return {path_text(place.path) for place in ports.places}


def slots(ports: Any) -> set[str]:
    return {path_text(slot.path) for slot in ports.slots}


def test_fields_are_found_at_any_depth() -> None:
    made = tool(
        "s",
        "t",
        "",
        {"page": {"customers": [{"customer_id": str, "tags": [str]}]}, "by_name": {...: {"n": int}}},
    )
    assert places(made) >= {
        "page.customers[].customer_id",
        "page.customers[].tags[]",
        "by_name.{key}",
        "by_name.{}.n",
    }


def test_only_the_data_of_an_envelope_are_outputs() -> None:
    made = tool(
        "s",
        "t",
        "",
        {"success": bool, "data": {"id": str}, "metadata": {"source": str}, "error": {"code": str}},
    )
    assert places(made) == {"data", "data.id"}


def test_a_declared_object_without_fields_is_replaced_by_what_was_learned() -> None:
    ports = tool("s", "t", "", {"type": "object"}, learned={"id": str})
    assert [(path_text(one.path), one.declared) for one in ports.places] == [("$", False), ("id", False)]


def test_learned_fields_stand_beside_declared_ones() -> None:
    made = tool(
        "s", "t", "", {"id": str, "extra": Any}, learned={"id": "uuid", "extra": {"n": int}, "more": str}
    )
    by_path = {path_text(place.path): place for place in made.places}
    assert by_path["id"].declared
    assert by_path["id"].type.format == "uuid"
    assert not by_path["extra.n"].declared
    assert not by_path["more"].declared


def test_a_declared_type_wins_over_a_learned_one() -> None:
    made = tool("s", "t", "", {"id": str}, learned={"id": int})
    assert {path_text(place.path): place.type.kind for place in made.places}["id"] == "string"


def test_learned_fields_that_are_not_always_there_are_seldom() -> None:
    made = tool("s", "t", "", learned={"always": str, "at_times?": str})
    assert {path_text(place.path) for place in made.places if place.is_seldom} == {"at_times"}


def test_parameters_are_found_at_any_depth() -> None:
    made = tool(
        "s", "t", {"flights!": [{"flight_number": str, "date?": str}], "ids": [str], "who!": {"id": str}}
    )
    assert slots(made) == {"flights[]", "flights[].flight_number", "flights[].date", "ids[]", "who", "who.id"}
    assert made.required == {"flights", "who"}
    required = {path_text(slot.path): slot.required for slot in made.slots}
    assert required["flights[].flight_number"]
    assert not required["flights[].date"]


def test_a_default_makes_a_parameter_optional() -> None:
    made = tool("s", "t", {"limit!": {"type": "integer", "default": 5}, "id!": str})
    assert made.required == {"id"}


def test_recursive_types_end() -> None:
    tree = {
        "type": "object",
        "$ref": "#/$defs/Node",
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
                },
            }
        },
    }
    ports = tool("s", "t", schema_=tree, gives=tree)
    assert "id" in places(ports)
    assert "id" in slots(ports)


def test_huge_schemas_are_bounded_and_keep_their_outermost_fields() -> None:
    wide = {f"f{number}": {"g": [{f"h{inner}": str for inner in range(20)}]} for number in range(40)}
    made = tool(
        "s", "t", {**{f"{name}": inner for name, inner in wide.items()}, "last!": str}, {**wide, "last": str}
    )
    assert len(made.places) <= 600
    assert len(made.slots) <= 600
    assert "last" in slots(made)


@pytest.mark.parametrize(
    ("more", "required"),
    [
        ({"anyOf": [{"required": ["member_id"]}, {"required": ["wallet_id"]}]}, "member_id"),
        ({"oneOf": [{"required": ["member_id"]}, {"required": ["wallet_id"]}]}, "member_id"),
        (
            {"anyOf": [{"required": ["member_id", "note"]}, {"required": ["note", "wallet_id"]}]},
            "member_id note",
        ),
        ({"required": ["note"], "anyOf": [{"required": ["wallet_id"]}]}, "note wallet_id"),
    ],
)
def test_of_alternatives_the_smallest_or_first_is_required(more: Any, required: str) -> None:
    own = {name: {"type": "string"} for name in ("member_id", "wallet_id", "note")}
    made = tool("s", "either", schema_={"type": "object", "properties": own, **more})
    assert made.required == set(required.split())
    assert {one.parameter for one in made.slots if one.required} == made.required
