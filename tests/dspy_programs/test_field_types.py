"""Laws of field types: schemas and types round trip, and samples fit."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.dspy.field_types import NotSayableError, python_type, schema_of
from halflap.dspy.outputs import plain, problems_of
from halflap.dspy.samples import sample
from halflap.schema import compile_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = st.sampled_from(["name", "kind", "size", "place", "when"])
TEXTS = st.sampled_from(["A name.", "How large it is"])
SCALARS = st.one_of(
    st.sampled_from([{"type": kind} for kind in ("string", "integer", "number", "boolean")]),
    st.just({"type": "string", "minLength": 2, "maxLength": 9}),
    st.just({"type": "number", "minimum": 0, "maximum": 1}),
    st.just({"type": "integer", "maximum": 7}),
    st.just({"type": ["integer", "null"]}),
    st.lists(st.sampled_from(["a", "b", 3, True, None]), min_size=1, max_size=4, unique_by=repr).map(
        lambda options: {"enum": options}
    ),
)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda properties, title, texts, closed: {
            "type": "object",
            "title": title,
            "properties": {name: {**one, **texts} for name, one in properties.items()},
            "required": list(properties),
            **({"additionalProperties": False} if closed else {}),
        },
        st.dictionaries(NAMES, inner, min_size=1, max_size=3),
        st.sampled_from(["Place", "Thing"]),
        st.one_of(st.just({}), TEXTS.map(lambda text: {"description": text})),
        st.booleans(),
    )


SCHEMAS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        inner.map(lambda one: {"type": "array", "items": one}),
        inner.map(lambda one: {"type": "object", "additionalProperties": one}),
        objects(inner),
    ),
    max_leaves=5,
)


@given(SCHEMAS, st.integers(0, 100))
def test_samples_of_a_schema_fit_it_and_survive_its_type(schema: Mapping[str, Any], seed: int) -> None:
    value = sample(schema, random.Random(seed))
    validator = compile_schema({"type": "object", "properties": {"x": dict(schema)}, "required": ["x"]})
    assert problems_of({"x": value}, validator) == []
    typed = pydantic.TypeAdapter(python_type(schema, "x")).validate_python(value)
    assert plain(typed, schema) == value


@given(SCHEMAS)
def test_a_schema_round_trips_through_its_type(schema: Mapping[str, Any]) -> None:
    # Limits at the top are told to DSPy with the field, and not by the type.
    told = {
        key: one for key, one in schema.items() if key not in {"minLength", "maxLength", "minimum", "maximum"}
    }
    assert schema_of(python_type(schema, "x")) == told


def test_absent_optional_properties_are_left_out() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
        "required": ["a"],
    }
    typed = pydantic.TypeAdapter(python_type(schema, "x")).validate_python({"a": 1})
    assert plain(typed, schema) == {"a": 1}


class Itself(pydantic.BaseModel):
    inner: Itself | None = None


class Checked(pydantic.BaseModel):
    name: str

    @pydantic.field_validator("name")
    @classmethod
    def short(cls, value: str) -> str:
        return value[:1]


@pytest.mark.parametrize(
    "kind",
    [tuple[int, int], set[str], bytes, dict[int, str], int | list[str] | list[int], Itself, Checked, complex],
)
def test_types_without_a_schema_are_refused(kind: Any) -> None:
    with pytest.raises(NotSayableError):
        schema_of(kind)
