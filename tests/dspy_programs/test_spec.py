"""Files of DSPy programs, and inputs: what is accepted, wired and refused."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from dspy_programs.saved import field, predictor, triage
from halflap.core.errors import ProgramBrokenError, ProgramInputsError
from halflap.dspy.spec import ProgramSpec, read_spec, write_spec

PUBLISHED = jsonschema_rs.Draft202012Validator(ProgramSpec.model_json_schema(by_alias=True))
REACT = predictor("act", [field("message")], [field("done", "boolean")], "ReAct", tools=["mcp__shop__orders"])


def read(value: Any) -> ProgramSpec:
    return read_spec(json.dumps(value).encode(), "triage")


def problems(value: Any) -> tuple[str, ...]:
    with pytest.raises(ProgramBrokenError) as caught:
        read(value)
    return caught.value.problems


def test_fields_are_wired_by_equal_names() -> None:
    spec = read(triage())
    assert [one.name for one in spec.inputs] == ["message"]
    assert [one.name for one in spec.outputs] == ["answer", "score"]
    assert spec.flow.predictors == {
        "sort": {"message": "inputs.message"},
        "reply": {"message": "inputs.message", "topic": "sort.topic"},
    }
    assert spec.flow.results == {"answer": "reply.answer", "score": "reply.score"}
    assert spec.input_schema == {
        "type": "object",
        "properties": {"message": {"type": "string", "description": "The message"}},
        "additionalProperties": False,
        "required": ["message"],
    }
    assert spec.output_schema["required"] == ["answer", "score"]


def test_wiring_renames_inputs_and_outputs() -> None:
    wired = read(triage(wiring={"outputs": {"why": "sort.reasoning", "answer": "reply.answer"}}))
    assert [one.name for one in wired.outputs] == ["why", "answer"]
    about = read(triage(wiring={"predictors": {"reply": {"topic": "inputs.about"}}}))
    assert [one.name for one in about.inputs] == ["message", "about"]


def _sort(**changes: Any) -> dict[str, Any]:
    return {"predictors": [{**triage()["predictors"][0], **changes}]}


def _schema(**schema: Any) -> dict[str, Any]:
    return _sort(inputs=[{"name": "message", "schema": schema}])


def _demos(*demos: Any, key: str = "sort.predict", **more: Any) -> dict[str, Any]:
    return {"state": {key: {"demos": demos, **more}}}


SCHEMA_PATH = "predictors[0].inputs[0].schema"
ELSEWHERE = {"model": "openai/x", "api_base": "http://elsewhere/", "api_key": "k"}
STRUCTURAL: list[tuple[dict[str, Any], str]] = [
    ({"name": "Triage"}, "name"),
    ({"validation_score": "0.9"}, "validation_score"),
    ({"lm": ELSEWHERE}, "lm"),
    ({"predictors": ["question -> answer"]}, "predictors[0]"),
    ({"predictors": [{**REACT, "tools": ["os.system"]}]}, "predictors[0].tools[0]"),
    (_sort(signature="a: os.PathLike -> b: subprocess.Popen"), "predictors[0].signature"),
    ({"wiring": {"predictors": {"sort": {"message": "__import__('os')"}}}}, "wiring.predictors.sort.message"),
    (_demos(*[{}] * 101), "state.sort.predict.demos"),
    (_demos(lm=ELSEWHERE), "state.sort.predict.lm"),
]
SEMANTIC: list[tuple[dict[str, Any], str]] = [
    (_sort(inputs=[{"name": "config"}]), "predictors[0].inputs[0].name"),
    (_sort(outputs=[{"name": "message"}]), "predictors[0]"),
    (_sort(tools=["mcp__a__b"]), "predictors[0]"),
    (_schema(type="text"), SCHEMA_PATH),
    (_schema(**{"$ref": "http://127.0.0.1/schema"}), SCHEMA_PATH),
    (_schema(type="integer", default="1"), SCHEMA_PATH),
    ({"wiring": {"predictors": {"sort": {"message": "reply.answer"}}}}, "wiring.predictors.sort.message"),
    ({"wiring": {"outputs": {"error": "reply.answer"}}}, "wiring.outputs.error"),
    (_demos({"lm": ELSEWHERE}), "state"),
]


@pytest.mark.parametrize(("changes", "path"), [*STRUCTURAL, *SEMANTIC])
def test_a_problem_is_reported_with_its_path(changes: dict[str, Any], path: str) -> None:
    assert path in [problem.split(": ")[0] for problem in problems(triage(**changes))]


def test_the_published_schema_refuses_what_the_reader_refuses() -> None:
    assert not [changes for changes, _ in STRUCTURAL if PUBLISHED.is_valid(triage(**changes))]


def test_the_number_of_reported_problems_is_bounded() -> None:
    assert 1 < len(problems(triage(**{f"x{number}": 1 for number in range(5_000)}))) <= 30


def _place(kind: str, name: str = "near") -> dict[str, Any]:
    place = {"type": "object", "properties": {"x": {"type": kind}}}
    schema = {"items": {"$ref": "#/$defs/Place"}, "type": "array", "$defs": {"Place": place}}
    return {"name": name, "schema": schema}


@pytest.mark.parametrize(
    "changes",
    [
        {"validation_score": 0.5},
        {"predictors": [REACT, {**REACT, "name": "again", "max_iterations": 3}]},
        _schema(type=["integer", "null"], minimum=1, default=None, title="t"),
        _sort(inputs=[_place("string")]),
        _demos({"augmented": True, "message": "My bill?", "topic": "BILL"}, instructions="Sort it well."),
    ],
)
def test_programs_round_trip_and_fit_the_published_schema(changes: dict[str, Any]) -> None:
    written = write_spec(read(triage(**changes)))
    assert PUBLISHED.is_valid(json.loads(written))
    assert write_spec(read_spec(written, "triage")) == written


TAKES = read(
    triage(
        **_sort(
            inputs=[
                field("message"),
                field("count", "integer", minimum=1),
                field("kind", enum=["A", "B"], default="A"),
                field("tags", "array", items={"type": "string"}, default=[]),
            ]
        )
    )
)
GOOD: dict[str, Any] = {"message": "m", "count": 2}


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"count": "1"}, "count"),
        ({"count": float("nan")}, ""),
        ({"tags": ["a", 1]}, "tags[1]"),
        ({"lm": "openai/x"}, "lm"),
    ],
)
def test_an_input_that_does_not_fit_is_named(changes: dict[str, Any], path: str) -> None:
    TAKES.check_inputs(GOOD)
    with pytest.raises(ProgramInputsError) as caught:
        TAKES.check_inputs({**GOOD, **changes})
    assert [problem.path for problem in caught.value.problems] == [path]
    assert caught.value.seed_code == "INVALID_INPUTS"
