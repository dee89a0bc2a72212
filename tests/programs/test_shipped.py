"""The four programs that come with Halflap: typed, documented, with demos that fit, and no score that nobody measured."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from halflap.programs.library import Library, Stored
from halflap.programs.parts import REASONING

SHELF = Library(None).read()
NAMES = ["anomaly_forensics", "resource_router", "runtime_adaptation", "worklet_selector"]


@pytest.fixture(params=NAMES)
def shipped(request: pytest.FixtureRequest) -> Stored:
    return SHELF.programs[request.param]


def test_there_are_four_and_none_is_broken() -> None:
    assert (list(SHELF.programs), SHELF.broken, SHELF.problem) == (NAMES, {}, "")


def test_none_claims_what_was_not_measured(shipped: Stored) -> None:
    assert (shipped.manifest.validation_score, shipped.manifest.optimizer) == (None, "none")
    assert (shipped.folder, shipped.state.dropped) == (None, ())


def test_every_field_says_what_it_is(shipped: Stored) -> None:
    steps = shipped.manifest.predictors
    fields = [*shipped.manifest.inputs, *shipped.manifest.outputs]
    fields += [field for one in steps for field in (*one.inputs, *one.outputs)]
    assert all(len(field.description) > 10 for field in fields)
    assert all(len(one.instructions) > 100 for one in steps)
    assert shipped.manifest.description != steps[0].instructions


def test_every_predictor_has_three_demos_that_fit_its_types(shipped: Stored) -> None:
    for one in shipped.manifest.predictors:
        (state,) = [state for key, state in shipped.state.predictors.items() if key.split(".")[0] == one.name]
        fields = [*one.inputs, *one.outputs, *([REASONING] if one.kind == "ChainOfThought" else [])]
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {field.name: dict(field.schema) for field in fields},
            "required": [field.name for field in fields],
            "additionalProperties": False,
        }
        assert len(state.demos) == 3
        for demo in state.demos:
            jsonschema_rs.Draft202012Validator(schema).validate(demo)
        assert state.instructions == one.instructions


def test_each_takes_and_gives_what_it_is_known_for() -> None:
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


def test_an_adaptation_can_say_that_there_is_nothing_to_do() -> None:
    one = SHELF.programs["runtime_adaptation"]
    action = one.manifest.output_schema["properties"]["action"]
    assert action["enum"] == ["NONE", "ADD_RESOURCE", "REROUTE", "SKIP_TASK", "ESCALATE"]
    demos = one.state.predictors["decide.predict"].demos
    assert {demo["action"]: demo["target"] is None for demo in demos}["NONE"]
    for demo in demos:
        assert demo["target"] in [None, *(task["name"] for task in demo["tasks"])]


def test_a_route_in_a_demo_leads_to_somebody_who_is_there_and_can() -> None:
    for demo in SHELF.programs["resource_router"].state.predictors["route.predict"].demos:
        able = [
            one["id"]
            for one in demo["resources"]
            if one["available"] and set(demo["required_skills"]) <= set(one["skills"])
        ]
        assert ([demo["resource_id"]] if able else [None]) == [demo["resource_id"]]
        assert demo["resource_id"] in (able or [None])
