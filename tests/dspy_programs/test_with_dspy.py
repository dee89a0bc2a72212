"""What we assume of DSPy without importing it, compared with DSPy itself."""

from __future__ import annotations

import inspect
import os
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.written import as_bytes, manifest
from halflap.dspy.fields import RESERVED
from halflap.dspy.manifest import read_manifest
from halflap.dspy.spec import _MODULE_NAMES, ADDED_FIELDS
from halflap.dspy.state import read_state, write_state

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dspy() -> Any:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    return pytest.importorskip("dspy", reason="needs halflap[dspy]; `make test` installs it")


def module(dspy: Any, *kinds: str) -> Any:
    """Make a module with one predictor of each kind, all over the same fields."""
    signature = dspy.Signature(
        {
            "message": (str, dspy.InputField()),
            "count": (int, dspy.InputField()),
            "topic": (str, dspy.OutputField()),
        },
        "Sort.",
    )

    def look(question: str) -> str:
        return question

    class Module(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            for kind in kinds:
                more = {"tools": [look]} if kind == "ReAct" else {}
                setattr(self, kind.lower(), getattr(dspy, kind)(signature, **more))

    return Module()


def described(*kinds: str) -> Any:
    fields = {
        "inputs": [{"name": "message"}, {"name": "count", "schema": {"type": "integer"}}],
        "outputs": [{"name": "topic"}],
    }
    steps = [
        {"name": kind.lower(), "kind": kind, "instructions": "Sort.", **fields}
        | ({"tools": ["mcp__a__look"]} if kind == "ReAct" else {})
        for kind in kinds
    ]
    return read_manifest(as_bytes(manifest(predictors=steps)), name="triage")


KINDS = ("Predict", "ChainOfThought", "ReAct")


def test_fields_match_dspy_in_order(dspy: Any) -> None:
    made = {key: tuple(one.signature.fields) for key, one in module(dspy, *KINDS).named_parameters()}
    said = {key: names for one in described(*KINDS).predictors for key, names in one.signatures.items()}
    assert said == made


def test_a_state_saved_by_dspy_is_read_whole(dspy: Any, tmp_path: Path) -> None:
    live = module(dspy, *KINDS)
    live.chainofthought.predict.demos = [dspy.Example(message="m", count=1, topic="t", augmented=True)]
    live.save(tmp_path / "state.json")
    found = read_state((tmp_path / "state.json").read_bytes(), described(*KINDS))
    assert found.dropped == ()
    demo = {"message": "m", "count": 1, "topic": "t", "augmented": True}
    assert found.clean["chainofthought.predict"]["demos"] == [demo]


def test_a_saved_state_can_be_loaded_by_dspy(dspy: Any, tmp_path: Path) -> None:
    live, told = module(dspy, *KINDS), described(*KINDS)
    live.predict.demos = [dspy.Example(message="m", count=1, topic="t")]
    live.save(tmp_path / "state.json")
    state = read_state((tmp_path / "state.json").read_bytes(), told)
    (tmp_path / "again.json").write_bytes(write_state(state, told))
    other = module(dspy, *KINDS)
    other.load(tmp_path / "again.json")
    assert other.dump_state() == live.dump_state()


def test_names_taken_by_dspy_are_reserved(dspy: Any) -> None:
    of_signatures = {name for name in dir(dspy.Signature) if not name.startswith(("_", "model_"))}
    of_calls = set(inspect.signature(dspy.Predict.load_state).parameters) & {"self"}
    assert of_signatures | of_calls <= RESERVED
    source = inspect.getsource(dspy.Predict._forward_preprocess) + inspect.getsource(dspy.ReAct.aforward)
    # What one of its functions hands on by keyword to another that has a parameter of that name.
    handed_on = {*inspect.signature(dspy.Predict._forward_postprocess).parameters} - {"kwargs"}
    assert handed_on <= RESERVED
    of_react = {*inspect.signature(dspy.ReAct._async_call_with_potential_trajectory_truncation).parameters}
    assert of_react - {"input_args"} <= RESERVED | {*ADDED_FIELDS["ReAct"]}
    popped = {name for name in RESERVED if f'pop("{name}"' in source or f'"{name}" in kwargs' in source}
    assert popped >= {"signature", "demos", "config", "lm", "prediction", "max_iters"}
    of_modules = {name for name in dir(module(dspy)) if not name.startswith("_")}
    assert of_modules <= _MODULE_NAMES
