"""Inputs are checked strictly, before any model is asked."""

from __future__ import annotations

from typing import Any

import pytest

from dspy_programs.written import as_bytes, manifest
from halflap.core.errors import ProgramInputsError
from halflap.dspy.inputs import check_inputs
from halflap.dspy.spec import read_manifest

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


def test_absent_inputs_get_a_fresh_default() -> None:
    first, second = check_inputs(MANIFEST, GOOD), check_inputs(MANIFEST, GOOD)
    assert first == {**GOOD, "tags": []}
    assert list(first) == ["message", "count", "weight", "kind", "tags"]
    first["tags"].append("x")
    assert second["tags"] == []
    assert check_inputs(MANIFEST, GOOD)["tags"] == []


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"message": 1}, "message"),
        ({"message": None}, "message"),
        ({"count": "1"}, "count"),
        ({"count": True}, "count"),
        ({"count": 0}, "count"),
        ({"weight": float("nan")}, "weight"),
        ({"kind": "C"}, "kind"),
        ({"tags": ["a", 1]}, "tags[1]"),
        ({"tags": None}, "tags"),
        ({"lm": "openai/x"}, "lm"),
    ],
)
def test_an_input_that_does_not_fit_is_named(changes: dict[str, Any], path: str) -> None:
    with pytest.raises(ProgramInputsError) as caught:
        check_inputs(MANIFEST, {**GOOD, **changes})
    assert [one.path for one in caught.value.problems] == [path]
    assert (caught.value.code, caught.value.seed_code) == ("dspy-program-inputs", "INVALID_INPUTS")


def test_all_problems_are_reported_at_once() -> None:
    with pytest.raises(ProgramInputsError) as caught:
        check_inputs(MANIFEST, {"count": "x", "other": 1})
    assert {one.path for one in caught.value.problems} == {"message", "count", "weight", "kind", "other"}


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
    ("schema", "given", "path"),
    [
        (PLACE, {"name": "n", "junk": 1}, "q.junk"),
        (PLACE, {"name": "n", "inner": {"junk": 1}}, "q.inner.junk"),
        ({"type": "array", "items": PLACE}, [{"name": "n", "junk": 1}], "q[0].junk"),
        ({"type": "object", "additionalProperties": PLACE}, {"a": {"name": "n", "junk": 1}}, "q.a.junk"),
        ({"type": "object", "properties": {}}, {"junk": 1}, "q.junk"),
    ],
)
def test_an_undeclared_key_is_refused_by_its_path(schema: dict[str, Any], given: Any, path: str) -> None:
    with pytest.raises(ProgramInputsError) as caught:
        check_inputs(of(schema), {"q": given})
    assert [one.path for one in caught.value.problems] == [path]
