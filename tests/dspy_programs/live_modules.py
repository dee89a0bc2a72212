"""Live DSPy modules that are exported, or refused with a reason. Imports DSPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import dspy
import pydantic

if TYPE_CHECKING:
    from collections.abc import Callable


class Place(pydantic.BaseModel):
    """Somewhere."""

    name: str
    warmth: float = pydantic.Field(ge=0, le=1, description="How warm")
    sights: list[str] = []  # pydantic makes one for each
    country: str | None = None


class Find(dspy.Signature):  # type: ignore[misc]  # DSPy has no types
    question: str = dspy.InputField()
    budget: int = dspy.InputField()
    near: list[Place] = dspy.InputField()
    places: list[Place] = dspy.OutputField()


class Judge(dspy.Signature):  # type: ignore[misc]
    """Judge a place.

    Be honest.
    """

    question: str = dspy.InputField(desc="What was asked")
    places: list[Place] = dspy.InputField()
    mood: Literal["good", "bad"] = dspy.OutputField()
    sure: float = dspy.OutputField(le=1, ge=0, desc="How sure")
    counts: dict[str, int] = dspy.OutputField()


class Travel(dspy.Module):  # type: ignore[misc]
    """Finds a place and judges it."""

    def __init__(self) -> None:
        super().__init__()
        self.find = dspy.ChainOfThought(Find)
        self.judge = dspy.Predict(Judge)

    def forward(self, question: str, near: list[Place], budget: int = 3) -> Any:
        assert all(place.name for place in near)
        found = self.find(question=question, near=near, budget=budget)
        judged = self.judge(question=question, places=found.places)
        return dspy.Prediction(mood=judged.mood, sure=judged.sure, why=found.reasoning)


def travel() -> Any:
    module = Travel()
    place = Place(name="Rome", warmth=0.9)
    module.judge.demos = [
        dspy.Example(question="Where?", places=[place], mood="good", sure=0.9, counts={"a": 1}),
        {"question": "And?", "mood": "bad"},
    ]
    module.find.predict.signature = module.find.predict.signature.with_instructions("Find it, quickly.")
    return module


def made(forward: Callable[..., Any], answer: Any = None) -> Any:
    class Made(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.answer = answer or dspy.Predict("question -> reply")

    Made.forward = forward
    return Made()


def changed(self: Any, question: str) -> Any:
    return dspy.Prediction(reply=self.answer(question=question).reply + "!")


REFUSED: list[tuple[Callable[[], Any], str]] = [
    (lambda: made(lambda self, question: self.answer(question=question.strip())), "its prompt would differ"),
    (lambda: made(changed), "return other values"),
    (travel, "returns no field 'counts'.*--wiring"),
    (lambda: made(changed, [dspy.Predict("question -> reply")]), "no lists"),
    (lambda: dspy.BestOfN(dspy.Predict("question -> reply"), 2, len, 1.0), "sample values"),
    (lambda: dspy.Predict("question, picture: dspy.Image -> reply"), "Image"),
    (lambda: dspy.ReAct("question -> reply", [len]), "len, which is not in the catalogue"),
    (lambda: dspy.Predict("question -> reply", temperature=0.5), r"programs\.lm"),
    (lambda: dspy.Predict("config -> reply"), '"config" is reserved'),
]
