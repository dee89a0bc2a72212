"""Manifests, states and inputs: what is accepted, completed and refused."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dspy_programs.written import MANIFEST, STATE, as_bytes, manifest, state
from halflap.core.errors import ProgramBrokenError, ProgramInputsError
from halflap.dspy.field_values import check_inputs, plain
from halflap.dspy.manifest import read_manifest, write_manifest
from halflap.dspy.spec import Manifest
from halflap.dspy.state import State, read_state, write_state

PUBLISHED = jsonschema_rs.Draft202012Validator(Manifest.model_json_schema(by_alias=True))
REACT = {
    "name": "act",
    "kind": "ReAct",
    "instructions": "Act.",
    "inputs": [{"name": "message"}],
    "outputs": [{"name": "done", "schema": {"type": "boolean"}}],
    "tools": ["mcp__shop__orders"],
}


def read(value: Any) -> Manifest:
    return read_manifest(as_bytes(value), name="triage")


def problems(value: Any) -> tuple[str, ...]:
    with pytest.raises(ProgramBrokenError) as caught:
        read(value)
    return caught.value.problems


# Manifests --------------------------------------------------------------------------------------------


def test_a_manifest_is_read_and_its_wiring_completed() -> None:
    found = read(MANIFEST)
    assert [one.name for one in found.inputs] == ["message"]
    assert [one.name for one in found.outputs] == ["answer", "score"]
    assert found.wiring.predictors == {
        "sort": {"message": "inputs.message"},
        "reply": {"message": "inputs.message", "topic": "sort.topic"},
    }
    assert found.wiring.outputs == {"answer": "reply.answer", "score": "reply.score"}
    assert found.input_schema == {
        "type": "object",
        "properties": {"message": {"type": "string", "description": "What came."}},
        "additionalProperties": False,
        "required": ["message"],
    }
    assert found.output_schema["required"] == ["answer", "score"]


def _toned(**wired: Any) -> dict[str, Any]:
    steps = manifest()["predictors"]
    steps[1]["inputs"].append({"name": "tone", "schema": {"type": "string", "default": "kind"}})
    return manifest(predictors=steps, wiring={"predictors": {"reply": wired}})


def test_an_unsupplied_input_uses_its_default() -> None:
    assert read(_toned()).input_schema["required"] == ["message"]
    for found in (read({**_toned(), "inputs": [{"name": "message"}]}), read(_toned(tone=None))):
        assert [one.name for one in found.inputs] == ["message"]
        assert "tone" not in found.wiring.predictors["reply"]
        again = write_manifest(found)
        assert json.loads(again)["wiring"]["predictors"]["reply"]["tone"] is None
        assert write_manifest(read_manifest(again, name="triage")) == again


def test_outputs_can_be_renamed_and_inputs_win_over_predictors() -> None:
    wired = read(manifest(wiring={"outputs": {"why": "sort.reasoning", "answer": "reply.answer"}}))
    assert [one.name for one in wired.outputs] == ["why", "answer"]
    chosen = read(manifest(inputs=[{"name": "message"}, {"name": "topic"}]))
    assert chosen.wiring.predictors["reply"]["topic"] == "inputs.topic"


def _sort(**changes: Any) -> dict[str, Any]:
    return {"predictors": [{**MANIFEST["predictors"][0], **changes}]}


def _field(**schema: Any) -> dict[str, Any]:
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
    ({"predictors": []}, "predictors"),
    ({"predictors": [MANIFEST["predictors"][0]] * 21}, "predictors"),
    ({"predictors": [{**REACT, "tools": [f"mcp__a__{at}" for at in range(51)]}]}, "predictors[0].tools"),
    ({"predictors": ["question -> answer"]}, "predictors[0]"),
    (_sort(inputs=[]), "predictors[0].inputs"),
    (_sort(kind="Chain"), "predictors[0].kind"),
    (_sort(signature="a -> b"), "predictors[0].signature"),
    (_field(type="text"), f"{SCHEMA_PATH}.type"),
    (_field(type="string", pattern="(a+)+$"), f"{SCHEMA_PATH}.pattern"),
    (_field(type="array", items={"type": "x"}), f"{SCHEMA_PATH}.items.type"),
    ({"wiring": []}, "wiring"),
    ({"wiring": {"predictors": {"sort": {"message": "__import__('os')"}}}}, "wiring.predictors.sort.message"),
]
SEMANTIC: list[tuple[dict[str, Any], str]] = [
    ({"name": "other"}, "name"),
    ({"validation_score": True}, "validation_score"),
    ({"serialized_at": "2026-02-30T00:00:00Z"}, "serialized_at"),
    (_sort(inputs=[{"name": "completions"}]), "predictors[0].inputs[0].name"),
    (_sort(inputs=[{"name": "lm"}]), "predictors[0].inputs[0].name"),
    (_sort(outputs=[{"name": "error"}]), "predictors[0].outputs"),
    (
        _sort(outputs=[{"name": "topic", "schema": {"type": "string", "default": "x"}}]),
        "predictors[0].outputs",
    ),
    (_sort(outputs=[{"name": "message"}]), "predictors[0]"),
    (_sort(outputs=[{"name": "reasoning"}]), "predictors[0]"),
    (_sort(inputs=[{"name": "message"}, {"name": "message"}]), "predictors[0].inputs"),
    (_sort(name="inputs"), "predictors[0].name"),
    (_sort(tools=["mcp__a__b"]), "predictors[0]"),
    (_field(type="string", minimum=1), SCHEMA_PATH),
    (_field(type="string", enum=["a", "a"]), SCHEMA_PATH),
    (_field(type="string", enum=[1]), SCHEMA_PATH),
    (_field(type="integer", default="1"), SCHEMA_PATH),
    (_field(type="object", properties={}, required=["a"]), SCHEMA_PATH),
    ({"wiring": {"predictors": {"sort": {"message": None}}}}, "wiring.predictors.sort.message"),
    ({"wiring": {"predictors": {"x": {}}}}, "wiring.predictors.x"),
    ({"wiring": {"predictors": {"sort": {"x": "inputs.message"}}}}, "wiring.predictors.sort.x"),
    ({"wiring": {"predictors": {"sort": {"message": "reply.answer"}}}}, "wiring.predictors.sort.message"),
    ({"wiring": {"predictors": {"reply": {"topic": "sort.x"}}}}, "wiring.predictors.reply.topic"),
    ({"wiring": {"outputs": {"error": "reply.answer"}}}, "wiring.outputs.error"),
    ({"inputs": [{"name": "message"}, {"name": "x"}]}, "inputs[1]"),
    ({"inputs": [{"name": "x"}]}, "wiring.predictors.sort.message"),
    ({"outputs": [{"name": "x"}]}, "wiring.outputs.x"),
    ({"outputs": [{"name": "score", "schema": {"type": "boolean"}}]}, "wiring.outputs.score"),
]


@pytest.mark.parametrize(("changes", "path"), [*STRUCTURAL, *SEMANTIC])
def test_a_problem_is_reported_with_its_path(changes: dict[str, Any], path: str) -> None:
    assert path in [one.split(": ")[1] for one in problems(manifest(**changes))]


@pytest.mark.parametrize("changes", [changes for changes, _ in STRUCTURAL])
def test_the_published_schema_refuses_what_the_reader_refuses(changes: dict[str, Any]) -> None:
    assert not PUBLISHED.is_valid(manifest(**changes))


def test_all_problems_are_reported_at_once_and_their_number_is_bounded() -> None:
    wrong = manifest(
        version=1, predictors=[{"name": "a", "kind": "b", "inputs": [{}], "outputs": [{"name": 1}]}]
    )
    assert len(problems(wrong)) == 5
    assert len(problems(manifest(**{f"x{number}": 1 for number in range(5_000)}))) <= 100
    assert len(problems([])) == 1


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"predictors": [REACT, {**REACT, "name": "again", "max_iterations": 3}]},
        {"validation_score": 0.5},
        _field(type=["integer", "null"], minimum=1, default=None, title="t"),
        _field(type="object", additionalProperties={"type": "array"}),
    ],
)
def test_manifests_round_trip_and_fit_the_published_schema(changes: dict[str, Any]) -> None:
    written = write_manifest(read(manifest(**changes)))
    assert PUBLISHED.is_valid(json.loads(written))
    assert write_manifest(read_manifest(written, name="triage")) == written


# States -----------------------------------------------------------------------------------------------

PROGRAM = read(MANIFEST)


def read_as_state(value: Any) -> State:
    return read_state(as_bytes(value), PROGRAM)


def spoilt(key: str, value: Any) -> dict[str, Any]:
    given = state()
    given["sort.predict"][key] = value
    return given


def test_a_state_is_read_as_dspy_saved_it_and_written_again() -> None:
    found = read_as_state(STATE)
    sort = found.clean["sort.predict"]
    assert sort["signature"] == STATE["sort.predict"]["signature"]
    assert list(sort["demos"]) == STATE["sort.predict"]["demos"]
    assert found.dropped == ()
    assert read_state(write_state(found, PROGRAM), PROGRAM).clean == {
        key: {"traces": [], "train": [], **one} for key, one in found.clean.items()
    }


@pytest.mark.parametrize(
    ("kind", "keys"),
    [("Predict", ["self"]), ("ChainOfThought", ["predict"]), ("ReAct", ["react", "extract.predict"])],
)
def test_a_single_predictor_may_be_unnamed(kind: str, keys: list[str]) -> None:
    step = {**REACT, "kind": kind, "name": "sort"}
    if kind != "ReAct":
        del step["tools"]
    one = read(manifest(predictors=[step]))
    alone = {key: {"demos": [], "signature": {"instructions": key}} for key in keys}
    named = {"sort" if key == "self" else f"sort.{key}": inner for key, inner in alone.items()}
    assert read_state(as_bytes(alone), one) == read_state(as_bytes(named), one)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ([], ""),
        ({"reply": STATE["reply"]}, "sort.predict"),
        (spoilt("demos", {}), "sort.predict: demos"),
        (spoilt("demos", ["x"]), "sort.predict: demos[0]"),
        (spoilt("demos", [{}] * 101), "sort.predict: demos"),
        (spoilt("demos", [{"message": "x" * 100_001}]), "sort.predict.demos[0]"),
        (spoilt("demos", [{"augmented": "x"}]), "sort.predict: demos[0].augmented"),
        (spoilt("train", 1), "sort.predict: train"),
        (spoilt("signature", "a: os.PathLike -> b"), "sort.predict: signature"),
        (spoilt("signature", {"fields": []}), "sort.predict.signature.fields"),
        (
            spoilt("signature", {"fields": [{"prefix": "a"}] * 3}),
            "sort.predict: signature.fields[0].description",
        ),
    ],
)
def test_a_problem_of_a_state_is_reported_with_its_path(given: Any, path: str) -> None:
    with pytest.raises(ProgramBrokenError) as caught:
        read_as_state(given)
    assert any(one.startswith(f"state.json: {path}") for one in caught.value.problems)


# Inputs and outputs -----------------------------------------------------------------------------------

PLACE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "warmth": {"type": "number", "default": 0.5},
        "inner": {"type": ["object", "null"], "properties": {"y": {"type": "number"}}, "default": None},
        "note": {"type": "string"},
    },
    "required": ["name"],
}
TAKES = read(
    manifest(
        **_sort(
            inputs=[
                {"name": "message"},
                {"name": "count", "schema": {"type": "integer", "minimum": 1}},
                {"name": "weight", "schema": {"type": "number", "default": 1}},
                {"name": "kind", "schema": {"enum": ["A", "B"], "default": "A"}},
                {"name": "tags", "schema": {"type": "array", "items": {"type": "string"}, "default": []}},
                {"name": "places", "schema": {"type": "array", "items": PLACE, "default": []}},
            ]
        )
    )
)
GOOD: dict[str, Any] = {"message": "m", "count": 2}


def test_defaults_are_filled_in_at_every_level_and_never_shared() -> None:
    first = check_inputs(TAKES, {**GOOD, "places": [{"name": "n", "inner": {"y": 1}}]})
    assert first == {
        **GOOD,
        "weight": 1,
        "kind": "A",
        "tags": [],
        "places": [{"name": "n", "warmth": 0.5, "inner": {"y": 1.0}}],
    }
    first["tags"].append("x")
    assert check_inputs(TAKES, GOOD)["tags"] == []


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"message": None}, "message"),
        ({"count": "1"}, "count"),
        ({"count": True}, "count"),
        ({"count": 0}, "count"),
        ({"weight": float("nan")}, "weight"),
        ({"kind": "C"}, "kind"),
        ({"tags": ["a", 1]}, "tags[1]"),
        ({"lm": "openai/x"}, "lm"),
        ({"places": [{"name": "n", "junk": 1}]}, "places[0].junk"),
        ({"places": [{"name": "n", "inner": {"junk": 1}}]}, "places[0].inner.junk"),
    ],
)
def test_an_input_that_does_not_fit_is_named(changes: dict[str, Any], path: str) -> None:
    with pytest.raises(ProgramInputsError) as caught:
        check_inputs(TAKES, {**GOOD, **changes})
    assert [one.path for one in caught.value.problems] == [path]
    assert caught.value.seed_code == "INVALID_INPUTS"


def test_all_problems_of_inputs_are_reported_at_once() -> None:
    with pytest.raises(ProgramInputsError) as caught:
        check_inputs(TAKES, {"count": "x", "other": 1})
    assert {one.path for one in caught.value.problems} == {"message", "count", "other"}


@given(
    st.fixed_dictionaries(
        {"name": st.text()},
        optional={"warmth": st.integers() | st.floats(allow_nan=False), "note": st.text()},
    )
)
def test_whatever_fits_is_accepted_and_still_fits_once_filled(place: dict[str, Any]) -> None:
    filled = check_inputs(TAKES, {**GOOD, "places": [place]})["places"][0]
    assert filled.items() >= place.items()
    assert jsonschema_rs.Draft202012Validator(PLACE).is_valid(plain(filled, PLACE))


def test_optional_properties_that_are_null_are_left_out_of_outputs() -> None:
    assert plain({"name": "n", "note": None, "inner": None}, PLACE) == {"name": "n", "inner": None}
    assert plain([2.0, 2.5], {"type": "array", "items": {"type": "integer"}}) == [2, 2.5]
