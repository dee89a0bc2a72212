"""Saved states: what is kept, dropped and refused."""

from __future__ import annotations

from typing import Any

import pytest

from dspy_programs.written import MANIFEST, STATE, as_bytes, manifest, state
from halflap.core.errors import ProgramBrokenError
from halflap.dspy.spec import read_manifest
from halflap.dspy.state import FieldText, State, read_state

PROGRAM = read_manifest(as_bytes(MANIFEST), name="triage")


def read(value: Any) -> State:
    return read_state(as_bytes(value), PROGRAM)


def problems(value: Any) -> tuple[str, ...]:
    with pytest.raises(ProgramBrokenError) as caught:
        read(value)
    return caught.value.problems


def spoilt(key: str, value: Any, predictor: str = "sort.predict") -> dict[str, Any]:
    given = state()
    given[predictor][key] = value
    return given


def test_a_state_is_read_as_dspy_saved_it() -> None:
    found = read(STATE)
    assert list(found.predictors) == ["sort.predict", "reply"]
    sort = found.predictors["sort.predict"]
    assert sort.instructions == "Sort it well."
    assert sort.demos == tuple(STATE["sort.predict"]["demos"])
    assert sort.fields is not None
    assert sort.fields[0] == FieldText("Message:", "What came.")
    assert found.predictors["reply"].fields is None
    assert found.dropped == ()


def test_a_clean_state_has_four_keys() -> None:
    for one in read(spoilt("lm", {"model": "openai/x"})).clean.values():
        assert set(one) == {"demos", "signature", "train", "traces"}


@pytest.mark.parametrize(
    ("kind", "keys"),
    [("Predict", ["self"]), ("ChainOfThought", ["predict"]), ("ReAct", ["react", "extract.predict"])],
)
def test_a_single_predictor_may_be_unnamed(kind: str, keys: list[str]) -> None:
    step = {
        **MANIFEST["predictors"][0],
        "kind": kind,
        **({"tools": ["mcp__a__b"]} if kind == "ReAct" else {}),
    }
    one = read_manifest(as_bytes(manifest(predictors=[step])), name="triage")
    alone = {key: {"demos": [], "signature": {"instructions": key}} for key in keys}
    named = {"sort" if key == "self" else f"sort.{key}": inner for key, inner in alone.items()}
    assert read_state(as_bytes(alone), one) == read_state(as_bytes(named), one)
    assert [state.instructions for state in read_state(as_bytes(alone), one).predictors.values()] == keys


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "it must be an object, not an empty list."),
        ({"reply": STATE["reply"]}, '"sort.predict" is missing: the manifest has such a predictor.'),
        (spoilt("demos", {}), "sort.predict.demos must be a list, not an object."),
        (
            spoilt("demos", ["x"]),
            'sort.predict.demos[0] must be an object with the values of fields, not "x".',
        ),
        (spoilt("demos", [{}] * 101), "sort.predict.demos has more than 100 demos."),
        (
            spoilt("demos", [{"message": "x" * 100_001}]),
            "sort.predict.demos[0] is longer than 100,000 characters.",
        ),
        (
            spoilt("demos", [{"augmented": "x"}]),
            'sort.predict.demos[0].augmented must be true or false, not "x".',
        ),
        (spoilt("train", 1), "sort.predict.train must be a list, not 1."),
        (
            spoilt("signature", None),
            "sort.predict.signature must be an object with instructions and fields, not null.",
        ),
        (
            spoilt("signature", {"instructions": 1}),
            "sort.predict.signature.instructions must be a text, not 1.",
        ),
        (
            spoilt("signature", {"fields": []}),
            "sort.predict.signature.fields has 0 fields, and the manifest 3: message, reasoning, topic.",
        ),
        (
            spoilt("signature", {"fields": [{"prefix": "a"}, 1, {"prefix": "a", "description": "b"}]}),
            "sort.predict.signature.fields[0].description must be a text, not null.",
        ),
    ],
)
def test_problems_are_reported_with_their_path(given: Any, told: str) -> None:
    assert f"state.json: {told}" in problems(given)
