"""Modules that do something with values on their way are not written: the values notice it, whatever it is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from halflap.errors import UsageError
from halflap.programs.export import describe
from programs.test_export import Judge, Place, dspy, made_module, tools

if TYPE_CHECKING:
    from collections.abc import Callable


def guarding(self: Any, question: str) -> Any:
    assert re.fullmatch("(?s).*", question)
    return self.answer(question=question)


def joined(self: Any, question: str) -> Any:
    return self.answer(question=str.join("", [question]))


def replaced(self: Any, question: str) -> Any:
    return self.answer(question=question.replace("ssn", "***"))


def _clean(text: str) -> str:
    return text if "<" not in text else "blocked"


def cleaned(self: Any, question: str) -> Any:
    return self.answer(question=_clean(question))


def looked_up(self: Any, question: str) -> Any:
    return self.answer(question={"x": "y"}.get(question, question))


def _search(text: str) -> str:
    """A search by `re` looks at the letters without asking the text."""
    return "blocked" if re.search("ssn", text) else text


def searched(self: Any, question: str) -> Any:
    return self.answer(question=_search(question))


NUMBER = re.compile(r"\b\d{3}-\d{2}-\d{4}\b")


def matched(self: Any, question: str) -> Any:
    return self.answer(question=(question, "blocked")[NUMBER.search(question) is not None])


def hidden(self: Any, question: str) -> Any:
    reply = self.answer(question=question).reply
    return dspy.Prediction(reply={True: "[hidden]"}.get(NUMBER.search(reply) is not None, reply))


def _without(text: str) -> str:
    return NUMBER.sub("", text)


def substituted(self: Any, question: str) -> Any:
    return self.answer(question=_without(question))


def capped(self: Any, count: int) -> Any:
    return self.answer(count=min(count, 10**12))


def ordered(self: Any, names: list[str]) -> Any:
    names.sort()
    return self.answer(names=names)


def keyed(self: Any, facts: dict[str, int]) -> Any:
    facts["more"] = 1
    return self.answer(facts=facts)


class Rate(dspy.Signature):  # type: ignore[misc]
    place: Place = dspy.InputField()
    reply: str = dspy.OutputField()


def _log(text: str) -> None:
    del text


def read(self: Any, place: Place) -> Any:
    _log(place.name)
    return self.answer(place=place)


def exiting(self: Any, question: str) -> Any:
    self.answer(question=question)
    raise SystemExit(3)


def _with_model() -> Any:
    step = dspy.Predict("question -> reply")
    step.lm = dspy.LM("openai/other", api_key="k")
    return step


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "joined": (lambda: made_module(joined), r"`Made\.forward` has a call of `str\.join`"),
    "matched": (lambda: made_module(matched), r"`Made\.forward` has a call of `NUMBER\.search`"),
    "hidden": (lambda: made_module(hidden), r"`Made\.forward` has a call of .*`NUMBER\.search`"),
    "substituted": (lambda: made_module(substituted), r"`_without` has a call of `NUMBER\.sub`"),
    "replaced": (lambda: made_module(replaced), r"`replaced` uses `question\.replace`"),
    "cleaned": (lambda: made_module(cleaned), r"`_clean` looks for something in `question`"),
    "looked up": (lambda: made_module(looked_up), r"`looked_up` looks `question` up"),
    "searched": (lambda: made_module(searched), r"line \d+: `_search` has an `if`"),
    "capped": (lambda: made_module(capped, answer=dspy.Predict("count: int -> reply")), r"`capped` compares `count`"),
    "sorted": (lambda: made_module(ordered, answer=dspy.Predict("names: list[str] -> reply")), r"`ordered` uses `names\.sort`"),
    "keyed": (lambda: made_module(keyed, answer=dspy.Predict("facts: dict[str, int] -> reply")), r"`keyed` changes `facts`"),
    "read": (lambda: made_module(read, answer=dspy.Predict(Rate)), r"`read` uses `place\.name`"),
    "exiting": (lambda: made_module(exiting), r"SystemExit: 3"),
    "model": (_with_model, r"`refused` has a model of its own \(openai/other\)"),
    "assert": (lambda: made_module(guarding), r"has an `assert`"),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_done_with_a_value_is_refused_with_what_it_was(what: str) -> None:
    make, told = REFUSED[what]
    with pytest.raises(UsageError, match=told):
        describe(make(), "refused", tool=tools)


def test_values_that_are_passed_on_by_other_functions_are_passed_on() -> None:
    class Asking(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.answer = dspy.Predict(Judge)

        async def aforward(self, question: str, places: list[Place]) -> Any:
            return await self._ask({"question": question, "places": places})

        async def _ask(self, given: dict[str, Any]) -> Any:
            found = await self.answer.acall(**given)
            return dspy.Prediction(mood=found["mood"], sure=found.get("sure"))

    manifest, _ = describe(Asking(), "asking", tool=tools)
    assert dict(manifest.wiring.outputs) == {"mood": "answer.mood", "sure": "answer.sure"}


class Loud(dspy.Predict):  # type: ignore[misc]
    def forward(self, **inputs: Any) -> Any:
        return super().forward(**{name: one.upper() for name, one in inputs.items()})


class Thinker(dspy.ChainOfThought):  # type: ignore[misc]
    def forward(self, question: str) -> Any:
        return super().forward(question=question)


class Titled(dspy.ChainOfThought):  # type: ignore[misc]
    """A name of one's own for a step, and nothing else."""

    def __init__(self) -> None:
        super().__init__("question -> reply")


def plain(self: Any, question: str) -> Any:
    return self.answer(question=question)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize(("kind", "base"), [(Loud, "Predict"), (Thinker, "ChainOfThought")])
def test_a_step_with_code_of_its_own_is_refused_as_that(kind: Any, base: str, *, within: bool) -> None:
    step = kind("question -> reply")
    module = made_module(plain, answer=step) if within else step
    named = "`answer`" if within else "it"
    with pytest.raises(
        UsageError,
        match=rf"{named} is a {kind.__name__}, a {base} with code of its own \(`forward`, line \d+\)",
    ) as caught:
        describe(module, "refused", tool=lambda _: None)
    assert f"a dspy.{base} as an attribute" in str(caught.value)
    assert "no step" not in str(caught.value)


@pytest.mark.parametrize("within", [False, True])
def test_a_step_that_has_only_a_name_of_its_own_is_that_step(*, within: bool) -> None:
    module = made_module(plain, answer=Titled()) if within else Titled()
    manifest, _ = describe(module, "titled", tool=lambda _: None)
    assert [one.kind for one in manifest.predictors] == ["ChainOfThought"]


def untyped(self: Any, count, spots):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    return self.answer(count=count, places=spots)


def untyped_sum(self: Any, count):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    return self.answer(count=count + 1)


def untyped_other(self: Any, number):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    return self.answer(count=number.bit_length())


def test_parameters_without_types_are_of_the_types_of_the_steps_that_take_them() -> None:
    """Also where only the run shows which step that is."""
    made = made_module(untyped, answer=dspy.Predict("count: int, places: list[int] -> reply"))
    manifest, _ = describe(made, "untyped", tool=lambda _: None)
    assert [dict(one.schema) for one in manifest.inputs] == [
        {"type": "integer"},
        {"type": "array", "items": {"type": "integer"}},
    ]
    step = dspy.Predict("count: int -> reply")
    with pytest.raises(UsageError, match=r"`untyped_sum` calculates with `count`") as caught:
        describe(made_module(untyped_sum, answer=step), "refused", tool=lambda _: None)
    assert "TypeError" not in str(caught.value), "it was run on a number"
    with pytest.raises(UsageError, match=r"AttributeError.*`number` was given text: `forward` says no type"):
        describe(made_module(untyped_other, answer=step), "refused", tool=lambda _: None)


class Parent(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.answer = dspy.Predict("question -> reply")

    def forward(self, question: str) -> Any:
        found = self.answer(question=question)
        return found if self.answer.demos is not None else None


class Child(Parent):
    """Has what it runs from a class of the user's own."""


def test_what_a_class_inherits_is_looked_at_as_well() -> None:
    with pytest.raises(UsageError, match=r"line \d+: `Child.forward` has an `if`"):
        describe(Child(), "refused", tool=lambda _: None)
