"""The gepa tools over MCP: mistakes in what they take, and that other requests are answered meanwhile.

What they compute is tested in tests/workflows, what they answer in tests/acceptance.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from dspy_programs.chat_server import Answer
from dspy_programs.serving import serving
from halflap.workflows.examples import example_nets
from halflap.workflows.model.form import read_net
from halflap.workflows.model.net import Specification
from halflap.workflows.run import process
from halflap.workflows.yawl import read_yawl, write_yawl
from server.faces import in_memory
from support import run_unblocked

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcp import Client

    from dspy_programs.chat_server import Asked

    Ask = Callable[[Client], Awaitable[Any]]

ORDER = example_nets()["order"]


def chain(*tasks: str, **said: Any) -> dict[str, Any]:
    """Return a workflow of tasks done one after the other."""
    ends = zip(("i", *tasks), (*tasks, "o"), strict=True)
    return {
        "id": "chain",
        "input": "i",
        "output": "o",
        "tasks": [{"id": task, "duration": 10, **said} for task in tasks],
        "flows": [{"from": one, "to": other} for one, other in ends],
    }


def _yawl() -> dict[str, str]:
    net = read_net(ORDER)
    return {"yawl": write_yawl(Specification.of(net))}


def asked(home: Path, ask: Ask, **workflows: Any) -> Any:
    async def scenario() -> Any:
        async with in_memory(home, {}, {"server": {"families": ["gepa"]}, "workflows": workflows}) as client:
            return await ask(client)

    return run_unblocked(scenario())


def test_mistakes_and_results_fit_the_declared_schema(home: Path) -> None:
    entity = {"yawl": "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><x>&e;</x>"}
    several = {"workflow_spec": ORDER, "optimization_target": "speed", "constraints": {"max_price": 3}}

    async def ask(client: Client) -> Any:
        schemas = {one.name: one.output_schema for one in (await client.list_tools()).tools}
        found = []
        for name, arguments in (
            ("optimize_workflow", {"workflow_spec": _yawl(), "optimization_target": "behavioral"}),
            ("optimize_workflow", several),
            ("validate_footprint", {"original_workflow": entity, "optimized_workflow": ORDER}),
        ):
            answer = await client.call_tool(f"gepa_{name}", arguments)
            jsonschema_rs.validate(schemas[f"gepa_{name}"] or {}, answer.structured_content)
            found.append(answer.structured_content)
        return found

    in_yawl, wrong, attack = asked(home, ask)
    assert "receive" in read_yawl(in_yawl["optimized_workflow"]["yawl"]).net.tasks
    assert (wrong["code"], attack["code"]) == ("INVALID_INPUTS", "INVALID_INPUTS")
    assert all(place in wrong["message"] for place in ("optimization_target", "constraints.max_price"))
    assert "original_workflow" in attack["message"]


def test_a_worker_that_dies_is_an_error(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_BOOT", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    arguments = {"original_workflow": ORDER, "optimized_workflow": ORDER}
    found = asked(home, lambda client: client.call_tool("gepa_validate_footprint", arguments))
    assert (found.is_error, found.structured_content["code"]) == (True, "EXECUTION_ERROR")
    assert found.meta["halflap"]["code"] == "workflow-failed"


# A configured model -----------------------------------------------------------------------------------


@pytest.mark.skipif(
    find_spec("dspy") is None or find_spec("gepa") is None, reason="needs halflap[dspy] and halflap[gepa]"
)
async def test_a_configured_model_chooses_changes_and_an_unavailable_one_is_only_a_note(
    tmp_path: Path,
) -> None:
    tasks = [{"reads": [], "writes": []}, {"reads": [], "writes": []}, {"reads": ["c"], "writes": ["c"]}]
    workflow = chain("a", "b", "c")
    for task, data in zip(workflow["tasks"], tasks, strict=True):
        task.update(data)
    given = {"workflow_spec": workflow, "optimization_target": "performance"}
    answers: list[Any] = []
    broken: list[bool] = []

    def say(asked: Asked) -> Any:
        assert '"id": "chain"' in asked.inputs["question"] or broken[-1]
        return Answer(status=400) if broken[-1] else {"reply": "2"}

    async with serving(tmp_path, say, server={"families": ["gepa"]}) as served:
        for failing in (False, True):
            broken.append(failing)
            answers.append(await served.call("gepa_optimize_workflow", **given))
            workflow["id"] = "another"
        recorded = await served.gateway.runs()
        assert {(one.kind, one.name) for one in recorded} == {("dspy", "workflow_reflection")}
        assert served.chat.count > 1
    assert [one["metrics"]["after"]["expected_makespan"] for one in answers] == [10, 10]
    assert ["asked" in one["notes"][0] for one in answers] == [True, True]
    assert ["could not be asked" in " ".join(one["notes"]) for one in answers] == [False, True]
