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
from dspy_programs.serving import Served, executed, refused, serve, told
from support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dspy_programs.running import Run

pytestmark = pytest.mark.skipif(
    find_spec("dspy") is None, reason="needs the extra: pip install 'halflap[dspy]'; `make test` installs it"
)
CALLED = f"await dspy__worklet_selector(**{WORKLET_INPUTS})"
KEY = "sk-verysecretkey12345"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "programs", worklet())
    return tmp_path / "programs"


@pytest.mark.usefixtures("root")
def test_the_second_execution_comes_from_the_cache(tmp_path: Path, run: Run) -> None:
    async def scenario(served: Served) -> None:
        first = await served.ask()
        metadata = first.pop("_metadata")
        assert first == WORKLET_OUTPUTS
        assert list(metadata) == ["execution_time_ms", "total_time_ms", "cache_hit", "program"]
        assert 0 < metadata["execution_time_ms"] <= metadata["total_time_ms"]
        assert (metadata["cache_hit"], metadata["program"]) == (False, "worklet_selector")
        assert (await served.ask())["_metadata"]["cache_hit"] is True

    assert serve(run, tmp_path, say_worklet, scenario).count == 1


@pytest.mark.slow
@pytest.mark.usefixtures("root")
def test_a_sandboxed_program_gets_the_outputs_and_all_is_recorded(tmp_path: Path, run: Run) -> None:
    async def scenario(served: Served) -> None:
        printed = await executed(served.client, f"found = {CALLED}\nprint(found['confidence'] + 1)")
        assert printed.endswith("1.94")
        inner, outer = await served.gateway.runs()
        assert (inner.kind, inner.name, inner.outcome) == ("dspy", "worklet_selector", "ok")
        kept, _ = await served.gateway.run(inner.id)
        assert json.loads(kept.output or "") == WORKLET_OUTPUTS
        _, calls = await served.gateway.run(outer.id)
        assert [(one.server, one.tool, one.outcome) for one in calls] == [("dspy", "worklet_selector", "ok")]
        wanted = {"want": "worklet_id", "have": WORKLET_INPUTS}
        known = (await told(served.client, "suggest_workflow", **wanted))["suggestions"]
        assert known[0]["tools"] == ["dspy__worklet_selector"]

    serve(run, tmp_path, say_worklet, scenario)


@pytest.mark.slow
@pytest.mark.usefixtures("root")
def test_failures_have_their_codes_and_never_the_key(tmp_path: Path, run: Run) -> None:
    def say(asked: Asked) -> Answer | Mapping[str, Any]:
        about = asked.inputs["case_context"]
        if about == "odd":
            return {**WORKLET_OUTPUTS, "confidence": 7}
        return Answer("", delay=1_000.0) if about == "slow" else Answer("p" * 279 + f" {KEY} x", status=401)

    async def scenario(served: Served) -> None:
        async def asked(about: Any) -> tuple[str, str]:
            inputs = {**WORKLET_INPUTS, "case_context": about}
            return await refused(served.client, program="worklet_selector", inputs=inputs)

        assert (await asked(7))[0] == "INVALID_INPUTS"
        assert served.chat.count == 0
        code, message = await asked("denied")
        assert (code, KEY[:8] in message) == ("EXECUTION_ERROR", False)
        code, message = await asked("odd")
        assert (code, "confidence" in message) == ("EXECUTION_ERROR", True)
        assert (await asked("slow"))[0] == "TIMEOUT_ERROR"
        outcomes = [run.outcome for run in await served.gateway.runs()]
        assert outcomes == ["timeout", "failed", "failed"]

    limits = {"timeout_seconds": 15, "cache": "off"}
    serve(run, tmp_path, say, scenario, programs=limits, key=KEY)
    kept = b"".join(one.read_bytes() for one in (tmp_path / "data").rglob("*") if one.is_file())
    assert (b"refused the key" in kept, KEY[:8].encode() in kept) == (True, False)


@pytest.mark.slow
@pytest.mark.usefixtures("root")
def test_the_time_limit_of_the_calling_program_holds_and_a_cancellation_is_recorded(
    tmp_path: Path, run: Run
) -> None:
    async def scenario(served: Served) -> None:
        await served.ask(**{**WORKLET_INPUTS, "case_context": "warming up"})
        served.chat.answer = lambda _: Answer("", delay=1_000.0)
        assert (await executed(served.client, CALLED)).startswith("[Script execution failed]")
        before = served.chat.count
        under_way = asyncio.create_task(
            served.gateway.parts.executor.execute_dspy("worklet_selector", WORKLET_INPUTS)
        )
        while served.chat.count == before:
            await asyncio.sleep(0.01)
        under_way.cancel()
        await asyncio.wait([under_way])
        assert (await served.gateway.runs())[0].outcome == "cancelled"

    serve(run, tmp_path, say_worklet, scenario, execution={"timeout_seconds": 2})


@pytest.mark.slow
def test_a_running_execution_keeps_its_program_across_a_reload(tmp_path: Path, root: Path, run: Run) -> None:
    let_go = threading.Event()

    def say(asked: Asked) -> Answer | Mapping[str, Any]:
        if "Do what two does." in str(asked.messages):
            return {"chosen": "by the second"}
        assert not asked.number or let_go.wait(PATIENCE)
        return Answer(said(WORKLET_OUTPUTS))

    async def scenario(served: Served) -> None:
        await served.ask(**{**WORKLET_INPUTS, "case_context": "warming up"})
        under_way = asyncio.create_task(served.ask())
        while served.chat.count < 2:
            await asyncio.sleep(0.01)
        two = predictor("two", [field("workflow_description")], [field("chosen")])
        write(root, spec("worklet_selector", two, version="2.0.0"))
        reloaded = await told(served.client, "dspy_reload_program", program="worklet_selector")
        new = await served.ask(workflow_description="Process")
        assert not under_way.done()
        let_go.set()
        assert new["chosen"] == "by the second"
        assert (await under_way)["worklet_id"] == "loan_standard"
        found = await told(served.client, "dspy_get_program_info", program="worklet_selector")
        assert (found["version"], found["source_hash"]) == ("2.0.0", reloaded["source_hash"])
        inspected = await told(served.client, "inspect_tool", tool_name="dspy__worklet_selector")
        assert list(inspected["outputSchema"]["properties"]) == ["chosen"]

    serve(run, tmp_path, say, scenario)


@pytest.mark.slow
@pytest.mark.parametrize("watch", [True, False])
def test_an_invalid_folder_never_replaces_a_working_program(
    tmp_path: Path, root: Path, watch: bool, run: Run
) -> None:
    async def scenario(served: Served) -> None:
        async def version() -> str:
            found = await told(served.client, "dspy_get_program_info", program="worklet_selector")
            return str(found["version"])

        assert await version() == "1.0.0"
        write(root, worklet(version="1.1.0"))
        assert await version() == ("1.1.0" if watch else "1.0.0")
        await asyncio.to_thread((root / "worklet_selector.json").write_text, "{")
        (broken,) = (await told(served.client, "dspy_list_programs"))["broken"]
        assert broken["name"] == "worklet_selector"
        answer = await served.client.call_tool("dspy_reload_program", {"program": "worklet_selector"})
        assert answer.is_error
        assert (await served.ask())["worklet_id"] == "loan_standard"
        write(root, worklet(version="1.3.0"))
        await told(served.client, "dspy_reload_program", program="worklet_selector")
        assert await version() == "1.3.0"

    serve(run, tmp_path, say_worklet, scenario, programs={"watch": watch})
