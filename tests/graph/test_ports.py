"""Tools taken apart: which values a result holds, and which a call takes."""

from __future__ import annotations

from typing import Any

from graph.making import tool
from halflap.graph.paths import path_text


def places(ports: Any) -> dict[str, Any]:
    return {path_text(place.path): place for place in ports.places}


def slots(ports: Any) -> dict[str, Any]:
    return {path_text(slot.path): slot for slot in ports.slots}


def test_fields_are_found_at_any_depth() -> None:
    rows = {"customers": [{"customer_id": str, "tags": [str]}]}
    made = tool("s", "t", "", {"page": rows, "by_name": {...: {"n": int}}})
    assert places(made).keys() >= {
        "page.customers[].customer_id",
        "page.customers[].tags[]",
        "by_name.{key}",
        "by_name.{}.n",
    }


def test_what_was_learned_completes_what_is_declared() -> None:
    declared = {"id": str, "number": str, "extra": Any}
    learned = {"id": "uuid", "number": int, "extra": {"n": int}, "more?": str}
    found = places(tool("s", "t", "", declared, learned=learned))
    assert found["id"].declared
    assert found["id"].type.format == "uuid"
    assert found["number"].type.kind == "string"
    assert not found["extra.n"].declared
    assert found["more"].is_optional
    alone = places(tool("s", "t", "", {"type": "object"}, learned={"id": str}))
    assert {path: one.declared for path, one in alone.items()} == {"$": False, "id": False}


def test_parameters_are_found_at_any_depth() -> None:
    parcel = {"parcel_number": str, "date?": str}
    limit = {"type": "integer", "default": 5}
    made = tool("s", "t", {"parcels!": [parcel], "ids": [str], "who!": {"id": str}, "limit!": limit})
    found = slots(made)
    assert found.keys() == {
        "parcels[]", "parcels[].parcel_number", "parcels[].date", "ids[]", "who", "who.id", "limit"
    }  # fmt: skip
    assert made.required == {"parcels", "who"}
    assert found["parcels[].parcel_number"].required
    assert not found["parcels[].date"].required


def test_recursive_and_huge_schemas_are_bounded_and_keep_their_outermost_fields() -> None:
    children = {"type": "array", "items": {"$ref": "#/$defs/Node"}}
    node = {"type": "object", "properties": {"id": {"type": "string"}, "children": children}}
    tree = {"type": "object", "$ref": "#/$defs/Node", "$defs": {"Node": node}}
    made = tool("s", "t", schema_=tree, gives=tree)
    assert "id" in places(made)
    assert "id" in slots(made)
    wide = {f"f{number}": {"g": [{f"h{inner}": str for inner in range(20)}]} for number in range(40)}
    made = tool("s", "t", {**wide, "last!": str}, {**wide, "last": str})
    assert len(made.places) <= 600
    assert len(made.slots) <= 600
    assert "last" in slots(made)
