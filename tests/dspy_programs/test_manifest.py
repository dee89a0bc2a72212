"""Manifests of DSPy programs: validation, and the wiring that is completed."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from dspy_programs.written import MANIFEST, as_bytes, manifest
from halflap.core.errors import ProgramBrokenError
from halflap.dspy.spec import Manifest, read_manifest, write_manifest

if TYPE_CHECKING:
    from collections.abc import Callable

RULES = json.loads(files("halflap").joinpath("dspy/manifest.schema.json").read_bytes())
SCHEMA = jsonschema_rs.Draft202012Validator(RULES)
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
    assert found.predictors[0].inputs[0].schema == {"type": "string"}


def test_an_input_with_a_default_may_be_left_out() -> None:
    given = manifest(
        inputs=[{"name": "message", "schema": {"type": "string", "default": "none"}}],
    )
    assert "required" not in read(given).input_schema


def _toned(**wired: Any) -> dict[str, Any]:
    steps = manifest()["predictors"]
    steps[1]["inputs"].append({"name": "tone", "schema": {"type": "string", "default": "kind"}})
    return manifest(predictors=steps, wiring={"predictors": {"reply": wired}})


def test_an_unsupplied_input_uses_its_default() -> None:
    assert [one.name for one in read(_toned()).inputs] == ["message", "tone"]
    listed = read({**_toned(), "inputs": [{"name": "message"}]})
    null = read(_toned(tone=None))
    for found in (listed, null):
        assert [one.name for one in found.inputs] == ["message"]
        assert "tone" not in found.wiring.predictors["reply"]
        again = write_manifest(found)
        assert json.loads(again)["wiring"]["predictors"]["reply"]["tone"] is None
        assert read_manifest(again, name="triage") == found
        assert SCHEMA.is_valid(json.loads(again))


def test_reasoning_is_an_output_if_it_is_named() -> None:
    found = read(manifest(outputs=[{"name": "answer"}, {"name": "reasoning"}]))
    assert found.wiring.outputs == {"answer": "reply.answer", "reasoning": "sort.reasoning"}
    wired = read(manifest(wiring={"outputs": {"why": "sort.reasoning", "answer": "reply.answer"}}))
    assert [one.name for one in wired.outputs] == ["why", "answer"]


def test_program_inputs_win_over_predictor_outputs() -> None:
    given = manifest(inputs=[{"name": "message"}, {"name": "topic"}])
    assert read(given).wiring.predictors["reply"]["topic"] == "inputs.topic"


def test_a_react_has_tools_and_a_limit_of_iterations() -> None:
    found = read(manifest(predictors=[{**REACT, "max_iterations": 3}, {**REACT, "name": "again"}]))
    assert [(one.tools, one.max_iterations) for one in found.predictors] == [
        (("mcp__shop__orders",), 3),
        (("mcp__shop__orders",), 10),
    ]


def _sort(**changes: Any) -> dict[str, Any]:
    return {"predictors": [{**MANIFEST["predictors"][0], **changes}]}


def _field(**schema: Any) -> dict[str, Any]:
    return _sort(inputs=[{"name": "message", "schema": schema}])


FACTS: list[tuple[dict[str, Any], str]] = [
    ({"name": "Triage"}, "name"),
    ({"version": "1.0"}, "version"),
    ({"version": "../../x"}, "version"),
    ({"optimizer": None}, "optimizer"),
    ({"validation_score": "0.9"}, "validation_score"),
    ({"validation_score": True}, "validation_score"),
    ({"serialized_at": "2026-02-28T00:00:00+02:00"}, "serialized_at"),
    ({"lm": {"api_base": "x"}}, "lm"),
    ({"predictors": []}, "predictors"),
    ({"predictors": [MANIFEST["predictors"][0]] * 21}, "predictors"),
    ({"predictors": [{**REACT, "tools": [f"mcp__a__{at}" for at in range(51)]}]}, "predictors[0].tools"),
    (_sort(inputs=[]), "predictors[0].inputs"),
    (_sort(inputs=[{"name": "completions"}]), "predictors[0].inputs[0].name"),
    (_sort(outputs=[{"name": "error"}]), "predictors[0].outputs[0].name"),
    ({"predictors": ["question -> answer"]}, "predictors[0]"),
    (_sort(kind="Chain"), "predictors[0].kind"),
    (_sort(signature="a -> b"), "predictors[0].signature"),
    (_sort(name="inputs"), "predictors[0].name"),
    (_sort(tools=["mcp__a__b"]), "predictors[0].tools"),
    (_sort(outputs=[{"name": "topic", "schema": {"type": "string", "default": "x"}}]), "predictors[0].outputs[0].schema.default"),
    (_field(type="text"), "predictors[0].inputs[0].schema.type"),
    (_field(type="string", pattern="(a+)+$"), "predictors[0].inputs[0].schema.pattern"),
    (_field(type="string", minimum=1), "predictors[0].inputs[0].schema.minimum"),
    (_field(type="string", enum=["a", "a"]), "predictors[0].inputs[0].schema.enum[1]"),
    (_field(type="string", enum=[1]), "predictors[0].inputs[0].schema.enum[0]"),
    (_field(type="array", items={"type": "x"}), "predictors[0].inputs[0].schema.items.type"),
    (_field(type="object", properties={"a-b": {"type": "string"}}), "predictors[0].inputs[0].schema.properties.a-b"),
]  # fmt: skip

BEYOND_THE_SCHEMA: list[tuple[dict[str, Any], str]] = [
    ({"name": "other"}, "name"),
    ({"serialized_at": "2026-02-30T00:00:00Z"}, "serialized_at"),
    (_sort(outputs=[{"name": "message"}]), "predictors[0]"),
    (_sort(inputs=[{"name": "message"}, {"name": "message"}]), "predictors[0].inputs"),
    (_field(type="integer", default="1"), "predictors[0].inputs[0].schema.default"),
    (_field(type="object", properties={}, required=["a"]), "predictors[0].inputs[0].schema.required[0]"),
]
WIRINGS: list[tuple[dict[str, Any], str]] = [
    ({"wiring": []}, "wiring"),
    ({"wiring": {"predictors": {"sort": {"message": None}}}}, "wiring.predictors.sort.message"),
    ({"wiring": {"predictors": {"x": {}}}}, "wiring.predictors.x"),
    ({"wiring": {"predictors": {"sort": {"x": "inputs.message"}}}}, "wiring.predictors.sort.x"),
    ({"wiring": {"predictors": {"sort": {"message": "__import__('os')"}}}}, "wiring.predictors.sort.message"),
    ({"wiring": {"predictors": {"sort": {"message": "reply.answer"}}}}, "wiring.predictors.sort.message"),
    ({"wiring": {"predictors": {"reply": {"topic": "sort.x"}}}}, "wiring.predictors.reply.topic"),
    ({"inputs": [{"name": "message"}, {"name": "x"}]}, "inputs[1]"),
    ({"inputs": [{"name": "x"}]}, "wiring.predictors.sort.message"),
    ({"outputs": [{"name": "x"}]}, "wiring.outputs.x"),
    ({"outputs": [{"name": "score", "schema": {"type": "boolean"}}]}, "wiring.outputs.score"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "path"), [*FACTS, *BEYOND_THE_SCHEMA, *WIRINGS])
def test_a_problem_is_reported_with_its_path(changes: dict[str, Any], path: str) -> None:
    found = [
        re.split(r":? ", one.removeprefix("manifest.json: "), maxsplit=1)[0]
        for one in problems(manifest(**changes))
    ]
    assert path in found


def test_all_problems_are_reported_at_once() -> None:
    given = manifest(
        version=1, predictors=[{"name": "a", "kind": "b", "inputs": [{}], "outputs": [{"name": 1}]}]
    )
    del given["serialized_at"]
    assert [one.partition(": ")[2].partition(" ")[0] for one in problems(given)] == [
        "serialized_at",
        "version",
        "predictors[0].instructions",
        "predictors[0].kind",
        "predictors[0].inputs[0].name",
        "predictors[0].outputs[0].name",
    ]


def test_the_report_of_a_hostile_manifest_is_bounded() -> None:
    given = manifest(**{f"x{number}": 1 for number in range(5_000)})
    error = ProgramBrokenError("triage", problems(given))
    assert len(error.problems) <= 100
    assert len(str(error)) < 10_000


@pytest.mark.parametrize("value", [[], "x", 5, None])
def test_a_manifest_must_be_an_object(value: Any) -> None:
    assert len(problems(value)) == 1


# The schema in the docs -------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [changes for changes, _ in FACTS])
def test_the_published_schema_refuses_what_the_reader_refuses(changes: dict[str, Any]) -> None:
    assert not SCHEMA.is_valid(manifest(**changes))


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one,
        lambda one: {**one, "predictors": [REACT]},
        lambda one: {**one, "validation_score": 0.5},
        lambda one: {**one, **_field(type=["integer", "null"], minimum=1, default=None, title="t")},
        lambda one: {**one, **_field(type="object", additionalProperties={"type": "array"})},
    ],
)
def test_written_manifests_fit_the_published_schema(
    change: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    given = change(manifest())
    assert SCHEMA.is_valid(given)
    again = write_manifest(read(given))
    assert SCHEMA.is_valid(json.loads(again))
    assert read_manifest(again, name="triage") == read(given)
