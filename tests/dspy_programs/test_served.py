"""DSPy programs over MCP, from the sandbox, and across reloads."""

from __future__ import annotations

import asyncio
import json
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

from dspy_programs.chat_server import Answer, Asked, said
from dspy_programs.saved import (
    WORKLET_INPUTS,
    WORKLET_OUTPUTS,
    field,
    predictor,
    say_worklet,
    spec,
    worklet,
    write,
)
from dspy_programs.serving import serving
from halflap import CallContext
from support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("dspy") is None, reason="needs the extra: pip install 'halflap[dspy]'"),
]
CALLED = f"await dspy__worklet_selector(**{WORKLET_INPUTS})"
KEY = "sk-verysecretkey12345"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "programs", worklet())
    return tmp_path


async def test_a_sandboxed_program_gets_the_outputs_and_they_are_recorded(root: Path) -> None:
    async with serving(root, say_worklet) as served:
        printed = await served.execute(f"found = {CALLED}\nprint(found['confidence'] + 1)")
        assert printed.endswith("1.94")
        kept, _ = await served.recorded("dspy")
        assert (kept.name, kept.outcome, json.loads(kept.output or "")) == (
            "worklet_selector",
            "ok",
            WORKLET_OUTPUTS,
        )


async def test_failures_have_their_codes_and_never_the_key(root: Path) -> None:
    def say(asked: Asked) -> Answer | Mapping[str, Any]:
        about = asked.inputs["case_context"]
        if about == "odd":
            return {**WORKLET_OUTPUTS, "confidence": 7}
        return Answer("", delay=1_000.0) if about == "slow" else Answer("p" * 279 + f" {KEY} x", status=401)

    limits = {"timeout_seconds": 15, "cache": "off"}
    async with serving(root, say, programs=limits, key=KEY) as served:

        async def asked(about: Any) -> tuple[str, str]:
            return await served.refused("worklet_selector", **{**WORKLET_INPUTS, "case_context": about})

        assert (await asked(7))[0] == "INVALID_INPUTS"
        assert served.chat.count == 0
        code, message = await asked("denied")
        assert (code, KEY[:8] in message) == ("EXECUTION_ERROR", False)
        code, message = await asked("odd")
        assert (code, "confidence" in message) == ("EXECUTION_ERROR", True)
        assert (await asked("slow"))[0] == "TIMEOUT_ERROR"
        outcomes = [run.outcome for run in await served.gateway.runs()]
        assert outcomes == ["timeout", "failed", "failed"]
    kept = b"".join(one.read_bytes() for one in (root / "data").rglob("*") if one.is_file())
    assert (b"refused the key" in kept, KEY[:8].encode() in kept) == (True, False)


async def test_the_time_limit_of_the_calling_program_holds_and_a_cancellation_is_recorded(root: Path) -> None:
    async with serving(root, say_worklet, execution={"timeout_seconds": 2}) as served:
        await served.ask(**{**WORKLET_INPUTS, "case_context": "warming up"})
        served.chat.answer = lambda _: Answer("", delay=1_000.0)
        assert (await served.execute(CALLED)).startswith("[Script execution failed]")
        before, dspy = served.chat.count, served.gateway.parts.dspy
        under_way = asyncio.create_task(dspy.execute("worklet_selector", WORKLET_INPUTS, CallContext()))
        while served.chat.count == before:
            await asyncio.sleep(0.01)
        under_way.cancel()
        await asyncio.wait([under_way])
        assert (await served.gateway.runs())[0].outcome == "cancelled"


async def test_a_running_execution_keeps_its_program_across_a_reload(root: Path) -> None:
    let_go = threading.Event()

    def say(asked: Asked) -> Answer | Mapping[str, Any]:
        if "Do what two does." in str(asked.messages):
            return {"chosen": "by the second"}
        assert not asked.number or let_go.wait(PATIENCE)
        return Answer(said(WORKLET_OUTPUTS))

    async with serving(root, say) as served:
        await served.ask(**{**WORKLET_INPUTS, "case_context": "warming up"})
        under_way = asyncio.create_task(served.ask())
        while served.chat.count < 2:
            await asyncio.sleep(0.01)
        two = predictor("two", [field("workflow_description")], [field("chosen")])
        write(root / "programs", spec("worklet_selector", two, version="2.0.0"))
        reloaded = await served.call("dspy_reload_program", program="worklet_selector")
        new = await served.ask(workflow_description="Process")
        assert not under_way.done()
        let_go.set()
        assert new["chosen"] == "by the second"
        assert (await under_way)["worklet_id"] == "loan_standard"
        found = await served.call("dspy_get_program_info", program="worklet_selector")
        assert (found["version"], found["source_hash"]) == ("2.0.0", reloaded["source_hash"])
        inspected = await served.call("inspect_tool", tool_name="dspy__worklet_selector")
        assert list(inspected["outputSchema"]["properties"]) == ["chosen"]
