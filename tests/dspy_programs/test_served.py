"""DSPy programs over MCP, from the sandbox, and across reloads."""

from __future__ import annotations

import asyncio
import json
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.chat_server import Answer, Asked, chatting, said
from dspy_programs.saved import (
    WORKLET_INPUTS,
    WORKLET_OUTPUTS,
    field,
    predictor,
    say_worklet,
    settings,
    spec,
    worklet,
    write,
)
from dspy_programs.serving import executed, opened, refused, told
from support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path

    from dspy_programs.chat_server import ChatServer

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

pytestmark = pytest.mark.skipif(
    find_spec("dspy") is None, reason="needs the extra: pip install 'halflap[dspy]'; `make test` installs it"
)
ASKING = {"program": "worklet_selector", "inputs": WORKLET_INPUTS}
WARMING = {"program": "worklet_selector", "inputs": {**WORKLET_INPUTS, "case_context": "warming up"}}
"""So that what is loaded once falls before what is looked at."""
CALLED = f"await dspy__worklet_selector(**{WORKLET_INPUTS})"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "programs", worklet())
    return tmp_path / "programs"


def test_the_second_execution_comes_from_the_cache(tmp_path: Path, root: Path, run: Run) -> None:
    async def scenario(chat: ChatServer) -> None:
        async with opened(tmp_path, settings(root, chat)) as (_, client):
            first = await told(client, "dspy_execute_program", **ASKING)
            metadata = first.pop("_metadata")
            assert first == WORKLET_OUTPUTS
            assert list(metadata) == ["execution_time_ms", "total_time_ms", "cache_hit", "program"]
            assert 0 < metadata["execution_time_ms"] <= metadata["total_time_ms"]
            assert (metadata["cache_hit"], metadata["program"]) == (False, "worklet_selector")
            again = await told(client, "dspy_execute_program", **ASKING)
            assert again["_metadata"]["cache_hit"] is True
            assert chat.count == 1

    with chatting(say_worklet) as chat:
        run(scenario(chat))


@pytest.mark.slow
def test_a_sandboxed_program_gets_the_outputs_and_all_is_recorded(
    tmp_path: Path, root: Path, run: Run
) -> None:
    async def scenario(chat: ChatServer) -> None:
        async with opened(tmp_path, settings(root, chat)) as (gateway, client):
            printed = await executed(
                client, f"found = {CALLED}\nprint(sorted(found), found['confidence'] + 1)"
            )
            assert printed.endswith("['confidence', 'rationale', 'worklet_id'] 1.94")
            inner, outer = await gateway.runs()
            assert (inner.kind, inner.name, inner.outcome) == ("dspy", "worklet_selector", "ok")
            kept, _ = await gateway.run(inner.id)
            assert json.loads(kept.output or "") == WORKLET_OUTPUTS
            _, calls = await gateway.run(outer.id)
            assert [(one.server, one.tool, one.outcome) for one in calls] == [
                ("dspy", "worklet_selector", "ok")
            ]
            assert (await gateway.graph()).tools["dspy__worklet_selector"].original_name == "worklet_selector"
            known = (await told(client, "suggest_workflow", want="worklet_id", have=WORKLET_INPUTS))[
                "suggestions"
            ]
            assert known[0]["tools"] == ["dspy__worklet_selector"]

    with chatting(say_worklet) as chat:
        run(scenario(chat))


@pytest.mark.slow
def test_failures_have_their_codes(tmp_path: Path, root: Path, run: Run) -> None:
    def say(asked: Asked) -> Answer | str | Mapping[str, Any]:
        about = asked.inputs["case_context"]
        if about == "odd":
            return {**WORKLET_OUTPUTS, "confidence": 7}
        return Answer("", delay=1_000.0) if about == "slow" else Answer("", status=401)

    async def scenario(chat: ChatServer) -> None:
        config = settings(root, chat, programs={"timeout_seconds": 15, "cache": "off"})
        async with opened(tmp_path, config) as (gateway, client):

            async def asked(about: Any) -> tuple[str, str]:
                inputs = {**WORKLET_INPUTS, "case_context": about}
                return await refused(client, program="worklet_selector", inputs=inputs)

            assert (await asked(7))[0] == "INVALID_INPUTS"
            assert chat.count == 0
            assert (await asked("denied"))[0] == "EXECUTION_ERROR"
            code, message = await asked("odd")
            assert (code, "confidence" in message) == ("EXECUTION_ERROR", True)
            assert (await asked("slow"))[0] == "TIMEOUT_ERROR"
            outcomes = [run.outcome for run in await gateway.runs()]
            assert outcomes == ["timeout", "failed", "failed"]

    with chatting(say) as chat:
        run(scenario(chat))


@pytest.mark.slow
def test_the_time_limit_of_the_calling_program_holds(tmp_path: Path, root: Path, run: Run) -> None:
    async def scenario(chat: ChatServer) -> str:
        config = settings(root, chat, execution={"timeout_seconds": 2})
        async with opened(tmp_path, config) as (_, client):
            await told(client, "dspy_execute_program", **WARMING)
            chat.answer = lambda _: Answer("", delay=1_000.0)
            return await executed(client, CALLED)

    with chatting(say_worklet) as chat:
        assert run(scenario(chat)).startswith("[Script execution failed]")


@pytest.mark.slow
def test_a_cancelled_execution_is_recorded_as_cancelled(tmp_path: Path, root: Path, run: Run) -> None:
    async def scenario(chat: ChatServer) -> str:
        async with opened(tmp_path, settings(root, chat)) as (gateway, _):
            under_way = asyncio.create_task(gateway.execute_dspy("worklet_selector", WORKLET_INPUTS))
            while not chat.count:
                await asyncio.sleep(0.01)
            under_way.cancel()
            await asyncio.wait([under_way])
            return (await gateway.runs())[0].outcome

    with chatting(lambda _: Answer("", delay=30.0)) as chat:
        assert run(scenario(chat)) == "cancelled"


@pytest.mark.slow
def test_a_running_execution_keeps_its_program_across_a_reload(tmp_path: Path, root: Path, run: Run) -> None:
    let_go = threading.Event()

    def say(asked: Asked) -> Answer | Mapping[str, Any]:
        if "Do what two does." in str(asked.messages):
            return {"chosen": "by the second"}
        assert not asked.number or let_go.wait(PATIENCE)
        return Answer(said(WORKLET_OUTPUTS))

    async def scenario(chat: ChatServer) -> None:
        async with opened(tmp_path, settings(root, chat)) as (_, client):
            await told(client, "dspy_execute_program", **WARMING)
            under_way = asyncio.create_task(told(client, "dspy_execute_program", **ASKING))
            while chat.count < 2:
                await asyncio.sleep(0.01)
            two = predictor("two", [field("workflow_description")], [field("chosen")])
            write(root, spec("worklet_selector", two, version="2.0.0"))
            reloaded = await told(client, "dspy_reload_program", program="worklet_selector")
            inputs = {"workflow_description": "Process"}
            new = await told(client, "dspy_execute_program", program="worklet_selector", inputs=inputs)
            assert not under_way.done()
            let_go.set()
            assert new["chosen"] == "by the second"
            assert (await under_way)["worklet_id"] == "loan_standard"
            found = await told(client, "dspy_get_program_info", program="worklet_selector")
            assert (found["version"], found["source_hash"]) == ("2.0.0", reloaded["source_hash"])
            inspected = await told(client, "inspect_tool", tool_name="dspy__worklet_selector")
            assert list(inspected["outputSchema"]["properties"]) == ["chosen"]

    with chatting(say) as chat:
        run(scenario(chat))


@pytest.mark.slow
def test_the_key_is_not_in_the_record_of_a_failure(tmp_path: Path, root: Path, run: Run) -> None:
    key = "sk-verysecretkey12345"

    async def scenario(chat: ChatServer) -> None:
        lm = {"model": "openai/test", "api_base": chat.url, "api_key": key}
        async with opened(tmp_path, settings(root, chat, programs={"lm": lm})) as (_, client):
            code, message = await refused(client, **ASKING)
            assert (code, key[:8] in message) == ("EXECUTION_ERROR", False)

    with chatting(lambda _: Answer("p" * 279 + f" {key} tail", status=401)) as chat:
        run(scenario(chat))
    kept = b"".join(one.read_bytes() for one in (tmp_path / "data").rglob("*") if one.is_file())
    assert b"refused the key" in kept
    assert key[:8].encode() not in kept


@pytest.mark.slow
@pytest.mark.parametrize("watch", [True, False])
def test_an_invalid_folder_never_replaces_a_working_program(
    tmp_path: Path, root: Path, watch: bool, run: Run
) -> None:
    async def scenario(chat: ChatServer) -> None:
        async with opened(tmp_path, settings(root, chat, programs={"watch": watch})) as (_, client):

            async def version() -> str:
                found = await told(client, "dspy_get_program_info", program="worklet_selector")
                return str(found["version"])

            assert await version() == "1.0.0"
            write(root, worklet(version="1.1.0"))
            assert await version() == ("1.1.0" if watch else "1.0.0")
            await asyncio.to_thread((root / "worklet_selector.json").write_text, "{")
            (broken,) = (await told(client, "dspy_list_programs"))["broken"]
            assert (broken["name"], "stays in use" in broken["reason"]) == ("worklet_selector", True)
            answer = await client.call_tool("dspy_reload_program", {"program": "worklet_selector"})
            assert answer.is_error
            assert (await told(client, "dspy_execute_program", **ASKING))["worklet_id"] == "loan_standard"
            write(root, worklet(version="1.3.0"))
            await told(client, "dspy_reload_program", program="worklet_selector")
            assert await version() == "1.3.0"

    with chatting(say_worklet) as chat:
        run(scenario(chat))
