"""Manifests, states and inputs: what is accepted, completed and refused."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from dspy_programs.saved import field, predictor, state, triage
from halflap.core.errors import ProgramBrokenError, ProgramInputsError
from halflap.dspy.manifest import Manifest, read_manifest, write_manifest
from halflap.dspy.runner import check_inputs
from halflap.dspy.state import State, read_state, write_state

PUBLISHED = jsonschema_rs.Draft202012Validator(Manifest.model_json_schema(by_alias=True))
REACT = predictor("act", [field("message")], [field("done", "boolean")], "ReAct", tools=["mcp__shop__orders"])


def read(value: Any) -> Manifest:
    return read_manifest(json.dumps(value).encode(), name="triage")


def problems(value: Any) -> tuple[str, ...]:
    with pytest.raises(ProgramBrokenError) as caught:
        read(value)
    return caught.value.problems


# Manifests --------------------------------------------------------------------------------------------


def test_a_manifest_is_read_and_wired_by_equal_names() -> None:
    manifest = read(triage())
    assert [one.name for one in manifest.inputs] == ["message"]
    assert [one.name for one in manifest.outputs] == ["answer", "score"]
    assert manifest.wiring.predictors == {
        "sort": {"message": "inputs.message"},
        "reply": {"message": "inputs.message", "topic": "sort.topic"},
    }
    assert manifest.wiring.outputs == {"answer": "reply.answer", "score": "reply.score"}
    assert manifest.input_schema == {
        "type": "object",
        "properties": {"message": {"type": "string", "description": "The message"}},
        "additionalProperties": False,
        "required": ["message"],
    }
    assert manifest.output_schema["required"] == ["answer", "score"]


def _toned(**wired: Any) -> dict[str, Any]:
    steps = triage()["predictors"]
    steps[1]["inputs"].append(field("tone", default="kind"))
    return triage(predictors=steps, wiring={"predictors": {"reply": wired}})


def test_an_input_without_a_source_uses_its_default() -> None:
    assert read(_toned()).input_schema["required"] == ["message"]
    for manifest in (read({**_toned(), "inputs": [{"name": "message"}]}), read(_toned(tone=None))):
        assert [one.name for one in manifest.inputs] == ["message"]
        assert "tone" not in manifest.wiring.predictors["reply"]


def test_wiring_renames_outputs_and_inputs_win_over_predictors() -> None:
    wired = read(triage(wiring={"outputs": {"why": "sort.reasoning", "answer": "reply.answer"}}))
    assert [one.name for one in wired.outputs] == ["why", "answer"]
    listed = read(triage(inputs=[{"name": "message"}, {"name": "topic"}]))
    assert listed.wiring.predictors["reply"]["topic"] == "inputs.topic"
    about = read(triage(wiring={"predictors": {"reply": {"topic": "inputs.about"}}}))
    assert [one.name for one in about.inputs] == ["message", "about"]


def _sort(**changes: Any) -> dict[str, Any]:
    return {"predictors": [{**triage()["predictors"][0], **changes}]}


def _schema(**schema: Any) -> dict[str, Any]:
    return _sort(inputs=[{"name": "message", "schema": schema}])


SCHEMA_PATH = "predictors[0].inputs[0].schema"
STRUCTURAL: list[tuple[dict[str, Any], str]] = [
    ({"name": "Triage"}, "name"),
    ({"version": "1.0"}, "version"),
    ({"version": "../../x"}, "version"),
    ({"version": "1.0.0\n"}, "version"),
    ({"optimizer": None}, "optimizer"),
    ({"validation_score": "0.9"}, "validation_score"),
    ({"serialized_at": "2026-02-28T00:00:00+02:00"}, "serialized_at"),
    ({"lm": {"api_base": "x"}}, "lm"),
    ({"predictors": [triage()["predictors"][0]] * 21}, "predictors"),
    ({"predictors": ["question -> answer"]}, "predictors[0]"),
    ({"predictors": [{**REACT, "tools": ["os.system"]}]}, "predictors[0].tools[0]"),
    (_sort(kind="Chain"), "predictors[0].kind"),
    (_sort(signature="a -> b"), "predictors[0].signature"),
    (_schema(type="text"), f"{SCHEMA_PATH}.type"),
    (_schema(type="string", pattern="(a+)+$"), f"{SCHEMA_PATH}.pattern"),
    (_schema(type="array", items={"type": "x"}), f"{SCHEMA_PATH}.items.type"),
    ({"wiring": {"predictors": {"sort": {"message": "__import__('os')"}}}}, "wiring.predictors.sort.message"),
]
SEMANTIC: list[tuple[dict[str, Any], str]] = [
    ({"name": "other"}, "name"),
    ({"validation_score": True}, "validation_score"),
    (_sort(inputs=[]), "predictors[0]"),
    (_sort(inputs=[{"name": "config"}]), "predictors[0].inputs[0].name"),
    (_sort(inputs=[{"name": "lm"}]), "predictors[0].inputs[0].name"),
    (_sort(outputs=[{"name": "message"}]), "predictors[0]"),
    (_sort(outputs=[{"name": "reasoning"}]), "predictors[0]"),
    (_sort(name="inputs"), "predictors[0]"),
    (_sort(tools=["mcp__a__b"]), "predictors[0]"),
    (_schema(enum=[1.5]), f"{SCHEMA_PATH}.enum"),
    (_schema(type=["string", "integer"]), f"{SCHEMA_PATH}.type"),
    (_schema(type="integer", default="1"), SCHEMA_PATH),
    ({"wiring": {"predictors": {"sort": {"message": None}}}}, "wiring.predictors.sort.message"),
    ({"wiring": {"predictors": {"x": {}}}}, "wiring.predictors.x"),
    ({"wiring": {"predictors": {"sort": {"x": "inputs.message"}}}}, "wiring.predictors.sort.x"),
    ({"wiring": {"predictors": {"sort": {"message": "reply.answer"}}}}, "wiring.predictors.sort.message"),
    ({"wiring": {"outputs": {"error": "reply.answer"}}}, "wiring.outputs.error"),
    ({"inputs": [{"name": "x"}]}, "wiring.predictors.sort.message"),
    ({"outputs": [{"name": "x"}]}, "wiring.outputs.x"),
]


@pytest.mark.parametrize(("changes", "path"), [*STRUCTURAL, *SEMANTIC])
def test_a_problem_is_reported_with_its_path(changes: dict[str, Any], path: str) -> None:
    assert path in [problem.split(": ")[1] for problem in problems(triage(**changes))]


def test_the_published_schema_refuses_what_the_reader_refuses() -> None:
    assert not [changes for changes, _ in STRUCTURAL if PUBLISHED.is_valid(triage(**changes))]


def test_all_problems_are_reported_at_once_and_their_number_is_bounded() -> None:
    wrong = triage(
        version=1, predictors=[{"name": "a", "kind": "b", "inputs": [{}], "outputs": [{"name": 1}]}]
    )
    assert len(problems(wrong)) == 5
    assert len(problems(triage(**{f"x{number}": 1 for number in range(5_000)}))) <= 30
    assert len(problems([])) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"validation_score": 0.5},
        {"predictors": [REACT, {**REACT, "name": "again", "max_iterations": 3}]},
        _schema(type=["integer", "null"], minimum=1, default=None, title="t"),
        _schema(type="object", additionalProperties={"type": "array"}),
    ],
)
def test_manifests_round_trip_and_fit_the_published_schema(changes: dict[str, Any]) -> None:
    written = write_manifest(read(triage(**changes)))
    assert PUBLISHED.is_valid(json.loads(written))
    assert write_manifest(read_manifest(written, name="triage")) == written


# States -----------------------------------------------------------------------------------------------

TRIAGE = read(triage())


def read_as_state(value: Any) -> State:
    return read_state(json.dumps(value).encode(), TRIAGE)


def changed(key: str, value: Any) -> dict[str, Any]:
    made = state(triage())
    made["sort.predict"][key] = value
    return made


def test_demos_and_instructions_are_read_and_written_again() -> None:
    demo = {"augmented": True, "message": "My bill?", "reasoning": "It says so.", "topic": "BILL"}
    saved = changed("demos", [demo])
    saved["sort.predict"]["signature"] = {"instructions": "Sort it well.", "fields": [{"prefix": "Message:"}]}
    found = read_as_state(saved)
    sort = found.predictors["sort.predict"]
    assert (sort.demos, sort.signature.instructions, found.ignored) == ((demo,), "Sort it well.", ())
    assert read_state(write_state(found, TRIAGE), TRIAGE) == found


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ([], ""),
        ({"reply": {}}, "sort.predict"),
        (changed("demos", {}), "sort.predict: demos"),
        (changed("demos", ["x"]), "sort.predict: demos[0]"),
        (changed("demos", [{}] * 101), "sort.predict: demos"),
        (changed("signature", "a: os.PathLike -> b: subprocess.Popen"), "sort.predict: signature"),
    ],
)
def test_a_problem_of_a_state_is_reported_with_its_path(value: Any, path: str) -> None:
    with pytest.raises(ProgramBrokenError) as caught:
        read_as_state(value)
    assert any(problem.startswith(f"state.json: {path}") for problem in caught.value.problems)


ELSEWHERE = {"model": "openai/x", "api_base": "http://elsewhere/", "api_key": "k"}


def test_nothing_else_of_a_state_is_kept_and_what_was_there_is_named() -> None:
    saved = {**state(triage()), "lm": ELSEWHERE, "other.predict": {}}
    saved["sort.predict"] |= {"config": ELSEWHERE, "lm": ELSEWHERE, "__class__": "subprocess.Popen"}
    saved["reply"]["demos"] = [{"message": "m", "lm": ELSEWHERE, "__class__": "x"}]
    found = read_as_state(saved)
    assert "elsewhere" not in json.dumps(found.as_json())
    assert "elsewhere" not in repr(found)
    assert found.predictors["reply"].demos == ({"message": "m"},)
    expected = {"lm", "other.predict", *(f"sort.predict.{name}" for name in ("config", "lm", "__class__"))}
    assert {*found.ignored} == expected


# Inputs -----------------------------------------------------------------------------------------------

PLACE = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TAKES = read(
    triage(
        **_sort(
            inputs=[
                field("message"),
                field("count", "integer", minimum=1),
                field("kind", enum=["A", "B"], default="A"),
                field("tags", "array", items={"type": "string"}, default=[]),
                field("places", "array", items=PLACE, default=[]),
            ]
        )
    )
)
GOOD: dict[str, Any] = {"message": "m", "count": 2}


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"message": None}, "message"),
        ({"count": "1"}, "count"),
        ({"count": True}, "count"),
        ({"count": 0}, "count"),
        ({"count": float("nan")}, "count"),
        ({"kind": "C"}, "kind"),
        ({"tags": ["a", 1]}, "tags[1]"),
        ({"lm": "openai/x"}, "lm"),
        ({"places": [{}]}, "places[0].name"),
    ],
)
def test_an_input_that_does_not_fit_is_named(changes: dict[str, Any], path: str) -> None:
    check_inputs(TAKES, GOOD)
    with pytest.raises(ProgramInputsError) as caught:
        check_inputs(TAKES, {**GOOD, **changes})
    assert [problem.path for problem in caught.value.problems] == [path]
    assert caught.value.seed_code == "INVALID_INPUTS"


def test_all_problems_of_inputs_are_reported_at_once() -> None:
    with pytest.raises(ProgramInputsError) as caught:
        check_inputs(TAKES, {"count": "x", "other": 1})
    assert {problem.path for problem in caught.value.problems} == {"message", "count", "other"}
