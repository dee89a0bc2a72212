"""The tools of the gepa family over MCP: what they take, what they answer, and that nobody waits for them who has not asked."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from blockbuster import blockbuster_ctx
from mcp import Client

from halflap.codes import CODES
from halflap.config import Config
from halflap.errors import WorkflowFailedError
from halflap.gateway import Gateway
from halflap.server.app import Front
from halflap.workflows import workers
from halflap.workflows.form import read_net
from halflap.workflows.published import example_nets
from halflap.workflows.specification import Specification
from halflap.workflows.yawl import write_yawl

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Ask = Callable[[Client], Awaitable[Any]]

ORDER = example_nets()["order"]
OBJECT = {"type": "object"}
WEIGHT = {"type": "number", "minimum": 0, "maximum": 1}


def chain(*tasks: str, **said: Any) -> dict[str, Any]:
    """Give a workflow of tasks that are done one after the other; nothing is said of their data but what is said here."""
    ends = zip(("i", *tasks), (*tasks, "o"), strict=True)
    return {
        "id": "chain",
        "input": "i",
        "output": "o",
        "tasks": [{"id": task, "duration": 10, **said} for task in tasks],
        "flows": [{"from": one, "to": other} for one, other in ends],
    }


def tangled(width: int) -> dict[str, Any]:
    """Give a workflow that is not made of blocks, with more states than anybody can look at in a moment."""
    ways = range(width)
    nodes = [
        ("a", "xor", "and"),
        *((f"{k}{at}", "xor", "and") for k in "bc" for at in ways),
        ("z", "and", "and"),
    ]
    flows = [("i", "a"), ("z", "o")]
    for at in ways:
        flows += [("a", f"b{at}"), (f"b{at}", f"c{at}"), (f"c{at}", "z")]
    # One way leads from the middle of another: no gates close it.
    nodes = [(name, "and" if name == "c0" else join, split) for name, join, split in nodes]
    flows.append(("b1", "c0"))
    return {
        "id": "tangled",
        "input": "i",
        "output": "o",
        "tasks": [{"id": name, "join": join, "split": split} for name, join, split in nodes],
        "flows": [{"from": one, "to": other} for one, other in flows],
    }


def asked(tmp_path: Path, ask: Ask, **workflows: Any) -> Any:
    config = replace(Config.from_mapping({"workflows": workflows}), data_dir=tmp_path / "data")

    async def scenario() -> Any:
        async with Gateway.open(config) as gateway, Client(Front(gateway).server) as client:
            return await ask(client)

    with blockbuster_ctx("halflap"):
        return asyncio.run(scenario())


def answers_of(tmp_path: Path, *calls: tuple[str, dict[str, Any]], **workflows: Any) -> list[Any]:
    """Give what tools answer; it has to be as it is declared, and the same as text."""

    async def ask(client: Client) -> list[Any]:
        declared = {one.name: one.output_schema for one in (await client.list_tools()).tools}
        found = [await client.call_tool(f"gepa_{name}", arguments) for name, arguments in calls]
        for (name, _), one in zip(calls, found, strict=True):
            text = json.dumps(one.structured_content, indent=2, ensure_ascii=False)
            assert one.content[0].text == text  # type: ignore[union-attr]
            schema = declared[f"gepa_{name}"]
            assert schema is not None
            jsonschema_rs.validate(schema, one.structured_content)
        return found

    return list(asked(tmp_path, ask, **workflows))


def answer_of(tmp_path: Path, name: str, arguments: dict[str, Any], **workflows: Any) -> Any:
    (found,) = answers_of(tmp_path, (name, arguments), **workflows)
    assert not found.is_error, found.structured_content
    return found.structured_content


def failure(found: Any) -> tuple[str, str]:
    told = found.structured_content
    assert (found.is_error, sorted(told), told["error"]) == (True, ["code", "error", "message"], True)
    assert found.meta["halflap"]["code"] in CODES
    return told["code"], told["message"]


def without_descriptions(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {key: without_descriptions(one) for key, one in schema.items() if key != "description"}
    return schema


def test_the_tools_take_what_their_documents_say(tmp_path: Path) -> None:
    async def ask(client: Client) -> Any:
        return {one.name: one for one in (await client.list_tools()).tools}

    tools = asked(tmp_path, ask)
    takes = {
        name: without_descriptions(one.input_schema)
        for name, one in tools.items()
        if name.startswith("gepa_")
    }
    patterns = {"type": "array", "items": {"type": "string"}}
    assert takes == {
        "gepa_optimize_workflow": {
            "type": "object",
            "required": ["workflow_spec", "optimization_target"],
            "properties": {
                "workflow_spec": OBJECT,
                "optimization_target": {"type": "string", "enum": ["performance", "behavioral", "balanced"]},
                "constraints": OBJECT,
                "reference_patterns": patterns,
            },
        },
        "gepa_validate_footprint": {
            "type": "object",
            "required": ["original_workflow", "optimized_workflow"],
            "properties": {
                "original_workflow": OBJECT,
                "optimized_workflow": OBJECT,
                "validation_mode": {"type": "string", "enum": ["strict", "balanced", "lenient"]},
            },
        },
        "gepa_score_workflow": {
            "type": "object",
            "required": ["workflow", "reference_patterns"],
            "properties": {
                "workflow": OBJECT,
                "reference_patterns": patterns,
                "scoring_weights": {
                    "type": "object",
                    "properties": {
                        "performance": WEIGHT,
                        "maintainability": WEIGHT,
                        "compliance": WEIGHT,
                    },
                },
            },
        },
    }
    assert all(tools[name].annotations.read_only_hint for name in takes)


def test_a_workflow_is_optimised_and_its_own_verdict_is_among_the_answer(tmp_path: Path) -> None:
    slow = chain("a", "b", reads=[], writes=[])
    arguments = {"workflow_spec": slow, "optimization_target": "performance"}
    first, second = answers_of(tmp_path, ("optimize_workflow", arguments), ("optimize_workflow", arguments))
    found = first.structured_content
    assert found["metrics"]["before"]["expected_makespan"] == 20
    assert found["metrics"]["after"]["expected_makespan"] == 10
    assert sum(one["gain"]["expected_makespan"] for one in found["transformations"]) == 10
    assert found["validation"]["validation_passed"]
    read_net(found["optimized_workflow"])
    assert second.structured_content == found


def test_what_constraints_keep_is_kept(tmp_path: Path) -> None:
    slow = chain("a", "b", reads=[], writes=[])
    found = answer_of(
        tmp_path,
        "optimize_workflow",
        {"workflow_spec": slow, "optimization_target": "performance", "constraints": {"max_parallel": 1}},
    )
    assert (found["changed"], found["metrics"]["after"]["expected_makespan"]) == (False, 20)


def test_two_workflows_are_compared_by_the_mode_that_is_asked_for(tmp_path: Path) -> None:
    both = {"original_workflow": chain("a", "b"), "optimized_workflow": chain("b", "a")}
    (strict,) = answers_of(tmp_path, ("validate_footprint", {**both, "validation_mode": "strict"}))
    found = strict.structured_content
    assert (found["validation_passed"], found["behavioral_equivalence"], found["conclusive"]) == (
        False,
        False,
        True,
    )
    assert found["counterexample"]["trace"] in (["a", "b"], ["b", "a"])
    assert {(one["row"], one["original"], one["optimized"]) for one in found["differences"]} == {
        ("a", "→", "←"),
        ("b", "←", "→"),
    }


def test_a_workflow_may_be_the_xml_of_a_specification(tmp_path: Path) -> None:
    net = read_net(ORDER)
    text = write_yawl(Specification(net.id, net.id, {net.id: net}))
    found = answer_of(
        tmp_path,
        "validate_footprint",
        {"original_workflow": ORDER, "optimized_workflow": {"yawl": text}, "validation_mode": "strict"},
    )
    assert found["validation_passed"]


def test_a_workflow_is_scored_with_the_weights_that_are_given(tmp_path: Path) -> None:
    weights = {"performance": 1, "maintainability": 0, "compliance": 0}
    found = answer_of(
        tmp_path,
        "score_workflow",
        {"workflow": ORDER, "reference_patterns": ["choice"], "scoring_weights": weights},
    )
    assert found["weights"] == weights
    assert list(found["pattern_scores"]) == ["choice"]
    assert found["dimension_scores"]["performance"] == pytest.approx(
        found["raw"]["performance"]["critical_path"] / found["raw"]["performance"]["expected_makespan"]
    )


def test_every_mistake_is_told_at_once_and_where_it_is(tmp_path: Path) -> None:
    broken = {**ORDER, "flows": [*ORDER["flows"], {"from": "ship", "to": "nowhere"}]}
    optimize, validate, score, nothing = answers_of(
        tmp_path,
        (
            "optimize_workflow",
            {
                "workflow_spec": ORDER,
                "optimization_target": "speed",
                "constraints": {"max_price": 3},
                "reference_patterns": ["spiral"],
            },
        ),
        ("validate_footprint", {"original_workflow": broken, "optimised_workflow": {}, "validation_mode": 3}),
        (
            "score_workflow",
            {"workflow": [], "reference_patterns": "loop", "scoring_weights": {"performance": 2, "x": 1}},
        ),
        ("score_workflow", {}),
    )
    code, message = failure(optimize)
    assert code == "INVALID_INPUTS"
    assert (
        "- optimization_target: It has to be one of performance, behavioral, balanced, not 'speed'."
        in message
    )
    assert "- constraints.max_price: There is no constraint 'max_price'" in message
    assert "- reference_patterns[0]: There is no pattern 'spiral'" in message
    code, message = failure(validate)
    assert code == "INVALID_INPUTS"
    assert "- original_workflow.flows[9].to: There is no task or condition 'nowhere'." in message
    assert "- optimised_workflow: There is no such parameter. Did you mean 'optimized_workflow'?" in message
    assert "- Parameter 'optimized_workflow' is required and must not be empty" in message
    assert "- validation_mode: It has to be one of strict, balanced, lenient, not a number." in message
    code, message = failure(score)
    assert code == "INVALID_INPUTS"
    assert "- workflow: It has to be an object, a workflow, not a list." in message
    assert (
        "- scoring_weights.performance: Expected a number from 0 to 1, and there is the number 2." in message
    )
    assert "- scoring_weights.x: There is no weight 'x'" in message
    code, message = failure(nothing)
    assert "- Parameter 'workflow' is required and must not be empty" in message
    assert "- Parameter 'reference_patterns' is required" in message


def test_or_gates_that_form_no_block_are_told_with_all_else_and_where_they_are(tmp_path: Path) -> None:
    first, *rest = ORDER["tasks"]
    loose = {**ORDER, "tasks": [{**first, "split": "or"}, *rest]}
    within = {"id": "order", "root": "order", "nets": [{**chain("a"), "id": "other"}, loose]}
    net = read_net(loose)
    text = write_yawl(Specification(net.id, net.id, {net.id: net}))
    score, optimize, nested, xml = answers_of(
        tmp_path,
        ("score_workflow", {"workflow": loose, "reference_patterns": ["spiral"]}),
        ("optimize_workflow", {"workflow_spec": loose, "optimization_target": "speed"}),
        ("score_workflow", {"workflow": within, "reference_patterns": []}),
        ("score_workflow", {"workflow": {"yawl": text}, "reference_patterns": []}),
    )
    code, message = failure(score)
    assert code == "INVALID_INPUTS"
    assert (
        "- workflow.tasks[0].split: The ways of the or-split of 'receive' do not all come together" in message
    )
    assert "- reference_patterns[0]: There is no pattern 'spiral'" in message
    code, message = failure(optimize)
    assert "- workflow_spec.tasks[0].split: The ways of the or-split" in message
    assert "- optimization_target: It has to be one of" in message
    assert "- workflow.nets[1].tasks[0].split: The ways of the or-split" in failure(nested)[1]
    assert "- workflow.yawl: net 'order', task 'receive': The ways of the or-split" in failure(xml)[1]


def test_what_is_null_is_as_if_it_were_left_out(tmp_path: Path) -> None:
    both = {"original_workflow": ORDER, "optimized_workflow": ORDER}
    assert (
        answer_of(tmp_path, "validate_footprint", {**both, "validation_mode": None})["validation_mode"]
        == "balanced"
    )


@pytest.mark.parametrize(
    ("workflow", "said"),
    [
        (
            {"yawl": "<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><x>&e;</x>"},
            "original_workflow.yawl: ",
        ),
        (
            {"yawl": 3},
            "original_workflow.yawl: It has to be the XML of a specification as text, not a number.",
        ),
        (
            {"yawl": "<x/>", "id": "a"},
            "original_workflow: Beside 'yawl' there can be nothing; there is 'id'.",
        ),
        ({"id": "a"}, "original_workflow"),
    ],
)
def test_what_is_no_workflow_is_refused(tmp_path: Path, workflow: dict[str, Any], said: str) -> None:
    arguments = {"original_workflow": workflow, "optimized_workflow": ORDER}
    (found,) = answers_of(tmp_path, ("validate_footprint", arguments))
    code, message = failure(found)
    assert (code, said in message) == ("INVALID_INPUTS", True)


def test_others_are_answered_while_a_workflow_is_looked_at_which_is_ended_in_time(tmp_path: Path) -> None:
    hard = tangled(14)

    async def ask(client: Client) -> Any:
        arguments = {"original_workflow": hard, "optimized_workflow": hard, "validation_mode": "strict"}
        at_it = asyncio.create_task(client.call_tool("gepa_validate_footprint", arguments))
        answered = 0
        while not at_it.done():
            await client.list_tools()
            answered += 1
            await asyncio.sleep(0.01)
        return await at_it, answered

    found, answered = asked(tmp_path, ask, timeout_seconds=1)
    code, message = failure(found)
    assert (code, "It was ended after 1 s" in message) == ("TIMEOUT_ERROR", True)
    # Had the loop been held up, it would have been one.
    assert answered > 2


def test_a_process_that_dies_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_BOOT", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    arguments = {"original_workflow": ORDER, "optimized_workflow": ORDER}
    (found,) = answers_of(tmp_path, ("validate_footprint", arguments))
    code, message = failure(found)
    assert code == "EXECUTION_ERROR"
    assert message == str(
        WorkflowFailedError("the process that was at it ended with -9. Halflap's log has what it said.")
    )
    assert found.meta["halflap"]["code"] == "workflow-failed"
