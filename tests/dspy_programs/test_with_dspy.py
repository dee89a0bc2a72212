"""What we assume of DSPy without importing it, compared with DSPy itself."""

from __future__ import annotations

import inspect
import os
from typing import Any

import pytest

from dspy_programs.running import program
from dspy_programs.saved import field, predictor
from halflap.dspy.spec import ADDED_FIELDS, RESERVED

pytestmark = pytest.mark.slow
KINDS = ("Predict", "ChainOfThought", "ReAct")
FIELDS = [field("message"), field("count", "integer")], [field("topic")]
TRIAGE = program(
    "triage",
    predictors=[
        predictor(kind.lower(), *FIELDS, kind, **({"tools": ["mcp__a__look"]} if kind == "ReAct" else {}))
        for kind in KINDS
    ],
).spec


@pytest.fixture(scope="module")
def dspy() -> Any:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    return pytest.importorskip("dspy", reason="needs halflap[dspy]; `make test` installs it")


def module(dspy: Any) -> Any:
    """Make a module with one predictor of each kind, all over the same fields."""
    inputs = {"message": (str, dspy.InputField()), "count": (int, dspy.InputField())}
    signature = dspy.Signature({**inputs, "topic": (str, dspy.OutputField())}, "Sort.")

    class Module(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.predict = dspy.Predict(signature)
            self.chainofthought = dspy.ChainOfThought(signature)
            self.react = dspy.ReAct(signature, tools=[len])

    return Module()


def test_fields_match_dspy_in_order(dspy: Any) -> None:
    live = {key: tuple(one.signature.fields) for key, one in module(dspy).named_parameters()}
    assert {key: names for one in TRIAGE.predictors for key, names in one.signatures.items()} == live


def test_names_taken_by_dspy_are_reserved(dspy: Any) -> None:
    source = inspect.getsource(dspy.Predict._forward_preprocess) + inspect.getsource(dspy.ReAct.aforward)
    popped = {name for name in RESERVED if f'pop("{name}"' in source or f'"{name}" ' in source}
    assert popped >= {"signature", "demos", "config", "lm", "new_signature", "prediction", "max_iters"}
    properties = inspect.getmembers(type(dspy.Signature), lambda member: isinstance(member, property))
    assert {name for name, _ in properties if not name.startswith("_")} <= RESERVED
    passed_on = {*inspect.signature(dspy.Predict._forward_postprocess).parameters} - {"kwargs"}
    assert passed_on <= RESERVED
    of_react = {*inspect.signature(dspy.ReAct._async_call_with_potential_trajectory_truncation).parameters}
    assert of_react - {"input_args"} <= RESERVED | {*ADDED_FIELDS["ReAct"]}
