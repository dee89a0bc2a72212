"""Modules as people write them: their wiring is what a run of them shows, whatever names and lists their code is written with."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from halflap.errors import UsageError
from halflap.programs.export import describe
from programs.test_export import dspy, made_module, tools

if TYPE_CHECKING:
    from collections.abc import Callable


class Several(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.steps = [dspy.Predict("text -> better"), dspy.Predict("text -> better")]
        self.named = {"last": dspy.ChainOfThought("text -> best")}


class Indexed(Several):
    def forward(this, q: str) -> Any:  # noqa: N805  # whatever it is called
        return this.named["last"](text=this.steps[1](text=this.steps[0](text=q).better).better)


class Looping(Several):
    def forward(s, q: str) -> Any:  # noqa: N805
        text = q
        for _, step in enumerate(s.steps):
            text = step(text=text).better
        for last in s.named.values():
            found = last(text=text)
        return found


class Numbered(Several):
    def forward(self, q: str) -> Any:
        text = q
        for at in range(len(self.steps)):
            text = self.steps[at](text=text).better
        (last,) = [one(text=text) for one in self.named.values()]
        return last


@pytest.mark.parametrize("kind", [Indexed, Looping, Numbered])
def test_steps_in_lists_and_dicts_are_wired_as_they_ran(kind: Any) -> None:
    manifest, _ = describe(kind(), "several", tool=tools)
    assert {name: dict(one) for name, one in manifest.wiring.predictors.items()} == {
        "steps_0": {"text": "inputs.q"},
        "steps_1": {"text": "steps_0.better"},
        "named_last": {"text": "steps_1.better"},
    }
    assert dict(manifest.wiring.outputs) == {"best": "named_last.best"}


class Base(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = dspy.Predict("q -> a")

    def forward(self, q: str) -> Any:
        return self.first(q=q)


class Derived(Base):
    def __init__(self) -> None:
        super().__init__()
        self.second = dspy.Predict("a -> b")

    def forward(self, q: str) -> Any:
        found = super().forward(q=q)
        return self.second(a=found.a)


class Guarded(Base):
    def forward(self, q: str) -> Any:
        return self.first(q=q) if re.search("x", q) is None else None


class OfGuarded(Guarded):
    def forward(self, q: str) -> Any:
        return super().forward(q=q)


def test_what_a_class_calls_of_the_one_that_it_is_made_from_is_part_of_it() -> None:
    manifest, _ = describe(Derived(), "derived", tool=tools)
    assert dict(manifest.wiring.predictors["second"]) == {"a": "first.a"}
    with pytest.raises(UsageError, match=r"line \d+: `forward` has an `if`"):
        describe(OfGuarded(), "refused", tool=tools)


class BothWays(Several):
    def forward(self, q: str) -> Any:
        text = q
        for step in self.steps:
            text = step(text=text).better
        return self.named["last"](text=text)

    async def aforward(self, q: str) -> Any:
        text = q
        for step in self.steps:
            found = await step.acall(text=text)
            text = found.better
        return await self.named["last"].acall(text=text)


class OtherWay(BothWays):
    async def aforward(self, q: str) -> Any:
        await self.steps[0].acall(text=q)
        found = await self.steps[1].acall(text=q)
        return await self.named["last"].acall(text=found.better)


class OtherOrder(BothWays):
    async def aforward(self, q: str) -> Any:
        found = await self.steps[1].acall(text=q)
        found = await self.steps[0].acall(text=found.better)
        return await self.named["last"].acall(text=found.better)


class OtherModel(BothWays):
    async def aforward(self, q: str) -> Any:
        with dspy.context(lm=dspy.LM("openai/strong")):
            return await super().aforward(q)


class Around(dspy.Module):  # type: ignore[misc]
    """Runs only one of the two."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = BothWays()

    def forward(self, q: str) -> Any:
        return self.inner(q=q)


class Awaited(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = dspy.Predict("q -> a")

    async def aforward(self, q: str) -> Any:
        return await self.first.acall(q=q)


class OfAwaited(Awaited):
    pass


def test_a_module_that_can_be_awaited_as_well_is_run_both_ways() -> None:
    manifest, _ = describe(BothWays(), "both", tool=tools)
    assert dict(manifest.wiring.predictors["named_last"]) == {"text": "steps_1.better"}
    assert len(describe(Around(), "around", tool=tools)[0].predictors) == 3
    assert len(describe(OfAwaited(), "awaited", tool=tools)[0].predictors) == 1


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        (OtherWay, "`forward` and `aforward` pass on values in different ways"),
        (OtherOrder, "`forward` and `aforward` run different steps, or not in the same order"),
        (OtherModel, r"line \d+: `steps_0` is run with DSPy settings of its own \(lm: openai/strong\)"),
    ],
)
def test_a_module_that_does_something_else_when_it_is_awaited_is_refused(kind: Any, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        describe(kind(), "refused", tool=tools)


PATTERN = re.compile("ssn")
LETTER = re.compile("(?s).")
search = PATTERN.search


def searching(self: Any, question: str) -> Any:
    return self.answer(question=(question, "blocked")[self.pattern.search(question) is not None])


def searching_by_name(self: Any, question: str) -> Any:
    return self.answer(question=(question, "blocked")[search(question) is not None])


def replacing(self: Any, question: str) -> Any:
    LETTER.sub(lambda found: found.group().upper(), question)
    return self.answer(question=question)


def _pick(given: dict[str, Any]) -> Any:
    return (given["question"], "blocked")[PATTERN.search(given["question"]) is not None]


def picking(self: Any, question: str) -> Any:
    return self.answer(question=_pick({"question": question}))


def filtering(self: Any, question: str) -> Any:
    (found,) = [one(question=question) for one in self.steps if one.demos is not None]
    return found


def kept_in_list(self: Any, question: str) -> Any:
    for one in [question]:
        found = self.answer(question=one)
    return found


def once(**more: Any) -> dict[str, Any]:
    return {"answer": dspy.Predict("question -> reply"), **more}


@pytest.mark.parametrize(
    ("forward", "steps", "told"),
    [
        (searching, {"pattern": PATTERN}, r"a call of `self\.pattern\.search`, which may look at values"),
        (searching_by_name, {}, r"a call of `search`"),
        (replacing, {}, r"a call of `LETTER\.sub`"),
        (picking, {}, r"`_pick` has a call of `PATTERN\.search`"),
        (filtering, {"steps": [dspy.Predict("question -> reply")]}, r"has a loop"),
        (kept_in_list, {}, r"has a loop"),
    ],
)
def test_what_no_run_can_prove_is_refused_once_each(forward: Any, steps: dict[str, Any], told: str) -> None:
    module = made_module(forward, **once(**steps))
    with pytest.raises(UsageError, match=told) as caught:
        describe(module, "refused", tool=tools)
    lines = str(caught.value).splitlines()
    assert len(lines) == len(set(lines))
    assert len(re.findall(told, str(caught.value))) == 1


class Hearing(dspy.utils.callback.BaseCallback):  # type: ignore[misc]
    pass


def other_model(self: Any, question: str) -> Any:
    with dspy.context(lm=dspy.LM("openai/strong", temperature=0.9, api_key="sk-secret")):
        return self.answer(question=question)


def same_model_otherwise(self: Any, question: str) -> Any:
    with dspy.context(lm=dspy.settings.lm.copy(temperature=0.9)):
        return self.answer(question=question)


def changed_model(self: Any, question: str) -> Any:
    dspy.settings.lm.kwargs["temperature"] = 0.9
    return self.answer(question=question)


def no_model(self: Any, question: str) -> Any:
    with dspy.context(lm=None):
        return self.answer(question=question)


def other_adapter(self: Any, question: str) -> Any:
    with dspy.context(adapter=dspy.JSONAdapter()):
        return self.answer(question=question)


def other_callbacks(self: Any, question: str) -> Any:
    with dspy.context(callbacks=[Hearing()]):
        return self.answer(question=question)


def setting_of_anybody(self: Any, question: str) -> Any:
    with dspy.context(num_threads=3):
        return self.answer(question=question)


def set_on_the_way(self: Any, question: str) -> Any:
    self.set_lm(dspy.LM("openai/strong"))
    found = self.answer(question=question)
    self.set_lm(None)
    return found


def given_settings(self: Any, question: str) -> Any:
    return self.answer(question=question, config={"temperature": 0.9})


def for_all(self: Any, question: str) -> Any:
    # As `dspy.configure` does it, whichever thread may call that.
    from dspy.dsp.utils.settings import main_thread_config  # noqa: PLC0415

    main_thread_config["num_threads"] = 5
    return self.answer(question=question)


OF_ITS_OWN = r"line \d+: `answer` is run with DSPy settings of its own"
APART: list[tuple[Callable[..., Any], str]] = [
    (other_model, rf"{OF_ITS_OWN} \(lm: openai/strong, temperature 0\.9\): .*`programs\.lm`"),
    (same_model_otherwise, rf"{OF_ITS_OWN} \(lm: temperature 0\.9\)"),
    (changed_model, r"`answer` is run with settings of the model of its own \(temperature\)"),
    (no_model, rf"{OF_ITS_OWN} \(lm\)"),
    (other_adapter, rf"{OF_ITS_OWN} \(adapter: JSONAdapter\)"),
    (other_callbacks, rf"{OF_ITS_OWN} \(callbacks\)"),
    (setting_of_anybody, rf"{OF_ITS_OWN} \(num_threads: 3\)"),
    (set_on_the_way, r"`answer` is given a model of its own \(lm: openai/strong\)"),
    (given_settings, r"`answer` is run with settings of the model of its own \(temperature\)"),
    (for_all, r"it changes DSPy's settings for all \(num_threads: 5\)"),
]


@pytest.mark.parametrize(("forward", "told"), APART, ids=[one.__name__ for one, _ in APART])
def test_what_is_in_force_at_a_step_and_not_around_it_is_refused_as_that(forward: Any, told: str) -> None:
    with pytest.raises(UsageError, match=f"'refused': {told}") as caught:
        describe(made_module(forward), "refused", tool=tools)
    assert "sk-secret" not in str(caught.value)
    assert "\n" not in str(caught.value), "one reason, told once"
    assert dspy.settings.num_threads == 8


def test_callbacks_of_a_step_are_refused() -> None:
    step = dspy.Predict("question -> reply", callbacks=[Hearing()])
    with pytest.raises(UsageError, match="has callbacks of its own"):
        describe(step, "refused", tool=tools)
    assert len(step.callbacks) == 1


def test_a_module_is_left_as_it_was() -> None:
    module = Derived()
    describe(module, "derived", tool=tools)
    assert (module.first.callbacks, module.second.callbacks) == ([], [])
