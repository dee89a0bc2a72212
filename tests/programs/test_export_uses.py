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
