"""Running programs in the child process, with a model on loopback."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.chat_server import Answer, Asked, chatting, said
from dspy_programs.running import KEY, QUESTION, Tools, echo, playing, program, step
from halflap.core.errors import ProgramError, ToolRefusedError
from halflap.core.values import CallContext, Result
from halflap.dspy.library import Library
from support import alive, eventually

if TYPE_CHECKING:
    from collections.abc import Mapping

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("dspy") is None, reason="needs the extra: pip install 'halflap[dspy]'"),
]

BUNDLED = Library(None).read().valid.values()
AGENT = program("agent", predictors=[step("ask", "ReAct", tools=["mcp__desk__weather"], max_iterations=3)])


def react(asked: Asked) -> dict[str, Any]:
    """Play a model that looks up the weather of what was asked, and repeats what it saw."""
    if "next_tool_name" not in asked.wanted:
        return {"reasoning": "Seen.", "reply": asked.last.partition("[[ ## observation_0 ## ]]\n")[2][:300]}
    if "observation_0" in asked.last:
        return {"next_thought": "Enough.", "next_tool_name": "finish", "next_tool_args": {}}
    city = {"city": asked.inputs["question"]}
    return {"next_thought": "Look.", "next_tool_name": "mcp__desk__weather", "next_tool_args": city}


async def test_demos_and_instructions_of_the_state_are_in_the_prompt(tmp_path: Path) -> None:
    demo = {"augmented": True, "question": "Two and two?", "reply": "Four."}
    state = {"answer": {"demos": [demo], "instructions": "Solve the riddle."}}
    async with playing(tmp_path, echo) as (programs, model):
        await programs.run(program(state=state), QUESTION)
    system, question, answer, now = (message["content"] for message in model.requests[0].messages)
    assert ("Solve the riddle." in system, "Do what answer does." in system) == (True, False)
    assert ("Two and two?" in question, "Four." in answer, QUESTION["question"] in now) == (True,) * 3


PLACE = {
    "type": "object",
    "title": "Place",
    "properties": {"kind": {"type": "string"}, "km": {"type": "integer"}, "note": {"type": "string"}},
    "required": ["kind", "km"],
}
OUTPUTS = {
    "places": {"type": "array", "items": PLACE},
    "mood": {"enum": ["good", "bad", 3, None]},
    "count": {"type": ["integer", "null"]},
    "remark": {"type": ["string", "null"]},
    "more": {"type": "object", "additionalProperties": {"type": "number"}},
}


@pytest.mark.parametrize("adapter", ["chat", "json"])
async def test_steps_are_fed_as_wired_and_outputs_are_plain_json(tmp_path: Path, adapter: str) -> None:
    returns = [{"name": name, "schema": schema} for name, schema in OUTPUTS.items()]
    judge = step("judge", "ChainOfThought", inputs=[{"name": "claim"}], outputs=returns)
    wiring = {
        "predictors": {"judge": {"claim": "answer.reply"}},
        "outputs": {"why": "judge.reasoning", **{name: f"judge.{name}" for name in OUTPUTS}},
    }
    places = [{"kind": "city", "km": 12}, {"kind": "sea", "km": 3, "note": "far"}]
    judged: dict[str, Any] = {"mood": "good", "count": None, "remark": None, "more": {"a": 1.5}}

    def answer(asked: Asked) -> dict[str, Any]:
        # Models often write null for what is only optional.
        nulled = [{"note": None, **one} for one in places]
        return (
            {"reply": "Rome"} if "reply" in asked.wanted else {"reasoning": "So.", "places": nulled, **judged}
        )

    async with playing(tmp_path, answer, adapter=adapter) as (programs, model):
        outcome = await programs.run(program(predictors=[step(), judge], wiring=wiring), QUESTION)
    assert outcome.outputs == {"why": "So.", "places": places, **judged}
    assert "Rome" in model.requests[1].last
    assert [asked.wants_json for asked in model.requests] == [adapter == "json"] * 2


async def test_bundled_programs_run(tmp_path: Path) -> None:
    """The inputs are those of a demo, so the model can answer with the demo's own outputs."""
    demo: dict[str, Any] = {}
    async with playing(tmp_path, lambda asked: {name: demo[name] for name in asked.wanted}) as (programs, _):
        for one in BUNDLED:
            demo.clear()
            for state in one.spec.state.values():
                demo.update(state.demos[0])
            outcome = await programs.run(one, {field.name: demo[field.name] for field in one.spec.inputs})
            assert outcome.outputs == {field.name: demo[field.name] for field in one.spec.outputs}


async def test_concurrent_executions_do_not_mix(tmp_path: Path) -> None:
    tools = Tools(answer=lambda _, arguments: f"weather of {arguments['city']}")
    answer = lambda asked: Answer(said(react(asked)), delay=0.02)  # noqa: E731
    async with playing(tmp_path, answer, tools) as (programs, model):
        asked = (programs.run(AGENT, {"question": f"city {n}"}, CallContext(f"user {n}")) for n in range(20))
        outcomes = await asyncio.gather(*asked)
    assert [one.outputs["reply"] for one in outcomes] == [f"weather of city {n}" for n in range(20)]
    called = {(arguments["city"], context.principal) for _, arguments, context in tools.called}
    assert called == {(f"city {n}", f"user {n}") for n in range(20)}
    assert model.most_at_once > 1


async def test_the_result_of_a_call_is_an_observation(tmp_path: Path) -> None:
    answers = {
        "refused": (ToolRefusedError("Not without the person's word."), "Error: Not without the person's word."),
        "failed": (Result(content=({"type": "text", "text": "No such city"},), is_error=True), "Error: No such city"),
        "structured": (Result(structured_content={"warm": True}, has_structured_content=True), '{"warm": true}'),
    }  # fmt: skip
    tools = Tools(answer=lambda _, arguments: answers[arguments["city"]][0])
    async with playing(tmp_path, react, tools) as (programs, _):
        for city, (_answer, observation) in answers.items():
            assert observation in (await programs.run(AGENT, {"question": city})).outputs["reply"]


async def test_a_crash_fails_the_running_calls_and_the_next_call_starts_a_new_process(tmp_path: Path) -> None:
    quick = {"question": "quick"}
    answer = lambda asked: echo(asked) if asked.inputs == quick else Answer(delay=100)  # noqa: E731
    async with playing(tmp_path, answer) as (programs, model):
        await programs.run(program(), quick)
        tasks = [asyncio.create_task(programs.run(program(), {"question": f"{n}"})) for n in range(2)]
        while model.count < 3:
            await asyncio.sleep(0.01)
        os.kill(programs.pid, signal.SIGKILL)
        for task in tasks:
            with pytest.raises(ProgramError, match="SIGKILL"):
                await task
        assert (await programs.run(program(), quick)).cache_hit


async def test_a_deadline_ends_only_its_own_call_and_a_hung_process_is_replaced(tmp_path: Path) -> None:
    def answer(asked: Asked) -> Answer:
        return Answer(said(echo(asked)), delay=100 if asked.inputs["question"] == "slow" else 1)

    def asked(question: str, seconds: float | None = None) -> asyncio.Task[Any]:
        now = asyncio.get_running_loop().time()
        context = CallContext(deadline=None if seconds is None else now + seconds)
        return asyncio.create_task(programs.run(program(), {"question": question}, context))

    async with playing(tmp_path, answer) as (programs, _):
        await asked("first")
        child, other = programs.pid, asked("other")
        with pytest.raises(ProgramError):
            await asked("slow", 0.3)
        assert (await other).outputs["reply"]
        assert programs.pid == child
        os.kill(child, signal.SIGSTOP)
        other = asked("first")
        with pytest.raises(ProgramError):
            await asked("first", 0.1)
        with pytest.raises(ProgramError):
            await other
        assert (await asked("first")).cache_hit


async def test_cancelling_an_execution_cancels_the_tool_that_it_waits_for(tmp_path: Path) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def call(_name: str, _arguments: Mapping[str, Any], _context: CallContext) -> Result:
        begun.set()
        try:
            await asyncio.sleep(1_000)
        finally:
            ended.set()
        raise AssertionError

    async with playing(tmp_path, react) as (programs, model):
        task = asyncio.create_task(programs.runner.run(AGENT, QUESTION, CallContext(), call))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await ended.wait()
        assert model.count == 1


GATEWAY = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from dspy_programs.running import *

async def story():
    async with running(configured(sys.argv[1], model=sys.argv[4]), Path(sys.argv[2])) as programs:
        for question in ("one", "two"):
            try:
                print((await programs.run(program(), {"question": question})).outputs, file=sys.stderr)
            except Exception as error:
                print(type(error).__name__, error, file=sys.stderr)
        print("child", programs.pid, "dspy" in sys.modules, file=sys.stderr, flush=True)
        if len(sys.argv) > 5:
            await asyncio.sleep(100)
asyncio.run(story())
"""


def gateway(model: Any, folder: Path, name: str, *more: str) -> subprocess.Popen[str]:
    home = folder / "user"
    home.mkdir()
    environment = {**os.environ, "HOME": str(home), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    (folder / ".env").write_text("OPENAI_API_KEY=sk-of-a-file\n")
    (folder / "dspy.py").write_text("raise SystemExit('a file of the working folder was imported')\n")
    tests = str(Path(__file__).parent.parent)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", GATEWAY, model.url, folder / "data", tests, name, *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=folder,
    )  # fmt: skip


def test_nothing_is_printed_to_stdout_or_written_to_the_home(tmp_path: Path) -> None:
    answers = [Answer("[[ ## reply ## ]]\nRome"), Answer(f"no {KEY}", status=401)]
    with chatting(lambda _: answers.pop(0)) as model:
        printed, errors = gateway(model, tmp_path, "azure/tiny").communicate(timeout=100)
    assert printed == ""
    assert "{'reply': 'Rome'}" in errors
    assert "refused the key" in errors
    assert KEY not in errors
    assert errors.rstrip().endswith("False")
    assert not list((tmp_path / "user").iterdir())


def test_the_child_never_outlives_the_gateway(tmp_path: Path) -> None:
    with chatting(echo) as model:
        process = gateway(model, tmp_path, "openai/tiny", "stay")
        assert process.stderr is not None
        child = next(int(line.split()[1]) for line in process.stderr if line.startswith("child"))
        process.kill()
        process.communicate()
    assert eventually(lambda: not alive(child))
