"""Inputs are checked strictly, before any model is asked."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from halflap.errors import ProgramInputsError
from halflap.programs.inputs import check_inputs
from halflap.programs.manifest import read_manifest
from programs.written import as_bytes, manifest

FIELDS = [
    {"name": "message"},
    {"name": "count", "schema": {"type": "integer", "minimum": 1}},
    {"name": "weight", "schema": {"type": "number"}},
    {"name": "kind", "schema": {"enum": ["A", "B"]}},
    {"name": "tags", "schema": {"type": "array", "items": {"type": "string"}, "default": []}},
]
STEP = {
    "name": "sort",
    "kind": "Predict",
    "instructions": "Sort.",
    "inputs": FIELDS,
    "outputs": [{"name": "x"}],
}
MANIFEST = read_manifest(as_bytes(manifest(predictors=[STEP])), name="triage")
GOOD: dict[str, Any] = {"message": "m", "count": 2, "weight": 1, "kind": "A"}


def test_what_is_left_out_has_its_default_and_one_of_its_own() -> None:
    first, second = check_inputs(MANIFEST, GOOD), check_inputs(MANIFEST, GOOD)
    assert first == {**GOOD, "tags": []}
    assert list(first) == ["message", "count", "weight", "kind", "tags"]
    first["tags"].append("x")
    assert second["tags"] == []
    assert check_inputs(MANIFEST, GOOD)["tags"] == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"message": 1}, "- message: expected string, received 1"),
        ({"message": None}, "- message: expected string, received null"),
        ({"count": "1"}, '- count: expected integer, received "1"'),
        ({"count": True}, "- count: expected integer, received true"),
        ({"count": 1.5}, "- count: expected integer, received 1.5"),
        ({"count": 0}, "- count: expected"),
        ({"weight": True}, "- weight: expected number, received true"),
        ({"kind": "C"}, "- kind: expected"),
        ({"tags": ["a", 1]}, "- tags[1]: expected string, received 1"),
        ({"tags": None}, "- tags: expected"),
        ({"lm": "openai/x"}, "- lm: no such key; there are: message, count, weight, kind, tags"),
        ({"weight": float("nan")}, "- weight: expected number, received NaN, which is not JSON"),
    ],
)
def test_what_does_not_fit_is_named(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ProgramInputsError) as caught:
        check_inputs(MANIFEST, {**GOOD, **changes})
    assert told in str(caught.value)
    assert (caught.value.code, caught.value.seed_code) == ("dspy-program-inputs", "INVALID_INPUTS")


def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(ProgramInputsError) as caught:
        check_inputs(MANIFEST, {"count": "x", "other": 1})
    assert {one.path for one in caught.value.problems} == {"message", "count", "weight", "kind", "other"}
    assert "It takes: triage(message: string, count: integer" in str(caught.value)


PLACE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "warmth": {"type": "number", "default": 0.5},
        "inner": {
            "type": ["object", "null"],
            "properties": {"x": {"type": "integer", "default": 1}, "y": {"type": "number"}},
            "default": None,
        },
        "note": {"type": "string"},
    },
    "required": ["name"],
}


def of(schema: dict[str, Any]) -> Any:
    step = {**STEP, "inputs": [{"name": "q", "schema": schema}]}
    return read_manifest(as_bytes(manifest(predictors=[step])), name="triage")


@pytest.mark.parametrize(
    ("schema", "given", "filled"),
    [
        (PLACE, {"name": "n"}, {"name": "n", "warmth": 0.5, "inner": None}),
        (PLACE, {"inner": {}, "name": "n"}, {"name": "n", "warmth": 0.5, "inner": {"x": 1}}),
        (PLACE, {"note": "!", "name": "n", "warmth": 1}, {"name": "n", "warmth": 1.0, "inner": None, "note": "!"}),
        ({"type": "array", "items": PLACE}, [{"name": "n"}], [{"name": "n", "warmth": 0.5, "inner": None}]),
        (
            {"type": "object", "additionalProperties": PLACE},
            {"a": {"name": "n"}},
            {"a": {"name": "n", "warmth": 0.5, "inner": None}},
        ),
        ({"type": "array", "items": {"type": "number"}}, [1, 2], [1, 2]),
        ({**PLACE, "additionalProperties": True}, {"z": 1, "name": "n"}, {"name": "n", "warmth": 0.5, "inner": None, "z": 1}),
    ],
)  # fmt: skip
def test_what_an_object_leaves_out_has_its_default_as_a_model_of_pydantics_would_have(
    schema: dict[str, Any], given: Any, filled: Any
) -> None:
    before = copy.deepcopy(given)
    # As text: by that the order shows, and 1 is not 1.0.
    assert json.dumps(check_inputs(of(schema), {"q": given})["q"]) == json.dumps(filled)
    assert given == before


@pytest.mark.parametrize(
    ("schema", "given", "path"),
    [
        (PLACE, {"name": "n", "junk": 1}, "q.junk"),
        (PLACE, {"name": "n", "inner": {"junk": 1}}, "q.inner.junk"),
        ({"type": "array", "items": PLACE}, [{"name": "n", "junk": 1}], "q[0].junk"),
        ({"type": "object", "additionalProperties": PLACE}, {"a": {"name": "n", "junk": 1}}, "q.a.junk"),
        ({"type": "object", "properties": {}}, {"junk": 1}, "q.junk"),
    ],
)
def test_a_key_that_an_object_does_not_declare_is_refused_by_its_path(
    schema: dict[str, Any], given: Any, path: str
) -> None:
    with pytest.raises(ProgramInputsError) as caught:
        check_inputs(of(schema), {"q": given})
    assert [one.path for one in caught.value.problems] == [path]
    assert f"- {path}: no such key" in str(caught.value)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {**PLACE, "additionalProperties": True},
        {**PLACE, "additionalProperties": {"type": "integer"}},
    ],
)
def test_further_keys_are_taken_where_the_schema_says_so(schema: dict[str, Any]) -> None:
    assert check_inputs(of(schema), {"q": {"name": "n", "more": 1}})["q"]["more"] == 1


def test_inputs_that_are_no_object_are_refused() -> None:
    with pytest.raises(ProgramInputsError):
        check_inputs(MANIFEST, ["m"])  # type: ignore[arg-type]
