"""Declared schemas as `inspect_tool` shows them."""

from __future__ import annotations

from typing import Any

from halflap.schema import References, clean_schema


def with_definitions(count: int, words: int) -> dict[str, Any]:
    """Make a schema in which every definition refers to the next."""
    defs = {
        f"d{number}": {
            "properties": {
                f"key{at}": {"$ref": f"#/$defs/d{(number + at) % count}", "description": "word " * words}
                for at in range(20)
            }
        }
        for number in range(count)
    }
    return {"properties": {"a": {"$ref": "#/$defs/d0"}, "b": {"type": "string"}}, "$defs": defs}


def references_in(part: Any) -> list[str]:
    if isinstance(part, dict):
        own = [part["$ref"]] if isinstance(part.get("$ref"), str) else []
        return own + [one for inner in part.values() for one in references_in(inner)]
    return [one for inner in part for one in references_in(inner)] if isinstance(part, list) else []


def test_a_schema_of_several_hundred_kilobytes_is_shown_whole() -> None:
    schema = with_definitions(400, 5)
    assert clean_schema(schema, 4_000) == (schema, False)


def test_a_schema_that_has_to_be_cut_has_no_dangling_reference() -> None:
    schema = with_definitions(3_000, 30)
    shown, _ = clean_schema(schema, 4_000)
    assert shown["properties"]["b"] == {"type": "string"}
    targets = References(shown)
    assert all(isinstance(targets.find(one), dict) for one in references_in(shown))
    assert "… (cut)" in str(shown)


def test_a_reference_to_another_part_that_was_cut_becomes_open() -> None:
    names = {f"n{at}" + "x" * 150: {"type": "string"} for at in range(10_000)}
    shown, _ = clean_schema({"$ref": f"#/$defs/{list(names)[-1]}", "$defs": names}, 4_000)
    assert "$ref" not in shown
    assert shown["$comment"] == "… (cut)"


def test_a_reference_that_was_dangling_before_is_shown_as_declared() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/nowhere"}}}
    assert clean_schema(schema, 4_000)[0] == schema
