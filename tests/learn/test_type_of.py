"""Types straight from shapes."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from halflap.learn import infer, schema_of, type_of
from halflap.schema import read_type
from learn.anything import OBSERVED


def has_variants(schema: Any) -> bool:
    if isinstance(schema, dict):
        return "anyOf" in schema or any(map(has_variants, schema.values()))
    return isinstance(schema, list) and any(map(has_variants, schema))


@given(OBSERVED)
def test_a_type_is_what_the_schema_says(observed: list[tuple[Any, int]]) -> None:
    shape = infer(*zip(*observed, strict=True), keep_values=True) if observed else infer([])
    schema = schema_of(shape)
    del schema["$schema"], schema["x-halflap"]
    if not has_variants(schema):
        assert type_of(shape) == read_type(schema)


def test_variants_are_a_union_of_those_seen() -> None:
    shape = infer([*[{"type": "a", "x": 1}, {"type": "b", "y": "z"}] * 5, None])
    kinds = [member.kind for member in type_of(shape).members]
    assert kinds == ["object", "object", "null"]
    first = type_of(shape).members[0]
    assert [(field.name, field.type.kind, field.required) for field in first.fields] == [
        ("type", "values", True),
        ("x", "integer", True),
    ]


def test_a_very_large_shape_gives_a_bounded_type() -> None:
    names = [f"{first}{second}" for first in "abcdefgh" for second in "abcdefgh"]
    shape = infer([{one: {other: {"id": 1} for other in names} for one in names}])
    root = type_of(shape)
    assert len(root.fields) == len(names)
    assert all(field.type.kind == "object" and not field.type.fields for field in root.fields)
