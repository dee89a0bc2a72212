"""Optimising a ReAct: DSPy's threads call tools through the gateway, under the same policy."""

from __future__ import annotations

import asyncio
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.chat_server import Asked, chatting
from dspy_programs.running import configured, predictor, stored
from halflap import CallContext, Gateway
from halflap.core.errors import HalflapError, ToolRefusedError
from halflap.dspy.examples import Example
from halflap.dspy.library import Library
from halflap.dspy.child.metrics import find_metric
from halflap.dspy.optimize import optimize
from halflap.dspy.runtime import Runtime
from support import comes, python_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from dspy_programs.chat_server import ChatServer
    from halflap.core.values import Tool
    from halflap.dspy.library import Stored
    from halflap.dspy.optimize import Progress

pytestmark = pytest.mark.slow

pytest.importorskip("dspy", reason="needs the extra: pip install 'halflap[dspy]'")

ECHO, SLEEP, COUNT = (f"mcp__desk__{name}" for name in ("echo", "sleep", "cancelled_count"))
EXAMPLES = [Example({"question": f"word {n}"}, {"reply": f"WORD {n}"}) for n in range(6)]


class Learner:
    """A model that has the tool say the question, and repeats it in capitals once demos or instructions show how."""

    def __init__(self) -> None:
        self.tool = ECHO
        self.arguments: Callable[[str], dict[str, Any]] = lambda question: {"text": question}
        self.observed: set[str] = set()

    def __call__(self, asked: Asked) -> dict[str, Any]:
        if "question" not in asked.inputs:
            return dict.fromkeys(asked.wanted, "Answer in CAPITALS.")
        if "next_tool_name" not in asked.wanted:
            said = asked.inputs["observation_0"]
            self.observed.add(said)
            knows = len(asked.messages) > 2 or "CAPITALS" in asked.messages[0]["content"]
            return {"reasoning": "I asked.", "reply": said.upper() if knows else said}
        if "observation_0" in asked.last:
            return {"next_thought": "Enough.", "next_tool_name": "finish", "next_tool_args": {}}
        arguments = self.arguments(asked.inputs["question"])
        return {"next_thought": "Ask.", "next_tool_name": self.tool, "next_tool_args": arguments}


class Story:
    """A gateway with a server, a library with a ReAct, and a model."""

    def __init__(self, gateway: Gateway, runtime: Runtime, library: Library, learner: Learner) -> None:
        self.gateway, self.runtime, self.library, self.learner = gateway, runtime, library, learner
        self.model: ChatServer
        self.phase = ""

    def told(self, progress: Progress) -> None:
        self.phase = progress.phase

    async def optimize(self, context: CallContext, **settings: Any) -> Any:
        program = await self.stored()
        return await optimize(
            program, self.library, self.runtime, examples=EXAMPLES, context=context, progress=self.told,
            metric=find_metric("exact", program.manifest), budget=30, **settings,
        )  # fmt: skip

    async def stored(self) -> Stored:
        return (await asyncio.to_thread(self.library.read)).find("asker")

    async def calls(self, name: str) -> list[Any]:
        """Give the calls of a tool that are on the record, but for the one that had it listed."""
        return [
            one for one in await self.gateway.recent_calls(500) if one.tool == name and one.run == "run-1"
        ]


async def saved(folder: Path, *tools: str) -> Library:
    """Make a library with a ReAct over these tools."""
    program = stored("asker", predictors=[predictor("ask", "ReAct", tools=[*tools], max_iterations=4)])
    library = Library(folder)
    await asyncio.to_thread(library.save, program.manifest, program.state)
    return library


@asynccontextmanager
async def telling(folder: Path, **settings: Any) -> AsyncIterator[Story]:
    server = python_server("desk", "swift.py", protocol="legacy")
    async with Gateway.open({"servers": [server], **settings}) as gateway:
        await gateway.call(COUNT)

        def find(name: str) -> Tool | None:
            try:
                return gateway.snapshot.find(name)
            except HalflapError:
                return None

        library = await saved(folder / "library", ECHO, SLEEP)
        learner = Learner()
        with chatting(learner) as model:
            runtime = Runtime(configured(model.url), call=gateway.call_tool, tool=find, data_dir=folder)
            story = Story(gateway, runtime, library, learner)
            story.model = model
            try:
                yield story
            finally:
                await runtime.aclose()
        assert not model.failures


@pytest.mark.parametrize("optimizer", ["BootstrapFewShot", pytest.param("GEPA", marks=pytest.mark.slow)])
def test_calls_of_an_optimiser_are_recorded_for_its_caller(
    optimizer: Any, run: Callable[..., Any], tmp_path: Path
) -> None:
    async def story() -> None:
        async with telling(tmp_path) as told:
            # Where DSPy's threads call a tool, it is recorded as the calls are that measure on the loop.
            found = await told.optimize(CallContext("ann", "run-1", "parent-1"), optimizer=optimizer)
            assert (found.old_score, found.score) == (0.0, 1.0)
            calls = await told.calls("echo")
            assert {(one.principal, one.parent, one.outcome) for one in calls} == {("ann", "parent-1", "ok")}
            # Two measure the old, and four or more are learned from.
            assert len(calls) >= 6
            assert told.learner.observed == {example.inputs["question"] for example in EXAMPLES}
            again = await told.runtime.execute(found.stored, {"question": "now"}, CallContext("ann", "run-2"))
            assert again.outputs == {"reply": "NOW"}

    run(story())


def test_the_policy_holds_for_calls_from_threads(run: Callable[..., Any], tmp_path: Path) -> None:
    asked_in: set[int] = set()

    def rule(tool: Tool) -> None:
        asked_in.add(threading.get_ident())
        raise ToolRefusedError(f"Nobody has confirmed {tool.name}.")

    async def story() -> None:
        async with telling(tmp_path) as told:
            found = await told.optimize(CallContext("ann", "run-1", rule=rule))
            assert (found.old_score, found.score) == (0.0, 0.0)
            calls = await told.calls("echo")
            assert {one.outcome for one in calls} == {"tool-refused"}
            assert told.learner.observed == {f"Error: Nobody has confirmed {ECHO}."}
            assert asked_in == {threading.get_ident()}, "the policy is asked on the loop alone"

    run(story())


def slow_once_it_learns(told: Story) -> None:
    """Have the model call a tool that takes longer than any test, once DSPy's own threads are at work."""
    quick = told.learner.arguments

    def arguments(question: str) -> dict[str, Any]:
        if told.phase != "optimising":
            told.learner.tool = ECHO
            return quick(question)
        told.learner.tool = SLEEP
        return {"seconds": 1_000}

    told.learner.arguments = arguments


async def ended(told: Story) -> None:
    """Wait for what was going on, and see that all of it has ended: the call too, at the server's."""

    async def cancelled() -> bool:
        return (await told.gateway.call(COUNT)).text not in {"0", '{"result": 0}'}

    assert await comes(cancelled)
    asked = told.model.count
    calls = await told.calls("sleep")
    assert len(calls) == 1
    await asyncio.sleep(0.3)
    assert (told.model.count, len(await told.calls("sleep"))) == (asked, 1)
    assert (await told.stored()).versions == ("1.0.0",)


def test_cancelling_stops_all_threads(run: Callable[..., Any], tmp_path: Path) -> None:
    async def story() -> None:
        async with telling(tmp_path) as told:
            slow_once_it_learns(told)

            async def begun() -> bool:
                return bool(await told.calls("sleep"))

            task = asyncio.create_task(told.optimize(CallContext("ann", "run-1")))
            assert await comes(begun)
            # It is on the record just before it is sent.
            await asyncio.sleep(0.3)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await ended(told)
            (call,) = await told.calls("sleep")
            assert call.outcome == "cancelled"

    run(story())
