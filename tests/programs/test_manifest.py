"""Manifests: what is read, every problem with its place, and the wiring that is completed."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from halflap.errors import ProgramBrokenError
from halflap.programs.manifest import _TAKEN, Manifest, read_manifest, write_manifest
from programs.written import MANIFEST, as_bytes, manifest

if TYPE_CHECKING:
    from collections.abc import Callable

RULES = json.loads(files("halflap").joinpath("programs/manifest.schema.json").read_bytes())
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


def test_a_manifest_is_read_and_what_it_leaves_out_is_filled_in() -> None:
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


def test_an_input_of_a_predictor_is_left_to_its_default_where_nothing_supplies_it() -> None:
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


def test_without_a_description_it_is_the_first_instructions() -> None:
    given = manifest()
    del given["description"]
    assert read(given).description == "Sort the message."


def test_the_reasoning_of_a_chain_of_thought_is_given_if_it_is_named() -> None:
    found = read(manifest(outputs=[{"name": "answer"}, {"name": "reasoning"}]))
    assert found.wiring.outputs == {"answer": "reply.answer", "reasoning": "sort.reasoning"}
    wired = read(manifest(wiring={"outputs": {"why": "sort.reasoning", "answer": "reply.answer"}}))
    assert [one.name for one in wired.outputs] == ["why", "answer"]


def test_an_input_of_the_program_comes_before_an_output_of_a_predictor() -> None:
    given = manifest(inputs=[{"name": "message"}, {"name": "topic"}])
    assert read(given).wiring.predictors["reply"]["topic"] == "inputs.topic"


def test_a_react_has_tools_and_so_many_iterations() -> None:
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
    ({"name": "Triage"}, 'name must be a name of lower-case letters, digits and _, a letter first, 64 at most, not "Triage".'),
    ({"name": "other"}, 'name must be "triage" as its folder, not "other".'),
    ({"version": "1.0"}, 'version must be a version such as 1.0.0, not "1.0".'),
    ({"version": "../../x"}, 'version must be a version such as 1.0.0, not "../../x".'),
    ({"version": "1.0.0-../x"}, 'version must be a version such as 1.0.0, not "1.0.0-../x".'),
    ({"dspy_version": 3}, "dspy_version must be a version of DSPy such as 3.4.1, not 3."),
    ({"optimizer": ""}, "optimizer must not be empty."),
    ({"optimizer": None}, "optimizer must be a text, not null."),
    ({"validation_score": "0.9"}, 'validation_score must be a number or null, not "0.9".'),
    ({"validation_score": True}, "validation_score must be a number or null, not true."),
    ({"serialized_at": "2026-02-30T00:00:00Z"}, 'serialized_at must be a time in UTC such as 2026-02-28T00:00:00Z, not "2026-02-30T00:00:00Z".'),
    ({"serialized_at": "2026-02-28T00:00:00+02:00"}, 'serialized_at must be a time in UTC such as 2026-02-28T00:00:00Z, not "2026-02-28T00:00:00+02:00".'),
    ({"lm": {"api_base": "x"}}, "lm is not known. There are: name, version, description, dspy_version, optimizer, validation_score, serialized_at, inputs, outputs, predictors, wiring."),
    ({"predictors": []}, "predictors must be a list of 1 to 20 predictors, not an empty list."),
    ({"predictors": [MANIFEST["predictors"][0]] * 21}, "predictors must be a list of 1 to 20 predictors, not of 21."),
    ({"predictors": [{**REACT, "tools": [f"mcp__a__{at}" for at in range(51)]}]}, "predictors[0].tools must be a list of 1 to 50 names of tools, not of 51."),
    (_sort(inputs=[]), "predictors[0].inputs must be a list of one or more fields, not an empty list."),
    ({"inputs": []}, "inputs must be a list of one or more fields, not an empty list."),
    (_sort(inputs=[{"name": "completions"}]), 'predictors[0].inputs[0].name: "completions" cannot be the name of a field: DSPy or Python takes it for itself.'),
    (_sort(inputs=[{"name": "dspy_x"}]), 'predictors[0].inputs[0].name: "dspy_x" cannot be the name of a field: DSPy or Python takes it for itself.'),
    ({"predictors": [{**REACT, "inputs": [{"name": "module"}]}]}, 'predictors[0].inputs[0].name: "module" cannot be the name of a field: DSPy or Python takes it for itself.'),
    (_sort(outputs=[{"name": "error"}]), 'predictors[0].outputs[0].name: "error" cannot be the name of an output: clients know an error by it.'),
    ({"outputs": [{"name": "error"}]}, 'outputs[0].name: "error" cannot be the name of an output: clients know an error by it.'),
    ({"wiring": {"outputs": {"error": "reply.answer"}}}, 'wiring.outputs.error: "error" cannot be the name of an output: clients know an error by it.'),
    ({"wiring": {"outputs": {"_metadata": "reply.answer"}}}, 'wiring.outputs._metadata must be a name of letters, digits and _, a letter first, 64 at most, not "_metadata".'),
    ({"predictors": ["question -> answer"]}, 'predictors[0] must be an object, not "question -> answer".'),
    (_sort(kind="Chain"), 'predictors[0].kind must be Predict, ChainOfThought or ReAct, not "Chain".'),
    (_sort(kind=["Predict"]), "predictors[0].kind must be Predict, ChainOfThought or ReAct, not a list."),
    (_sort(signature="a -> b"), "predictors[0].signature is not known. There are: name, kind, instructions, inputs, outputs, tools, max_iterations."),
    (_sort(name="inputs"), 'predictors[0].name: "inputs" cannot be the name of a predictor: it is taken.'),
    (_sort(name="metadata"), 'predictors[0].name: "metadata" cannot be the name of a predictor: it is taken.'),
    (_sort(name="forward"), 'predictors[0].name: "forward" cannot be the name of a predictor: it is taken.'),
    (_sort(name="a.b"), 'predictors[0].name must be a name of letters, digits and _, a letter first, 64 at most, not "a.b".'),
    (_sort(instructions=" "), "predictors[0].instructions must not be empty."),
    (_sort(tools=["mcp__a__b"]), "predictors[0].tools is for a ReAct alone."),
    (_sort(inputs="message"), 'predictors[0].inputs must be a list of one or more fields, not "message".'),
    (_sort(inputs=[{"name": "config"}]), 'predictors[0].inputs[0].name: "config" cannot be the name of a field: DSPy or Python takes it for itself.'),
    (_sort(inputs=[{"name": "lm"}]), 'predictors[0].inputs[0].name: "lm" cannot be the name of a field: DSPy or Python takes it for itself.'),
    (_sort(inputs=[{"name": "__class__"}]), 'predictors[0].inputs[0].name must be a name of letters, digits and _, a letter first, 64 at most, not "__class__".'),
    (_sort(inputs=[{"name": "class"}]), 'predictors[0].inputs[0].name: "class" cannot be the name of a field: DSPy or Python takes it for itself.'),
    (_sort(outputs=[{"name": "reasoning"}]), 'predictors[0].outputs[0].name: "reasoning" cannot be the name of a field: DSPy or Python takes it for itself.'),
    (_sort(outputs=[{"name": "message"}]), 'predictors[0]: "message" is both an input and an output.'),
    (_sort(inputs=[{"name": "message"}, {"name": "message"}]), 'predictors[0].inputs has the field "message" twice.'),
    (_sort(outputs=[{"name": "topic", "schema": {"type": "string", "default": "x"}}]), "predictors[0].outputs[0].schema.default means nothing: an output has no default."),
    (_field(), "predictors[0].inputs[0].schema must have a type, an enum or a const."),
    (_field(type="text"), 'predictors[0].inputs[0].schema.type must be string, integer, number, boolean, null, array or object, not "text".'),
    (_field(type=["string", "integer"]), 'predictors[0].inputs[0].schema.type must be one type, or one type and "null".'),
    (_field(type="string", pattern="(a+)+$"), "predictors[0].inputs[0].schema.pattern is not known. There are: type, enum, const, title, description, default, minLength, maxLength, minimum, maximum, items, minItems, maxItems, properties, required, additionalProperties."),
    (_field(type="string", minimum=1), "predictors[0].inputs[0].schema.minimum is for integer or number, and this is string."),
    (_field(type="string", minLength=-1), "predictors[0].inputs[0].schema.minLength must be 0 or more, not -1."),
    (_field(type="integer", minimum=3, maximum=2), "predictors[0].inputs[0].schema.minimum is greater than maximum: nothing would fit."),
    (_field(type="string", enum=["a", "a"]), 'predictors[0].inputs[0].schema.enum[1] is "a" again.'),
    (_field(type="string", enum=[1]), "predictors[0].inputs[0].schema.enum[0] is 1, which is not of the type string."),
    (_field(enum=[[1]]), "predictors[0].inputs[0].schema.enum[0] must be a text, a whole number, true, false or null, not a list."),
    (_field(enum=["a"], const="a"), "predictors[0].inputs[0].schema has both enum and const. Keep one of them."),
    (_field(type="integer", default="1"), 'predictors[0].inputs[0].schema.default does not fit its own schema: expected integer, received "1".'),
    (_field(type="array", items={"type": "x"}), 'predictors[0].inputs[0].schema.items.type must be string, integer, number, boolean, null, array or object, not "x".'),
    (_field(type="object", properties={"a-b": {"type": "string"}}), 'predictors[0].inputs[0].schema.properties.a-b must be a name of letters, digits and _, a letter first, 64 at most, not "a-b".'),
    (_field(type="object", properties={}, required=["a"]), 'predictors[0].inputs[0].schema.required[0]: "a" is no property, or named twice.'),
]  # fmt: skip

WIRINGS: list[tuple[dict[str, Any], str]] = [
    ({"wiring": []}, "wiring must be an object with predictors and outputs, not an empty list."),
    ({"wiring": {"predictors": {"sort": {"message": None}}}}, "wiring.predictors.sort.message: null leaves it to its default, and it has none."),
    ({"wiring": {"outputs": {"answer": None}}}, "wiring.outputs.answer must be where it comes from, as inputs.<field> or <predictor>.<field>, not null."),
    ({"wiring": {"predictors": {"x": {}}}}, "wiring.predictors.x: there is no predictor of that name."),
    ({"wiring": {"predictors": {"sort": {"x": "inputs.message"}}}}, 'wiring.predictors.sort.x: "sort" has no such input.'),
    ({"wiring": {"predictors": {"sort": {"message": "__import__('os')"}}}}, "wiring.predictors.sort.message must be where it comes from, as inputs.<field> or <predictor>.<field>, not \"__import__('os')\"."),
    ({"wiring": {"predictors": {"sort": {"message": "reply.answer"}}}}, 'wiring.predictors.sort.message is "reply.answer", and "reply" does not run before it.'),
    ({"wiring": {"predictors": {"sort": {"message": "sort.topic"}}}}, 'wiring.predictors.sort.message is "sort.topic", and "sort" does not run before it.'),
    ({"wiring": {"predictors": {"reply": {"topic": "sort.x"}}}}, 'wiring.predictors.reply.topic is "sort.x", and "sort" has no such field. There are: reasoning, topic.'),
    ({"inputs": [{"name": "message"}, {"name": "x"}]}, 'inputs[1]: no predictor takes "x".'),
    ({"inputs": [{"name": "x"}]}, "wiring.predictors.sort.message: nothing supplies it: neither an input of the program nor an earlier predictor has its name."),
    ({"outputs": [{"name": "x"}]}, "wiring.outputs.x: nothing supplies it: no predictor has an output of its name."),
    ({"outputs": [{"name": "answer"}], "wiring": {"outputs": {"x": "reply.answer"}}}, "wiring.outputs.x: the program has no such output."),
    ({"wiring": {"outputs": {"x": "inputs.message"}}}, 'wiring.outputs.x is "inputs.message", and "inputs" is neither inputs nor a predictor.'),
    ({"outputs": [{"name": "score", "schema": {"type": "boolean"}}]}, 'wiring.outputs.score is "reply.score", which is never of the type that is taken there: "number" instead of "boolean".'),
]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "told"), [*FACTS, *WIRINGS], ids=[told for _, told in (*FACTS, *WIRINGS)]
)
def test_a_problem_is_told_with_its_place(changes: dict[str, Any], told: str) -> None:
    assert f"manifest.json: {told}" in problems(manifest(**changes))


def test_all_problems_are_told_at_once() -> None:
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


def test_a_hostile_manifest_does_not_tell_forever() -> None:
    given = manifest(**{f"x{number}": 1 for number in range(5_000)})
    error = ProgramBrokenError("triage", problems(given))
    assert len(error.problems) <= 100
    assert len(str(error)) < 10_000


@pytest.mark.parametrize("value", [[], "x", 5, None])
def test_what_is_no_object_is_no_manifest(value: Any) -> None:
    assert problems(value)[0].startswith("manifest.json: it must be an object, not ")


# The schema in the docs -------------------------------------------------------------------------------

_NOT_THE_SCHEMAS = (
    "as its folder", "2026-02-30", "both an input", "twice", "nothing would fit", "its own schema", "is no property",
)  # fmt: skip
"""What no schema can say: the reader says it."""


@pytest.mark.parametrize(
    "changes",
    [changes for changes, told in FACTS if not any(one in told for one in _NOT_THE_SCHEMAS)],
    ids=str,
)
def test_the_schema_of_the_docs_refuses_what_the_reader_refuses(changes: dict[str, Any]) -> None:
    assert not SCHEMA.is_valid(manifest(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {"version": "1.0.0\n"},
        {"dspy_version": "3.4.1\n"},
        _sort(name="sort\n"),
        _sort(inputs=[{"name": "message\n"}]),
    ],
    ids=str,
)
def test_a_line_end_after_a_name_is_refused_also_where_a_dollar_lets_it_pass(changes: dict[str, Any]) -> None:
    """Validators that are written in Python take `$` for the end of the last line."""
    python = pytest.importorskip("jsonschema", reason="comes with halflap[dspy]")
    assert python.Draft202012Validator(RULES).is_valid(manifest())
    assert not python.Draft202012Validator(RULES).is_valid(manifest(**changes))
    assert not SCHEMA.is_valid(manifest(**changes))
    assert problems(manifest(**changes))


@pytest.mark.parametrize("name", sorted(_TAKEN))
def test_the_schema_of_the_docs_knows_every_name_that_a_predictor_cannot_have(name: str) -> None:
    assert not SCHEMA.is_valid(manifest(**_sort(name=name)))


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one,
        lambda one: {**one, "predictors": [REACT]},
        lambda one: {**one, "validation_score": 0.5},
        lambda one: {**one, "serialized_at": "2026-02-28T00:00:00.123456789+00:00"},
        lambda one: {**one, **_field(type=["integer", "null"], minimum=1, default=None, title="t")},
        lambda one: {**one, **_field(const="x")},
        lambda one: {**one, **_field(enum=["x", 1, None], minimum=0)},
        lambda one: {**one, **_field(type=["number", "null"], enum=[1, None], maximum=3)},
        lambda one: {**one, **_field(type="object", additionalProperties={"type": "array"})},
    ],
)
def test_what_is_read_and_what_is_written_again_fits_the_schema(
    change: Callable[[dict[str, Any]], dict[str, Any]],
) -> None:
    given = change(manifest())
    assert SCHEMA.is_valid(given)
    again = write_manifest(read(given))
    assert SCHEMA.is_valid(json.loads(again))
    assert read_manifest(again, name="triage") == read(given)
