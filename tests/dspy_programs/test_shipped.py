"""The four bundled programs."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from halflap.dspy.library import Library, Stored

SHELF = Library(None).read()
NAMES = ["anomaly_forensics", "resource_router", "runtime_adaptation", "worklet_selector"]


@pytest.fixture(params=NAMES)
def shipped(request: pytest.FixtureRequest) -> Stored:
    return SHELF.programs[request.param]


def test_four_programs_and_none_is_broken() -> None:
    assert (list(SHELF.programs), SHELF.broken, SHELF.problem) == (NAMES, {}, "")


def test_every_field_has_a_description(shipped: Stored) -> None:
    steps = shipped.manifest.predictors
    fields = [*shipped.manifest.inputs, *shipped.manifest.outputs]
    fields += [field for one in steps for field in (*one.inputs, *one.outputs)]
    assert all(len(field.description) > 10 for field in fields)
    assert all(len(one.instructions) > 100 for one in steps)
    assert shipped.manifest.description != steps[0].instructions


def test_every_predictor_has_three_valid_demos(shipped: Stored) -> None:
    for one in shipped.manifest.predictors:
        (state,) = [state for key, state in shipped.state.predictors.items() if key.split(".")[0] == one.name]
        fields = [*one.inputs, *one.offered.values()]
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {field.name: dict(field.json_schema) for field in fields},
            "required": [field.name for field in fields],
            "additionalProperties": False,
        }
        assert len(state.demos) == 3
        for demo in state.demos:
            jsonschema_rs.Draft202012Validator(schema).validate(demo.model_dump(exclude_unset=True))
        assert state.signature.instructions == one.instructions


def test_inputs_and_outputs() -> None:
    def fields(name: str) -> tuple[list[str], list[str]]:
        one = SHELF.programs[name].manifest
        return [field.name for field in one.inputs], [field.name for field in one.outputs]

    assert fields("worklet_selector") == (
        ["workflow_description", "case_context"],
        ["worklet_id", "rationale", "confidence"],
    )
    assert fields("resource_router")[1] == ["resource_id", "required_skills", "rationale", "confidence"]
    confidence = SHELF.programs["worklet_selector"].manifest.output_schema["properties"]["confidence"]
    assert (confidence["type"], confidence["minimum"], confidence["maximum"]) == ("number", 0, 1)
