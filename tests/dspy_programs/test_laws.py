"""Laws of every program: manifests and states round trip, and every field has a source."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dspy_programs.written import as_bytes, manifest
from halflap.core.errors import ProgramInputsError
from halflap.dspy.inputs import check_inputs
from halflap.dspy.spec import Manifest, read_manifest, write_manifest
from halflap.dspy.parts import outputs_of, signatures_of
from halflap.dspy.state import read_state, write_state
from support import examples

pytestmark = pytest.mark.slow

NAMES = st.sampled_from(["a", "b", "c", "d", "e"])
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = st.one_of(WORDS, st.integers(-9, 9), st.booleans(), st.none())


def _schemas(depth: int = 2) -> st.SearchStrategy[dict[str, Any]]:
    plain = st.one_of(
        st.just({"type": "string"}),
        st.just({"type": ["string", "null"]}),
        st.just({"type": "integer", "minimum": 0}),
        st.just({"type": "number"}),
        st.just({"type": "boolean"}),
        st.builds(
            lambda values: {"enum": values},
            st.lists(SCALARS, min_size=1, max_size=3, unique_by=lambda one: (type(one), one)),
        ),
    )
    if not depth:
        return plain
    inner = _schemas(depth - 1)
    return st.one_of(
        plain,
        st.builds(lambda one: {"type": "array", "items": one}, inner),
        st.builds(lambda one: {"type": "object", "additionalProperties": one}, inner),
        st.builds(
            lambda one: {"type": "object", "properties": one, "required": list(one)},
            st.dictionaries(NAMES, inner, max_size=2),
        ),
    )


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    """Draw a program of one to four steps over few names, with nothing listed that could be left out."""
    kinds: dict[str, dict[str, Any]] = {}
    steps = []
    for number in range(draw(st.integers(1, 4))):
        names = draw(st.permutations(["a", "b", "c", "d", "e"]))
        middle = draw(st.integers(1, 3))

        def field(name: str) -> dict[str, Any]:
            schema = kinds.setdefault(name, draw(_schemas()))
            return {"name": name, "description": draw(WORDS), "schema": schema}

        inputs, outputs = names[:middle], names[middle : middle + draw(st.integers(1, 2))]
        step: dict[str, Any] = {
            "name": f"step{number}",
            "kind": draw(st.sampled_from(["Predict", "ChainOfThought", "ReAct"])),
            "instructions": f"x{draw(WORDS)}",
            "inputs": [field(one) for one in inputs],
            "outputs": [field(one) for one in outputs],
        }
        if step["kind"] == "ReAct":
            step["tools"] = draw(
                st.lists(st.sampled_from(["mcp__a__b", "script__c"]), min_size=1, max_size=2, unique=True)
            )
        steps.append(step)
    given_facts = {"description": f"x{draw(WORDS)}", "validation_score": draw(st.none() | st.floats(-1, 1))}
    return read_manifest(as_bytes(manifest(predictors=steps, **given_facts)), name="triage")


@settings(max_examples=examples(80), deadline=None)
@given(manifests())
def test_manifests_round_trip(one: Manifest) -> None:
    assert read_manifest(write_manifest(one), name="triage") == one


@pytest.mark.slow
@settings(max_examples=examples(80), deadline=None)
@given(manifests())
def test_every_field_comes_from_an_input_or_an_earlier_predictor(one: Manifest) -> None:
    there = {"inputs": {field.name: field for field in one.inputs}}
    used = set()
    for predictor in one.predictors:
        sources = one.wiring.predictors[predictor.name]
        assert set(sources) == {field.name for field in predictor.inputs}
        for source in sources.values():
            owner, _, name = source.partition(".")
            assert name in there[owner]
            used.add(source)
        there[predictor.name] = outputs_of(predictor)
    assert {f"inputs.{field.name}" for field in one.inputs} <= used
    assert set(one.wiring.outputs) == {field.name for field in one.outputs}
    for source in one.wiring.outputs.values():
        owner, _, name = source.partition(".")
        assert name in there[owner]


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_states_round_trip(data: st.DataObject) -> None:
    one = data.draw(manifests())
    values = st.recursive(
        SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3)
    )
    saved = {
        key: {
            "demos": data.draw(st.lists(st.dictionaries(st.sampled_from(names), values), max_size=3)),
            "signature": {
                "instructions": data.draw(WORDS),
                "fields": [{"prefix": data.draw(WORDS), "description": data.draw(WORDS)} for _ in names],
            },
        }
        for predictor in one.predictors
        for key, names in signatures_of(predictor).items()
    }
    state = read_state(as_bytes(saved), one)
    assert read_state(write_state(state, one), one) == state
    assert state.dropped == ()


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_inputs_are_accepted_exactly_when_they_fit_the_schema(data: st.DataObject) -> None:
    one = data.draw(manifests())
    values = st.recursive(
        SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2)
    )
    inputs = data.draw(st.fixed_dictionaries({field.name: values for field in one.inputs}))
    fits = jsonschema_rs.Draft202012Validator(one.input_schema).is_valid(inputs)
    try:
        taken = check_inputs(one, inputs)
    except ProgramInputsError:
        taken = {}
    assert taken == (inputs if fits else {})
