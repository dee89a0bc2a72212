"""What is told of an answer that does not fit the type of its field."""

from __future__ import annotations

from typing import Any

import pydantic
import pytest

from halflap.programs.field_types import python_type
from halflap.programs.rules import broken_rules

SORT = {"type": "string", "enum": ["BILL", "OTHER"]}
PLACE = {
    "type": "object",
    "properties": {
        "km": {"type": "integer", "minimum": 2},
        "kind": SORT,
        "note": {"type": ["string", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 1},
    },
    "required": ["km"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "value", "told"),
    [
        (SORT, "x", 'the field `a` is not one of "BILL", "OTHER"'),
        ({"type": ["integer", "null"]}, "x", "the field `a` is not a whole number or null"),
        ({"type": "array", "items": {"type": "number"}}, 3, "the field `a` is not a list"),
        ({"type": "array", "items": {"type": "number"}}, [1, "x"], "the field `a[1]` is not a number"),
        ({"type": "object", "additionalProperties": {"type": "boolean"}}, {"k": "x"}, "the field `a.k` is not true or false"),
        (PLACE, "x", "the field `a` is not an object"),
        (PLACE, {}, "the field `a.km` is missing"),
        (PLACE, {"km": 1}, "the field `a.km` must be at least 2"),
        (PLACE, {"km": 2, "more": 1}, "the field `a.more` is not among its properties"),
        (PLACE, {"km": "far", "kind": "x"}, "the field `a.km` is not a whole number; `a.kind` is not one of 'BILL' or 'OTHER'"),
        (PLACE, {"km": 2, "note": 1, "tags": ["a", "b"]}, "the field `a.note` is not text; `a.tags` must have at most 1 items"),
    ],
)  # fmt: skip
def test_the_property_and_the_rule_are_named_and_nothing_of_python(
    schema: dict[str, Any], value: Any, told: str
) -> None:
    annotation = python_type(schema, "a")
    with pytest.raises(pydantic.ValidationError) as caught:
        pydantic.TypeAdapter(annotation).validate_python(value)
    assert broken_rules("a", annotation, caught.value) == told
    assert "class" not in broken_rules("a", annotation, None)


def test_of_many_the_first_are_told() -> None:
    annotation = python_type({"type": "array", "items": {"type": "integer"}}, "a")
    with pytest.raises(pydantic.ValidationError) as caught:
        pydantic.TypeAdapter(annotation).validate_python(["x"] * 9)
    assert broken_rules("a", annotation, caught.value).endswith("`a[4]` is not a whole number; and 4 more")
