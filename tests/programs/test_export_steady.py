"""What `forward` puts into a step while it runs is not written as if the step had always had it."""

from __future__ import annotations

import time
from typing import Any

import pytest

from halflap.errors import UsageError
from halflap.programs.export import describe
from programs.test_export import dspy, made_module, tools


def setting_demos(self: Any, question: str) -> Any:
    self.answer.demos = [{"question": "z", "reply": "w"}]
    return self.answer(question=question)


def adding_demos(self: Any, question: str) -> Any:
    self.answer.demos = [*self.answer.demos, {"question": "turn", "reply": "more"}]
    return self.answer(question=question)


def learning(self: Any, question: str) -> Any:
    found = self.answer(question=question)
    self.answer.demos.append({"question": question, "reply": found.reply})
    return found


def telling_the_time(self: Any, question: str) -> Any:
    self.answer.signature = self.answer.signature.with_instructions("At " + time.strftime("%H:%M"))
    return self.answer(question=question)


def renaming(self: Any, question: str) -> Any:
    self.answer.signature = self.answer.signature.with_updated_fields("reply", desc="in brief")
    return self.answer(question=question)


def for_a_while(self: Any, question: str) -> Any:
    before = self.answer.demos
    self.answer.demos = [{"question": "z", "reply": "w"}]
    found = self.answer(question=question)
    self.answer.demos = before
    return found


def by_name(self: Any, question: str) -> Any:
    setattr(self.answer, "demos", [])  # noqa: B010  # as some write it
    return self.answer(question=question)


def _teach(step: Any) -> None:
    step.demos.clear()
    step.demos.append({"question": "z", "reply": "w"})


def by_another(self: Any, question: str) -> Any:
    _teach(self.answer)
    return self.answer(question=question)


@pytest.mark.parametrize(
    ("forward", "part"),
    [
        (setting_demos, "demos"),
        (adding_demos, "demos"),
        (learning, "demos"),
        (telling_the_time, "instructions"),
        (renaming, "signature"),
        (for_a_while, "demos"),
        (by_name, "demos"),
        (by_another, "demos"),
    ],
)
def test_a_step_that_is_changed_while_it_runs_is_refused_and_left_as_it_was(forward: Any, part: str) -> None:
    step = dspy.Predict("question -> reply")
    signature = step.signature
    step.demos = [{"question": "first", "reply": "one"}]
    with pytest.raises(UsageError, match=rf"the {part} of `answer` (is|are) changed while it runs"):
        describe(made_module(forward, answer=step), "changing", tool=tools)
    assert step.demos == [{"question": "first", "reply": "one"}]
    assert step.signature is signature


def within(self: Any, question: str) -> Any:
    self.answer.predict.demos = [{"question": "z", "reply": "w"}]
    return self.answer(question=question)


def exchanging(self: Any, question: str) -> Any:
    self.answer.predict = dspy.Predict(self.answer.predict.signature)
    return self.answer(question=question)


@pytest.mark.parametrize(("forward", "part"), [(within, "demos"), (exchanging, "predict")])
def test_a_step_is_looked_at_with_all_that_is_in_it(forward: Any, part: str) -> None:
    line = forward.__code__.co_firstlineno + 1
    with pytest.raises(UsageError, match=rf": line {line}: the {part} of `answer`"):
        describe(made_module(forward, answer=dspy.ChainOfThought("question -> reply")), "inside", tool=tools)


@pytest.mark.parametrize(
    ("forward", "after"),
    [(setting_demos, 1), (learning, 2), (telling_the_time, 1), (by_name, 1), (by_another, None)],
)
def test_the_line_is_told_where_the_source_shows_it(forward: Any, after: int | None) -> None:
    line = (_teach.__code__.co_firstlineno + 1) if after is None else forward.__code__.co_firstlineno + after
    with pytest.raises(UsageError, match=rf": line {line}: the \w+ of `answer`"):
        describe(made_module(forward, answer=dspy.Predict("question -> reply")), "changing", tool=tools)


def reading(self: Any, question: str) -> Any:
    _ = (self.answer.demos, self.answer.signature.instructions)
    return self.answer(question=question)


@pytest.mark.parametrize("several", [list, tuple])
def test_a_step_that_is_only_looked_at_is_written(several: Any) -> None:
    step = dspy.Predict("question -> reply")
    step.demos = several([dspy.Example(question="q", reply="r")])
    _, state = describe(made_module(reading, answer=step), "fine", tool=tools)
    assert [dict(one) for one in state.predictors["answer"].demos] == [{"question": "q", "reply": "r"}]
