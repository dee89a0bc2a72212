"""DSPy programs that call tools: as everything is called, under the rules for programs, and with the person's word."""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from mcp_types import ElicitResult

from halflap.demo import demo_config
from programs.chat_server import Answer, Asked, chatting
from programs.saved import WORKLET_INPUTS, field, manifest, predictor, settings, worklet, write
from programs.serving import executed, opened, refused, told

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path

    from programs.chat_server import ChatServer

    Run = Callable[[Coroutine[Any, Any, Any]], Any]
    Say = Callable[[Asked], Answer | str | Mapping[str, Any]]

pytestmark = pytest.mark.skipif(
    find_spec("dspy") is None, reason="needs the extra: pip install 'halflap[dspy]'; `make test` installs it"
)
SALES = next(one for one in demo_config()["servers"] if one["name"] == "sales")
REACT = predictor(
    "find",
    [field("question")],
    [field("answer")],
    "ReAct",
    tools=["mcp__sales__sales_top_customers", "mcp__sales__delete_customer"],
    max_iterations=4,
)


def react(customer: str | None) -> Say:
    """Play a model that looks up the top customers, perhaps deletes one, and then answers."""

    def say(asked: Asked) -> Mapping[str, Any]:
        if "next_tool_name" not in asked.wanted:
            return {"reasoning": "It is all there.", "answer": "done"}
        tool = "mcp__sales__sales_top_customers"
        given: dict[str, Any] = {"limit": 1}
        if "observation_0" in asked.last:
            tool, given = "finish", {}
            if customer is not None and "observation_1" not in asked.last:
                tool, given = "mcp__sales__delete_customer", {"customer_id": customer}
        return {"next_thought": "Look.", "next_tool_name": tool, "next_tool_args": given}

    return say


def test_the_tools_of_a_react_program_go_the_way_of_every_call(tmp_path: Path, run: Run) -> None:
    root = tmp_path / "programs"
    write(root, manifest("finder", REACT))

    async def scenario(chat: ChatServer) -> None:
        async with opened(tmp_path, settings(root, chat, servers=[SALES])) as (gateway, client):
            printed = await executed(client, "print(await dspy__finder(question='Who buys most?'))")
            assert "{'answer': 'done'}" in printed
            by_kind = {run.kind: run for run in await gateway.runs()}
            outer, calls = await gateway.run(by_kind["program"].id)
            assert [(one.server, one.tool) for one in calls] == [("dspy", "finder")]
            inner, calls = await gateway.run(by_kind["dspy"].id)
            assert (inner.calls, inner.outcome) == (1, "ok")
            (call,) = calls
            assert (call.server, call.tool, call.outcome, call.parent) == (
                "sales", "sales_top_customers", "ok", outer.id,
            )  # fmt: skip

    with chatting(react(None)) as chat:
        run(scenario(chat))
        assert "total_revenue" in chat.requests[1].last


def test_a_program_whose_tools_are_not_there_is_listed_as_broken_until_they_are(
    tmp_path: Path, run: Run
) -> None:
    root, starter = tmp_path / "programs", tmp_path / "start"
    for name, tool in {
        "finds": "mcp__sales__sales_top_customers",
        "misspells": "mcp__sales__top_customer",
        "waits": "mcp__late__sales_top_customers",
        "rests": "mcp__resting__sales_top_customers",
        "dreams": "mcp__nowhere__x",
        "leans": "dspy__helper",
    }.items():
        write(root, manifest(name, {**REACT, "tools": [tool]}))
    servers = [
        SALES,
        {**SALES, "name": "resting", "disabled": True},
        {**SALES, "name": "late", "command": str(starter), "args": []},
    ]
    config = {"servers": servers, "programs": {"root": str(root)}}

    async def scenario() -> None:
        async with opened(tmp_path, config) as (gateway, client):

            async def listed() -> tuple[list[str], dict[str, str]]:
                found = await told(client, "dspy_list_programs")
                assert found["total_count"] == len(found["programs"])
                return [one["name"] for one in found["programs"]], {
                    one["name"]: one["reason"] for one in found["broken"]
                }

            # Nobody had asked any server before.
            good, broken = await listed()
            assert good == ["finds"]
            assert sorted(broken) == ["dreams", "leans", "misspells", "rests", "waits"]
            assert "mcp__sales__top_customer (the server sales has no such tool)" in broken["misspells"]
            assert "(the server late cannot be asked: " in broken["waits"]
            assert "(the server resting is off)" in broken["rests"]
            assert "(there is no server of that name)" in broken["dreams"]
            assert "dspy__helper (there is none of that name)" in broken["leans"]
            info = await told(client, "dspy_get_program_info", program="waits")
            assert info["name"] == "waits"
            answer = await client.call_tool("dspy_reload_program", {"program": "waits"})
            assert answer.is_error

            write(root, worklet("helper"))
            starter.write_text(f"#!/bin/sh\n{shlex.join(['exec', SALES['command'], *SALES['args']])}\n")
            starter.chmod(0o755)
            await gateway.refresh("late")
            good, broken = await listed()
            assert good == ["finds", "helper", "leans", "waits"]
            assert sorted(broken) == ["dreams", "misspells", "rests"]

    run(scenario())


def test_the_rules_for_programs_hold_for_what_a_react_program_calls(tmp_path: Path, run: Run) -> None:
    root = tmp_path / "programs"
    write(root, manifest("finder", REACT))
    write(root, worklet("kept_out"))

    async def scenario(chat: ChatServer) -> None:
        more = {
            "servers": [SALES],
            "tools": {"block": ["dspy__kept_out"]},
            "execution": {"read_only": True},
            "traces": {"per_tool": {"dspy__finder": "metadata"}},
        }
        async with opened(tmp_path, settings(root, chat, **more)) as (gateway, client):
            asking = {"program": "finder", "inputs": {"question": "Who buys most?"}}
            assert (await told(client, "dspy_execute_program", **asking))["answer"] == "done"
            (made,) = await gateway.runs()
            kept, calls = await gateway.run(made.id)
            # Its server says that it is read-only, and nobody has said to trust that.
            assert [(one.tool, one.outcome) for one in calls] == [("sales_top_customers", "tool-refused")]
            assert (kept.calls, kept.output) == (1, None)
            code, message = await refused(client, program="kept_out", inputs=WORKLET_INPUTS)
            assert (code, "`tools.block: dspy__kept_out`" in message) == ("EXECUTION_ERROR", True)

    with chatting(react(None)) as chat:
        run(scenario(chat))
        assert "`execution.read_only` lets programs call no other tools" in chat.requests[1].last


@pytest.mark.parametrize("yes", [True, False])
def test_the_person_is_asked_about_what_a_react_program_may_destroy(
    tmp_path: Path, yes: bool, run: Run
) -> None:
    root = tmp_path / "programs"
    write(root, manifest("finder", REACT))
    questions: list[str] = []

    async def answer(_context: Any, params: Any) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={"confirm": yes})

    async def scenario(chat: ChatServer) -> None:
        more = {
            "servers": [SALES],
            "tools": {"destructive": ["mcp__sales__delete_*"]},
            "execution": {"confirm_destructive": True},
        }
        config = settings(root, chat, **more)
        async with opened(tmp_path, config, elicitation_callback=answer) as (gateway, client):
            asking = {"program": "finder", "inputs": {"question": "Who buys most?"}}
            assert (await told(client, "dspy_execute_program", **asking))["answer"] == "done"
            _, calls = await gateway.run((await gateway.runs())[0].id)
            assert [one.tool for one in calls] == ["sales_top_customers", "delete_customer"]
            assert (calls[1].outcome == "tool-refused") is not yes

    with chatting(react("nobody")) as chat:
        run(scenario(chat))
        told_model = chat.requests[-1].last
        assert ("was not confirmed by the person" in told_model) is not yes
    (question,) = questions
    assert question.startswith("The DSPy program finder can call tools which destroy something:")
    assert "- mcp__sales__delete_customer:" in question


def test_programs_that_call_each_other_in_a_circle_come_to_an_end(tmp_path: Path, run: Run) -> None:
    root = tmp_path / "programs"
    settled = {"tools": ["dspy__circle"], "max_iterations": 1}
    write(root, manifest("circle", predictor("ask", [field("text")], [field("answer")], "ReAct", **settled)))

    def say(asked: Asked) -> Mapping[str, Any]:
        if "next_tool_name" not in asked.wanted:
            return {"reasoning": "Enough.", "answer": "end"}
        return {"next_thought": "Again.", "next_tool_name": "dspy__circle", "next_tool_args": {"text": "x"}}

    async def scenario(chat: ChatServer) -> None:
        config = settings(root, chat, programs={"cache": "off"})
        async with opened(tmp_path, config) as (gateway, client):
            asking = {"program": "circle", "inputs": {"text": "x"}}
            assert (await told(client, "dspy_execute_program", **asking))["answer"] == "end"
            assert len(await gateway.runs()) == 5

    with chatting(say) as chat:
        run(scenario(chat))
