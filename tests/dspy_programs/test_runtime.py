"""Running programs with real DSPy and a scripted model over HTTP."""

from __future__ import annotations

import asyncio
import json
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.chat_server import Answer, Asked, chatting
from dspy_programs.chat_server import said as said_as_fields
from dspy_programs.running import KEY, QUESTION, Tools, configured, echo, of_type, predictor, runtime, stored
from halflap.config import ProgramsConfig
from halflap.core.errors import (
    ProgramFailedError,
    ProgramInputsError,
    ToolRefusedError,
)
from halflap.core.values import CallContext, Result
from halflap.dspy.library import Library
from halflap.dspy.samples import sample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

pytestmark = pytest.mark.slow

pytest.importorskip("dspy", reason="needs the extra: pip install 'halflap[dspy]'")


def react(asked: Asked) -> dict[str, Any]:
    """Ask for the weather once, then finish."""
    if "next_tool_name" not in asked.wanted:
        return {"reasoning": "I asked.", "reply": asked.inputs["observation_0"]}
    if "observation_0" in asked.last:
        return {"next_thought": "Enough.", "next_tool_name": "finish", "next_tool_args": {}}
    return {
        "next_thought": "Ask.",
        "next_tool_name": "mcp__desk__weather",
        "next_tool_args": {"city": "Rome"},
    }


class TestWhatIsAsked:
    def test_a_program_returns_what_the_model_answers(self, run: Callable[..., Any], tmp_path: Path) -> None:
        async def story() -> None:
            with chatting(lambda _: {"reply": "In Rome."}) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    outcome = await programs.execute(stored(), QUESTION, CallContext())
            assert outcome.outputs == {"reply": "In Rome."}
            assert not outcome.cache_hit
            assert 0 < outcome.execution_time_ms <= outcome.total_time_ms
            (asked,) = model.requests
            assert asked.headers["authorization"] == f"Bearer {KEY}"
            assert asked.body["model"] == "tiny"
            assert asked.inputs == QUESTION

        run(story())

    def test_demos_and_instructions_of_the_state_are_in_the_prompt(
        self, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        texts = [{"prefix": "Q:", "description": "a riddle"}, {"prefix": "A:", "description": "its answer"}]
        state = {
            "answer": {
                "demos": [{"augmented": True, "question": "Two and two?", "reply": "Four."}],
                "signature": {"instructions": "Solve the riddle.", "fields": texts},
                "train": [],
                "traces": [],
            }
        }

        async def story() -> None:
            with chatting(echo) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    await programs.execute(stored(state=state), QUESTION, CallContext())
            system, question, answer, now = model.requests[0].messages
            assert "Solve the riddle." in system["content"]
            assert "a riddle" in system["content"]
            assert "Answer the question." not in system["content"]
            assert "Two and two?" in question["content"]
            assert "Four." in answer["content"]
            assert "Where is it warm?" in now["content"]

        run(story())

    def test_steps_are_fed_as_wired(self, run: Callable[..., Any], tmp_path: Path) -> None:
        second = predictor(
            "judge", "ChainOfThought", inputs=[{"name": "claim"}], outputs=[of_type("sure", "number")]
        )
        program = stored(
            predictors=[predictor(), second],
            outputs=[{"name": "reply"}, {"name": "why"}, of_type("sure", "number")],
            wiring={
                "predictors": {"judge": {"claim": "answer.reply"}},
                "outputs": {"reply": "answer.reply", "why": "judge.reasoning", "sure": "judge.sure"},
            },
        )

        def answer(asked: Asked) -> dict[str, Any]:
            return {"reply": "In Rome."} if "reply" in asked.wanted else {"reasoning": "South.", "sure": 0.5}

        async def story() -> None:
            with chatting(answer) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    outcome = await programs.execute(program, QUESTION, CallContext())
            assert outcome.outputs == {"reply": "In Rome.", "why": "South.", "sure": 0.5}
            assert [one.inputs for one in model.requests] == [QUESTION, {"claim": "In Rome."}]

        run(story())

    def test_outputs_of_every_type_become_plain_json(self, run: Callable[..., Any], tmp_path: Path) -> None:
        place = {
            "type": "object",
            "title": "Place",
            "properties": {"kind": {"type": "string"}, "km": {"type": "integer"}, "note": {"type": "string"}},
            "required": ["kind", "km"],
        }
        outputs = [
            {"name": "places", "schema": {"type": "array", "items": place}},
            {"name": "mood", "schema": {"enum": ["good", "bad", 3, None]}},
            {"name": "count", "schema": {"type": ["integer", "null"]}},
            of_type("warm", "boolean"),
            {"name": "more", "schema": {"type": "object", "additionalProperties": {"type": "number"}}},
        ]
        given = {
            "places": [{"kind": "city", "km": 12}, {"kind": "sea", "km": 3, "note": "far"}],
            "mood": "good",
            "count": None,
            "warm": True,
            "more": {"a": 1.5},
        }

        async def story() -> None:
            with chatting(lambda _: given) as model:
                for adapter in ("chat", "json"):
                    config = configured(model.url, adapter=adapter)
                    async with runtime(config, tmp_path) as programs:
                        program = stored(predictors=[predictor(outputs=outputs)])
                        outcome = await programs.execute(program, QUESTION, CallContext())
                    assert json.loads(json.dumps(outcome.outputs)) == given
                assert [one.wants_json for one in model.requests] == [False, True]

        run(story())


class TestChecks:
    @pytest.mark.parametrize(
        ("inputs", "told"),
        [({}, "question"), ({"question": 1}, "question"), ({**QUESTION, "lm": "x"}, "lm")],
    )
    def test_inputs_that_do_not_fit_are_refused_before_the_model_is_asked(
        self, inputs: dict[str, Any], told: str, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        async def story() -> None:
            with chatting(echo) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    with pytest.raises(ProgramInputsError, match=told):
                        await programs.execute(stored(), inputs, CallContext())
                assert model.count == 0

        run(story())

    def test_an_answer_outside_the_schema_is_refused_and_not_cached(
        self, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        program = stored(predictors=[predictor(outputs=[of_type("sure", "number", minimum=0, maximum=1)])])

        async def story() -> None:
            with chatting(lambda _: {"sure": 7}) as model:
                async with runtime(configured(model.url), tmp_path) as programs:
                    with pytest.raises(ProgramFailedError, match="sure"):
                        await programs.execute(program, QUESTION, CallContext())
                    model.answer = lambda _: {"sure": 0.7}
                    assert (await programs.execute(program, QUESTION, CallContext())).outputs == {"sure": 0.7}

        run(story())

    def test_without_a_model_the_setting_is_named(self, run: Callable[..., Any], tmp_path: Path) -> None:
        async def story() -> None:
            async with runtime(ProgramsConfig(), tmp_path) as programs:
                with pytest.raises(ProgramFailedError, match=r"programs:\n  lm:"):
                    await programs.execute(stored(), QUESTION, CallContext())

        run(story())


class TestTools:
    program = staticmethod(
        lambda: stored(
            predictors=[predictor("plan", "ReAct", tools=["mcp__desk__weather"], max_iterations=3)]
        )
    )

    def test_tools_are_called_for_the_caller(self, run: Callable[..., Any], tmp_path: Path) -> None:
        tools = Tools(answer="31 degrees")

        async def story() -> None:
            deadline = asyncio.get_running_loop().time() + 200
            context = CallContext("alice", "run-1", "parent-1", deadline, 1, frozenset({"mcp__desk__mail"}))
            with chatting(react) as model:
                async with runtime(configured(model.url), tmp_path, tools) as programs:
                    outcome = await programs.execute(self.program(), QUESTION, context)
            assert "31 degrees" in outcome.outputs["reply"]
            ((name, arguments, given),) = tools.called
            assert (name, arguments) == ("mcp__desk__weather", {"city": "Rome"})
            assert given == replace(context, depth=2)
            assert "Does mcp__desk__weather." in model.requests[0].messages[0]["content"]

        run(story())

    @pytest.mark.parametrize(
        ("answer", "told"),
        [
            (ToolRefusedError("Not without the person's word."), "Error: Not without the person's word."),
            (
                Result(content=({"type": "text", "text": "No such city"},), is_error=True),
                "Error: No such city",
            ),
            (Result(structured_content={"warm": True}, has_structured_content=True), '{"warm": true}'),
        ],
    )
    def test_the_result_of_a_call_is_an_observation(
        self, answer: Any, told: str, run: Callable[..., Any], tmp_path: Path
    ) -> None:
        async def story() -> None:
            with chatting(react) as model:
                async with runtime(configured(model.url), tmp_path, Tools(answer=answer)) as programs:
                    outcome = await programs.execute(self.program(), QUESTION, CallContext())
            assert told in outcome.outputs["reply"]
            assert "Traceback" not in outcome.outputs["reply"]
            assert not model.failures

        run(story())

    def test_cancelling_ends_the_program(self, run: Callable[..., Any], tmp_path: Path) -> None:
        begun = asyncio.Event()

        async def call(*_: Any) -> Result:
            begun.set()
            await asyncio.sleep(1_000)
            raise AssertionError

        async def story() -> None:
            tools = Tools()
            tools.call = call  # type: ignore[method-assign, assignment]
            with chatting(react) as model:
                async with runtime(configured(model.url), tmp_path, tools) as programs:
                    task = asyncio.create_task(programs.execute(self.program(), QUESTION, CallContext()))
                    await begun.wait()
                    task.cancel()
                    with pytest.raises(asyncio.CancelledError):
                        await task
            assert model.count == 1

        run(story())


class TestConcurrency:
    def test_concurrent_executions_do_not_mix(self, run: Callable[..., Any], tmp_path: Path) -> None:
        program = stored(predictors=[predictor("plan", "ReAct", tools=["mcp__desk__weather"])])

        def answer(asked: Asked) -> Answer:
            said = react(asked)
            if "next_tool_args" in said:
                said["next_tool_args"] = {"city": asked.inputs["question"]} if said["next_tool_args"] else {}
            return Answer(said_as_fields(said), delay=0.02)

        tools = Tools(answer=lambda _, arguments: f"weather of {arguments['city']}")

        async def story() -> None:
            with chatting(answer) as model:
                async with runtime(configured(model.url), tmp_path, tools) as programs:
                    await programs.execute(program, {"question": "city 0"}, CallContext("user 0"))
                    outcomes = await asyncio.gather(
                        *(
                            programs.execute(program, {"question": f"city {n}"}, CallContext(f"user {n}"))
                            for n in range(20)
                        )
                    )
            for number, outcome in enumerate(outcomes):
                assert outcome.outputs["reply"] == f"weather of city {number}"
                assert outcome.cache_hit == (number == 0)
            called = {(arguments["city"], context.principal) for _, arguments, context in tools.called}
            assert called == {(f"city {n}", f"user {n}") for n in range(20)}
            assert model.most_at_once > 1

        run(story())


def test_bundled_programs_run(run: Callable[..., Any], tmp_path: Path) -> None:
    shelf = Library(None).read()
    assert not shelf.broken
    dice = random.Random(1)
    answered: dict[str, Any] = {}
    schemas: Mapping[str, Any] = {}

    def answer(asked: Asked) -> dict[str, Any]:
        """Give any values that fit the fields that are asked for."""
        said = {
            name: sample(schemas.get(name, {"type": "string", "maxLength": 20}), dice)
            for name in asked.wanted
        }
        # A model's text has no ragged ends, and one kind of line ends, once DSPy has read it.
        said.update(
            {name: "\n".join(one.splitlines()).strip() for name, one in said.items() if isinstance(one, str)}
        )
        answered.update(said)
        return said

    async def story() -> None:
        nonlocal schemas
        with chatting(answer) as model:
            async with runtime(configured(model.url), tmp_path) as programs:
                for program in shelf.programs.values():
                    manifest = program.manifest
                    schemas = {one.name: one.schema for step in manifest.predictors for one in step.outputs}
                    inputs = {one.name: sample(one.schema, dice) for one in manifest.inputs}
                    outcome = await programs.execute(program, inputs, CallContext())
                    assert set(outcome.outputs) == {one.name for one in manifest.outputs}
                    assert outcome.outputs.items() <= answered.items()
                    assert len(model.requests[-1].messages) == 8
        assert not model.failures

    run(story())
