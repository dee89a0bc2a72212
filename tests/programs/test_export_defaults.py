"""Defaults of a live module are those of what is written, and what `forward` leaves to a signature is left to it there, too."""

from __future__ import annotations

from typing import Any, Optional

import pydantic
import pytest

from halflap.errors import ProgramInputsError, UsageError
from halflap.programs.building import build_steps
from halflap.programs.export import describe
from halflap.programs.inputs import check_inputs
from halflap.programs.tracing import trace
from programs.test_export import Place, dspy, made_module, tools


class Mild(dspy.Signature):  # type: ignore[misc]
    """Answer mildly."""

    question: str = dspy.InputField()
    limit: Optional[int] = dspy.InputField(default=None)  # noqa: UP045  # as many write it
    tone: str = dspy.InputField(default="kind")
    reply: str = dspy.OutputField()


class Spot(dspy.Signature):  # type: ignore[misc]
    """Say where it is."""

    place: Place = dspy.InputField(default=Place(name="Rome", warmth=1))
    reply: str = dspy.OutputField()


def asked(module: Any, **inputs: Any) -> list[Any]:
    """Give what a live module asks the model."""
    return trace(module, inputs, {}, 7).prompts


def asked_as_written(manifest: Any, state: Any, **inputs: Any) -> list[Any]:
    built = build_steps(manifest.predictors, manifest.wiring, state, tools)
    return trace(built, check_inputs(manifest, inputs), {}, 7).prompts


def defaults(fields: Any) -> dict[str, Any]:
    return {one.name: one.schema["default"] for one in fields if "default" in one.schema}


@pytest.mark.parametrize("kind", ["Predict", "ChainOfThought"])
def test_the_defaults_of_a_steps_inputs_are_those_of_the_program(kind: str) -> None:
    live = getattr(dspy, kind)(Mild)
    manifest, state = describe(live, "mild", tool=tools)
    assert defaults(manifest.inputs) == {"limit": None, "tone": "kind"}
    for inputs in ({}, {"tone": "rude"}, {"limit": 3}):
        given = {"question": "q", **inputs}
        assert asked_as_written(manifest, state, **given) == asked(live, **given)


def test_a_default_that_is_a_model_is_written_as_what_is_in_it() -> None:
    live = dspy.Predict(Spot)
    manifest, state = describe(live, "spot", tool=tools)
    assert defaults(manifest.inputs)["place"] == {
        "name": "Rome",
        "warmth": 1.0,
        "sights": [],
        "country": None,
    }
    assert asked_as_written(manifest, state) == asked(live)
    short: dict[str, Any] = {"name": "Bern", "warmth": 1}
    assert asked_as_written(manifest, state, place=short) == asked(live, place=Place(**short))


def leaving(self: Any, question: str) -> Any:
    return self.answer(question=question)


def leaving_some(self: Any, question: str, tone: str = "rude") -> Any:
    return self.answer(question=question, tone=tone)


def saying_the_same(self: Any, question: str) -> Any:
    return self.answer(question=question, limit=None, tone="kind")


def without_default(self: Any, question: str, tone: str, limit: int | None) -> Any:
    return self.answer(question=question, tone=tone, limit=limit)


def of_two(self: Any, question: str, tone: str) -> Any:
    """The second is not given the tone that there is."""
    first = self.answer(question=question, tone=tone)
    return self.again(question=first.reply)


@pytest.mark.parametrize(
    ("forward", "own", "left"),
    [
        (leaving, {}, {"limit", "tone"}),
        (leaving_some, {"tone": "rude"}, {"limit"}),
        (saying_the_same, {}, {"limit", "tone"}),
        (without_default, {}, set()),
    ],
)
def test_what_forward_leaves_to_its_default_is_left_to_it(forward: Any, own: Any, left: set[str]) -> None:
    live = made_module(forward, answer=dspy.Predict(Mild))
    manifest, state = describe(live, "mild", tool=tools)
    assert defaults(manifest.inputs) == own
    (step,) = manifest.predictors
    assert defaults(step.inputs) == {"limit": None, "tone": "kind"}
    assert {one.name for one in step.inputs} - set(manifest.wiring.predictors[step.name]) == left
    given = {"question": "q", **({} if left else {"tone": "t", "limit": 4})}
    assert asked_as_written(manifest, state, **given) == asked(live, **given)


def test_what_is_left_to_its_default_is_not_filled_by_its_name() -> None:
    live = made_module(of_two, answer=dspy.Predict(Mild), again=dspy.ChainOfThought(Mild))
    manifest, state = describe(live, "mild", tool=tools)
    assert "tone" in manifest.wiring.predictors["answer"]
    assert "tone" not in manifest.wiring.predictors["again"]
    given = {"question": "q", "tone": "rude"}
    assert asked_as_written(manifest, state, **given) == asked(live, **given)


def test_a_default_that_does_not_fit_its_type_is_told_with_the_field() -> None:
    wrong = dspy.Predict(
        dspy.Signature({"count": (int, dspy.InputField(default="x")), "reply": (str, dspy.OutputField())})
    )
    with pytest.raises(UsageError, match=r"`wrong\.count` cannot be said.*its default does not fit its type"):
        describe(wrong, "wrong", tool=tools)


def odd_default(self: Any, question: str = object()) -> Any:  # type: ignore[assignment]
    return self.answer(question=question)


def test_a_default_of_forward_that_is_no_plain_value_is_told_with_its_name() -> None:
    live = made_module(odd_default, answer=dspy.Predict("question -> reply"))
    with pytest.raises(
        UsageError, match=r"the input `question` cannot be said.*its default is no plain value"
    ):
        describe(live, "odd", tool=tools)


class Open(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    name: str


class Shut(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    name: str


class Deaf(pydantic.BaseModel):
    name: str


@pytest.mark.parametrize(("kind", "takes"), [(Open, True), (Shut, False), (Deaf, False)])
def test_only_a_model_that_takes_further_values_is_given_some(kind: Any, takes: bool) -> None:
    signature = dspy.Signature({"q": (kind, dspy.InputField()), "reply": (str, dspy.OutputField())})
    manifest, state = describe(dspy.Predict(signature), "takes", tool=tools)
    given = {"name": "n", "junk": 1}
    if takes:
        assert asked_as_written(manifest, state, q=given) == asked(dspy.Predict(signature), q=kind(**given))
    else:
        with pytest.raises(ProgramInputsError, match=r"q\.junk: no such key"):
            check_inputs(manifest, {"q": given})
