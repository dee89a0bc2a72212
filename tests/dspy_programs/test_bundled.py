"""The four bundled programs."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from halflap.dspy.library import Library, SavedProgram

SAVED = Library(None).read()
NAMES = ["anomaly_forensics", "resource_router", "runtime_adaptation", "worklet_selector"]


@pytest.fixture(params=NAMES)
def bundled(request: pytest.FixtureRequest) -> SavedProgram:
    return SAVED.programs[request.param]


def test_four_programs_and_none_is_broken() -> None:
    assert (list(SAVED.programs), SAVED.broken, SAVED.problem) == (NAMES, {}, "")


def test_the_worklet_selector_has_three_predictors_and_no_invented_score() -> None:
    spec = SAVED.programs["worklet_selector"].spec
    assert (len(spec.predictors), spec.optimizer, spec.validation_score) == (3, "none", None)
    assert [field.name for field in spec.inputs] == ["workflow_description", "case_context"]
    assert [field.name for field in spec.outputs] == ["worklet_id", "rationale", "confidence"]
    confidence = spec.output_schema["properties"]["confidence"]
    assert (confidence["type"], confidence["minimum"], confidence["maximum"]) == ("number", 0, 1)


def test_every_predictor_is_described_and_has_three_valid_demos(bundled: SavedProgram) -> None:
    for predictor in bundled.spec.predictors:
        (state,) = [bundled.spec.state[key] for key in predictor.signatures]
        fields = [*predictor.inputs, *predictor.offered]
        assert all(len(field.description) > 10 for field in fields)
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {field.name: dict(field.json_schema) for field in fields},
            "required": [field.name for field in fields],
            "additionalProperties": False,
        }
        assert len(state.demos) == 3
        for demo in state.demos:
            jsonschema_rs.Draft202012Validator(schema).validate(demo)
