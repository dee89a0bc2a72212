from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graph.making import tool
from halflap.core.values import Tool
from halflap.graph.inputs import ports_of
from halflap.graph.paths import path_text
from halflap.schema import read_type

if TYPE_CHECKING:
    from halflap.graph.ports import Ports


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
    made = Tool(
        name="t",
        server="s",
        original_name="t",
        description="",
        input_schema={},
        output_schema={"type": "object"},
    )
    learned = read_type({"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]})
    ports = ports_of(made, learned)
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
    made = Tool(
        name="t", server="s", original_name="t", description="", input_schema=tree, output_schema=tree
    )
    ports = ports_of(made)
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


class TestAlternatives:
    def ports(self, **more: Any) -> Ports:
        own = {"member_id": {"type": "string"}, "wallet_id": {"type": "integer"}, "note": {"type": "string"}}
        made = Tool(
            name="mcp__x__either",
            server="x",
            original_name="either",
            description="",
            input_schema={"type": "object", "properties": own, **more},
            output_schema=None,
        )
        return ports_of(made)

    def test_the_first_alternative_is_required(self) -> None:
        for key in ("anyOf", "oneOf"):
            found = self.ports(**{key: [{"required": ["member_id"]}, {"required": ["wallet_id"]}]})
            assert found.required == {"member_id"}
            assert found.choices == (frozenset({"member_id"}), frozenset({"wallet_id"}))
            assert {one.parameter for one in found.slots if one.required} == {"member_id"}

    def test_what_all_of_them_require_is_required(self) -> None:
        parts = [{"required": ["member_id", "note"]}, {"required": ["wallet_id", "note"]}]
        assert self.ports(anyOf=parts).required == {"member_id", "note"}
        assert self.ports(required=["note"], anyOf=[{"required": ["wallet_id"]}]).required == {
            "note",
            "wallet_id",
        }
