"""Programs in the child process: what is asked, called back, cached, limited and kept secret."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.chat_server import Answer, Asked, chatting, said
from dspy_programs.running import (
    KEY,
    QUESTION,
    Tools,
    configured,
    echo,
    of_type,
    predictor,
    runtime,
    stored,
)
from halflap.config import ProgramsConfig
from halflap.core.errors import (
    ProgramCacheError,
    ProgramError,
    ProgramFailedError,
    ProgramTimeoutError,
    ToolRefusedError,
)
from halflap.core.values import CallContext, Result
from halflap.dspy.library import Library

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.dspy.runtime import Runtime

    Run = Callable[..., Any]

pytest.importorskip("dspy", reason="needs the extra: pip install 'halflap[dspy]'")
slow = pytest.mark.slow

AGENT = stored(predictors=[predictor("plan", "ReAct", tools=["mcp__desk__weather"], max_iterations=3)])


def react(asked: Asked) -> dict[str, Any]:
    """Play a model that asks for the weather once, and finishes."""
    if "next_tool_name" not in asked.wanted:
        return {"reasoning": "I asked.", "reply": asked.inputs["observation_0"]}
    if "observation_0" in asked.last:
        return {"next_thought": "Enough.", "next_tool_name": "finish", "next_tool_args": {}}
    city = asked.inputs["question"]
    return {"next_thought": "Ask.", "next_tool_name": "mcp__desk__weather", "next_tool_args": {"city": city}}


def process_of(programs: Runtime) -> int:
    assert programs._process is not None
    return programs._process._process.pid


# What is asked ----------------------------------------------------------------------------------------


def test_tools_are_called_for_the_caller_and_answers_are_cached(run: Run, tmp_path: Path) -> None:
    tools = Tools(answer="31 degrees")

    async def story() -> None:
        deadline = asyncio.get_running_loop().time() + 200
        context = CallContext("alice", "run-1", "parent-1", deadline, 1, frozenset({"mcp__desk__mail"}))
        with chatting(react) as model:
            async with runtime(configured(model.url), tmp_path, tools) as programs:
                outcome = await programs.execute(AGENT, QUESTION, context)
                again = await programs.execute(AGENT, QUESTION, context)
        assert outcome.outputs == {"reply": "31 degrees"}
        assert 0 < outcome.execution_time_ms <= outcome.total_time_ms
        assert (outcome.cache_hit, again.cache_hit, model.count) == (False, True, 3)
        (name, arguments, given), _ = tools.called
        assert (name, arguments) == ("mcp__desk__weather", {"city": QUESTION["question"]})
        assert given == replace(context, depth=2)
        assert "Does mcp__desk__weather." in model.requests[0].messages[0]["content"]
        assert model.requests[0].headers["authorization"] == f"Bearer {KEY}"

    run(story())


@slow
def test_demos_and_instructions_of_the_state_are_in_the_prompt(run: Run, tmp_path: Path) -> None:
    texts = [{"prefix": "Q:", "description": "a riddle"}, {"prefix": "A:", "description": "its answer"}]
    state = {
        "answer": {
            "demos": [{"augmented": True, "question": "Two and two?", "reply": "Four."}],
            "signature": {"instructions": "Solve the riddle.", "fields": texts},
        }
    }

    async def story() -> None:
        with chatting(echo) as model:
            async with runtime(configured(model.url), tmp_path) as programs:
                await programs.execute(stored(state=state), QUESTION, CallContext())
        system, question, answer, now = (one["content"] for one in model.requests[0].messages)
        assert "Solve the riddle." in system
        assert "a riddle" in system
        assert "Answer the question." not in system
        assert ("Two and two?" in question, "Four." in answer, QUESTION["question"] in now) == (True,) * 3

    run(story())


@slow
def test_steps_are_fed_as_wired_and_outputs_are_plain_json(run: Run, tmp_path: Path) -> None:
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
        {"name": "more", "schema": {"type": "object", "additionalProperties": {"type": "number"}}},
    ]
    judge = predictor("judge", "ChainOfThought", inputs=[{"name": "claim"}], outputs=outputs)
    wired = {"judge": {"claim": "answer.reply"}}
    named = {one["name"]: f"judge.{one['name']}" for one in outputs}
    wiring = {"predictors": wired, "outputs": {"reply": "answer.reply", "why": "judge.reasoning", **named}}
    program = stored(predictors=[predictor(), judge], wiring=wiring)
    judged = {
        "places": [{"kind": "city", "km": 12}, {"kind": "sea", "km": 3, "note": "far"}],
        "mood": "good",
        "count": None,
        "more": {"a": 1.5},
    }

    def answer(asked: Asked) -> dict[str, Any]:
        return {"reply": "Rome"} if "reply" in asked.wanted else {"reasoning": "South.", **judged}

    async def story() -> None:
        with chatting(answer) as model:
            for adapter in ("chat", "json"):
                async with runtime(configured(model.url, adapter=adapter), tmp_path) as programs:
                    outcome = await programs.execute(program, QUESTION, CallContext())
                assert outcome.outputs == {"reply": "Rome", "why": "South.", **judged}
            assert model.requests[1].inputs == {"claim": "Rome"}
            assert [one.wants_json for one in model.requests] == [False, False, True, True]

    run(story())


@slow
def test_bundled_programs_run(run: Run, tmp_path: Path) -> None:
    """Each demo is asked as it is, so the model can answer with the demo's own outputs."""
    demo: dict[str, Any] = {}
    shelf = Library(None).read()

    async def story() -> None:
        with chatting(lambda asked: {name: demo[name] for name in asked.wanted}) as model:
            async with runtime(configured(model.url), tmp_path) as programs:
                for program in shelf.programs.values():
                    demo.clear()
                    for state in program.state.predictors.values():
                        demo.update(state.demos[0].model_dump())
                    inputs = {one.name: demo[one.name] for one in program.manifest.inputs}
                    outcome = await programs.execute(program, inputs, CallContext())
                    assert outcome.outputs == {one.name: demo[one.name] for one in program.manifest.outputs}
                    assert len(model.requests[-1].messages) == 8

    run(story())


@slow
def test_concurrent_executions_do_not_mix(run: Run, tmp_path: Path) -> None:
    tools = Tools(answer=lambda _, arguments: f"weather of {arguments['city']}")

    async def story() -> None:
        with chatting(lambda asked: Answer(said(react(asked)), delay=0.02)) as model:
            async with runtime(configured(model.url), tmp_path, tools) as programs:
                outcomes = await asyncio.gather(
                    *(
                        programs.execute(AGENT, {"question": f"city {n}"}, CallContext(f"user {n}"))
                        for n in range(20)
                    )
                )
        assert [one.outputs["reply"] for one in outcomes] == [f"weather of city {n}" for n in range(20)]
        called = {(arguments["city"], context.principal) for _, arguments, context in tools.called}
        assert called == {(f"city {n}", f"user {n}") for n in range(20)}
        assert model.most_at_once > 1

    run(story())


@slow
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (ToolRefusedError("Not without the person's word."), "Error: Not without the person's word."),
        (Result(content=({"type": "text", "text": "No such city"},), is_error=True), "Error: No such city"),
        (Result(structured_content={"warm": True}, has_structured_content=True), '{"warm": true}'),
    ],
)
def test_the_result_of_a_call_is_an_observation(answer: Any, told: str, run: Run, tmp_path: Path) -> None:
    async def story() -> None:
        with chatting(react) as model:
            async with runtime(configured(model.url), tmp_path, Tools(answer=answer)) as programs:
                outcome = await programs.execute(AGENT, QUESTION, CallContext())
        assert told in outcome.outputs["reply"]

    run(story())


# The child process ------------------------------------------------------------------------------------


@slow
def test_a_crash_fails_the_running_calls_and_the_next_call_starts_a_new_process(
    run: Run, tmp_path: Path
) -> None:
    async def story() -> None:
        with chatting(
            lambda asked: Answer(delay=100) if asked.inputs["question"] != "quick" else echo(asked)
        ) as model:
            async with runtime(configured(model.url), tmp_path) as programs:
                await programs.execute(stored(), {"question": "quick"}, CallContext())
                running = [
                    asyncio.create_task(programs.execute(stored(), {"question": f"{n}"}, CallContext()))
                    for n in range(2)
                ]
                while model.count < 3:
                    await asyncio.sleep(0.01)
                os.kill(process_of(programs), signal.SIGKILL)
                for task in running:
                    with pytest.raises(ProgramFailedError, match="ended by SIGKILL"):
                        await task
                outcome = await programs.execute(stored(), {"question": "quick"}, CallContext())
                assert outcome.cache_hit

    run(story())


@slow
def test_a_deadline_ends_only_its_own_call(run: Run, tmp_path: Path) -> None:
    async def story() -> None:
        loop = asyncio.get_running_loop()
        with chatting(
            lambda asked: Answer(said(echo(asked)), delay=100 if asked.inputs["question"] == "slow" else 1)
        ) as model:
            async with runtime(configured(model.url), tmp_path) as programs:
                await programs.execute(stored(), QUESTION, CallContext())
                child = process_of(programs)
                other = asyncio.create_task(programs.execute(stored(), {"question": "other"}, CallContext()))
                with pytest.raises(ProgramTimeoutError):
                    await programs.execute(
                        stored(), {"question": "slow"}, CallContext(deadline=loop.time() + 0.3)
                    )
                assert (await other).outputs["reply"]
                assert process_of(programs) == child

    run(story())


@slow
def test_a_hung_process_is_replaced(run: Run, tmp_path: Path) -> None:
    async def story() -> None:
        loop = asyncio.get_running_loop()
        with chatting(echo) as model:
            async with runtime(configured(model.url), tmp_path) as programs:
                await programs.execute(stored(), QUESTION, CallContext())
                os.kill(process_of(programs), signal.SIGSTOP)
                other = asyncio.create_task(programs.execute(stored(), QUESTION, CallContext()))
                with pytest.raises(ProgramTimeoutError):
                    await programs.execute(stored(), QUESTION, CallContext(deadline=loop.time() + 0.1))
                with pytest.raises(ProgramFailedError, match="stopped responding"):
                    await other
                assert (await programs.execute(stored(), QUESTION, CallContext())).cache_hit

    run(story())


@slow
def test_cancelling_a_call_cancels_the_tool_that_it_waits_for(run: Run, tmp_path: Path) -> None:
    async def story() -> None:
        begun, ended = asyncio.Event(), asyncio.Event()

        async def call(*_: Any) -> Result:
            begun.set()
            try:
                await asyncio.sleep(1_000)
            finally:
                ended.set()
            raise AssertionError

        tools = Tools()
        tools.call = call  # type: ignore[method-assign, assignment]
        with chatting(react) as model:
            async with runtime(configured(model.url), tmp_path, tools) as programs:
                task = asyncio.create_task(programs.execute(AGENT, QUESTION, CallContext()))
                await begun.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await ended.wait()
        assert model.count == 1

    run(story())


GATEWAY = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, sys.argv[3])
from dspy_programs.running import *

async def story():
    async with runtime(configured(sys.argv[1], model=sys.argv[4]), Path(sys.argv[2])) as programs:
        for question in ("one", "two"):
            try:
                print((await programs.execute(stored(), {"question": question}, CallContext())).outputs, file=sys.stderr)
            except Exception as error:
                print(type(error).__name__, error, file=sys.stderr)
        print("child", programs._process._process.pid, "dspy" in sys.modules, file=sys.stderr, flush=True)
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


@slow
@pytest.mark.parametrize("model_name", ["openai/tiny", "azure/tiny"])
def test_nothing_is_printed_to_stdout_or_written_to_the_home(model_name: str, tmp_path: Path) -> None:
    """DSPy leaves providers without a client of its own, such as azure, to LiteLLM."""
    answers = [Answer("[[ ## reply ## ]]\nRome"), Answer(f"no {KEY}", status=401)]
    with chatting(lambda _: answers.pop(0)) as model:
        printed, told = gateway(model, tmp_path, model_name).communicate(timeout=100)
    assert printed == ""
    assert "{'reply': 'Rome'}" in told
    assert "refused the key" in told
    assert KEY not in told
    assert told.rstrip().endswith("False")
    assert not list((tmp_path / "user").iterdir())


@slow
def test_the_child_never_outlives_the_gateway(tmp_path: Path) -> None:
    with chatting(echo) as model:
        process = gateway(model, tmp_path, "openai/tiny", "stay")
        assert process.stderr is not None
        child = next(int(line.split()[1]) for line in process.stderr if line.startswith("child"))
        process.kill()
        process.communicate()
    for _ in range(200):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            break
        signal.sigtimedwait([], 0.05)
    else:
        pytest.fail("the child is still running")


# Failures of the model --------------------------------------------------------------------------------

TROUBLES = {
    "429": (Answer(status=429, headers={"retry-after": "100"}), "429"),
    "401": (Answer("bad key " + KEY, status=401), r"programs\.lm\.api_key"),
    "the key where the text is cut": (Answer("p" * 279 + f" {KEY} tail", status=401), r"\[api_key\]"),
    "the key in an answer": (Answer("p" * 290 + KEY), r"reply.*\[api_key\]"),
    "404": (Answer(status=404), "404"),
    "not json": (Answer(raw=b"<html>"), r"programs\.lm\.api_base"),
    "redirect": (Answer(status=302, headers={"location": "http://127.0.0.1:9/?token=hidden"}), "302"),
    "no choices": (Answer(raw=b"{}"), "answered nothing"),
    "cut off": (Answer(raw=b'{"choices": [', headers={"content-length": "1000", "connection": "close"}), r"127\.0\.0\.1"),
    "prose": (Answer("It is warm."), "reply, degrees"),
    "one field missing": (Answer("[[ ## reply ## ]]\nRome"), "degrees"),
    "wrong type": (Answer("[[ ## reply ## ]]\nRome\n[[ ## degrees ## ]]\nhot"), "degrees"),
    "outside the schema": (Answer(said({"reply": "x", "degrees": 99})), "degrees"),
    "nested too deep": (Answer(said({"reply": "x", "degrees": "[" * 100_000})), "nested"),
}  # fmt: skip


@slow
def test_bad_answers_are_explained_without_the_key_and_never_cached(
    run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = stored(
        predictors=[predictor(outputs=[{"name": "reply"}, of_type("degrees", "integer", maximum=50)])]
    )
    good = {"reply": "Rome", "degrees": 31}
    passed: set[str] = set()

    def answer(asked: Asked) -> Any:
        trouble = asked.inputs["question"]
        return good if trouble in passed else TROUBLES[trouble][0]

    async def story() -> None:
        with chatting(answer) as model:
            async with runtime(configured(model.url), tmp_path) as programs:
                for trouble, (_, told) in TROUBLES.items():
                    with pytest.raises(ProgramFailedError, match=f"(?s){told}") as caught:
                        await programs.execute(program, {"question": trouble}, CallContext())
                    assert KEY[:8] not in str(caught.value)
                    assert "hidden" not in str(caught.value)
                    passed.add(trouble)
                    assert (
                        await programs.execute(program, {"question": trouble}, CallContext())
                    ).outputs == good

    run(story())
    assert KEY[:8] not in caplog.text


@slow
def test_transient_failures_are_retried_and_a_slow_or_absent_model_is_reported(
    run: Run, tmp_path: Path
) -> None:
    troubles = [Answer(status=503), Answer(drop=True)]

    async def story() -> None:
        with chatting(lambda _: troubles.pop(0) if troubles else {"reply": "Rome"}) as model:
            async with runtime(configured(model.url, timeout=60, model="openai/a"), tmp_path) as programs:
                assert (await programs.execute(stored(), QUESTION, CallContext())).outputs == {
                    "reply": "Rome"
                }
            assert model.count == 3
            config = configured(model.url)
            assert config.lm is not None
            lm = config.lm.model_copy(update={"timeout": 0.2})
            model.answer = lambda _: Answer(delay=100)
            async with runtime(config.model_copy(update={"lm": lm}), tmp_path) as programs:
                with pytest.raises(ProgramFailedError, match=r"0\.2 s.*programs\.lm\.timeout"):
                    await programs.execute(stored(), QUESTION, CallContext())
            assert model.count == 4
        async with runtime(configured("http://127.0.0.1:9/v1"), tmp_path) as programs:
            with pytest.raises(ProgramFailedError, match=r"127\.0\.0\.1:9/v1 cannot be reached"):
                await programs.execute(stored(), QUESTION, CallContext())

    run(story())


# Key and address --------------------------------------------------------------------------------------


@slow
@pytest.mark.parametrize("model_name", ["openai/tiny", "azure/tiny"])
def test_a_redirect_is_not_followed(model_name: str, run: Run, tmp_path: Path) -> None:
    async def story() -> None:
        with chatting(lambda _: {"reply": "elsewhere"}) as other:
            moved = {"location": f"{other.url}/chat/completions"}
            with chatting(lambda _: Answer(status=307, headers=moved)) as model:
                async with runtime(configured(model.url, model=model_name), tmp_path) as programs:
                    with pytest.raises(ProgramFailedError):
                        await programs.execute(stored(), QUESTION, CallContext())
            assert (model.count >= 1, other.count) == (True, 0)

    run(story())


@slow
def test_keys_addresses_and_proxies_of_the_environment_are_not_used(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")

    async def story() -> None:
        with chatting(echo) as model, socket.create_server(("127.0.0.1", 0)) as proxy:
            for variable in ("HTTP_PROXY", "HTTPS_PROXY"):
                monkeypatch.setenv(variable, f"http://127.0.0.1:{proxy.getsockname()[1]}")
            async with runtime(configured(model.url, api_key=None), tmp_path) as programs:
                await programs.execute(stored(), QUESTION, CallContext())
            assert "sk-of-the-environment" not in str(model.requests[0].headers)
            async with runtime(configured(None, api_key=None), tmp_path) as programs:
                with pytest.raises(ProgramFailedError) as caught:
                    await programs.execute(stored(), QUESTION, CallContext())
                assert (
                    "  lm: {model: openai/tiny, api_key: '${OPENAI_API_KEY}'}"
                    in str(caught.value).splitlines()
                )
            monkeypatch.setenv("OPENAI_BASE_URL", model.url)
            async with runtime(configured(None), tmp_path) as programs:
                with pytest.raises(ProgramFailedError, match="OPENAI_BASE_URL"):
                    await programs.execute(stored(), QUESTION, CallContext())
            assert not select.select([proxy], [], [], 0)[0]
            assert model.count == 1

    run(story())


def test_without_a_model_the_setting_is_named(run: Run, tmp_path: Path) -> None:
    async def story() -> None:
        async with runtime(ProgramsConfig(), tmp_path) as programs:
            with pytest.raises(ProgramFailedError, match=r"programs:\n  lm:"):
                await programs.execute(stored(), QUESTION, CallContext())

    run(story())


@slow
def test_a_key_in_an_answer_is_redacted_also_in_the_cache(run: Run, tmp_path: Path) -> None:
    async def story() -> None:
        with chatting(lambda _: {"reply": f"It is {KEY}."}) as model:
            for hit in (False, True):
                async with runtime(configured(model.url), tmp_path) as programs:
                    outcome = await programs.execute(stored(), QUESTION, CallContext())
                assert (outcome.outputs, outcome.cache_hit) == (
                    {"reply": "It is [api_key]."},
                    hit,
                )

    run(story())
    folder = tmp_path / "dspy-cache"
    kept = b"".join(file.read_bytes() for file in folder.iterdir())
    assert KEY[:16].encode() not in kept
    assert QUESTION["question"].encode() not in kept
    assert (folder.stat().st_mode | (folder / "answers.sqlite").stat().st_mode) & 0o077 == 0


# The cache --------------------------------------------------------------------------------------------


@slow
def test_answers_are_reused_only_for_the_same_request(run: Run, tmp_path: Path) -> None:
    second = predictor("judge", inputs=[{"name": "reply"}], outputs=[{"name": "verdict"}])
    program = stored(predictors=[predictor(), second])

    async def story() -> None:
        with chatting(echo) as model, chatting(echo) as other:

            async def hits(config: ProgramsConfig, *programs: Any) -> list[bool]:
                async with runtime(config, tmp_path) as opened:
                    return [
                        (await opened.execute(one, QUESTION, CallContext())).cache_hit for one in programs
                    ]

            assert await hits(configured(model.url), stored(), program, program) == [False, False, True]
            assert await hits(configured(model.url, api_key="another-key"), program) == [True]
            for changed in (
                configured(other.url),
                configured(model.url, model="openai/large"),
                configured(model.url, temperature=0.3),
                configured(model.url, cache="off"),
            ):
                assert await hits(changed, stored()) == [False]

    run(story())


@slow
@pytest.mark.parametrize("damage", ["file", "answer"])
def test_a_damaged_cache_is_not_used_and_the_model_asked_again(damage: str, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "dspy-cache" / "answers.sqlite"

    def spoil() -> None:
        if damage == "file":
            file.write_bytes(b"garbage" * 1000)
        else:
            with contextlib.closing(sqlite3.connect(file)) as database:
                database.execute("UPDATE answers SET outputs = '[{}]'")
                database.commit()

    async def story() -> None:
        with chatting(lambda _: {"reply": "Rome"}) as model:
            for hit in (False, False, True):
                async with runtime(configured(model.url), tmp_path) as programs:
                    outcome = await programs.execute(stored(), QUESTION, CallContext())
                assert (outcome.outputs, outcome.cache_hit) == ({"reply": "Rome"}, hit)
                if model.count == 1:
                    await asyncio.to_thread(spoil)

    run(story())


@slow
def test_a_cache_folder_that_cannot_be_used_is_a_cache_error_and_nothing_is_asked(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")

    async def story() -> ProgramError:
        with chatting(echo) as model:
            async with runtime(configured(model.url, cache=tmp_path / "file"), tmp_path) as programs:
                with pytest.raises(ProgramCacheError) as caught:
                    await programs.execute(stored(), QUESTION, CallContext())
            assert model.count == 0
        return caught.value

    error = run(story())
    assert (error.seed_code, "programs.cache" in str(error)) == ("CACHE_ERROR", True)
