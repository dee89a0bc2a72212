"""DSPy programs that call tools, under the policy of every call."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from mcp.server.mcpserver import MCPServer
from mcp_types import ElicitResult, ToolAnnotations

from dspy_programs.chat_server import Answer, Asked, chatting
from dspy_programs.saved import WORKLET_INPUTS, field, predictor, settings, spec, worklet, write
from dspy_programs.serving import executed, opened, refused, told

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path

    from dspy_programs.chat_server import ChatServer

    Run = Callable[[Coroutine[Any, Any, Any]], Any]
    Say = Callable[[Asked], Answer | str | Mapping[str, Any]]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("dspy") is None,
        reason="needs the extra: pip install 'halflap[dspy]'; `make test` installs it",
    ),
]


def sales() -> MCPServer:
    server = MCPServer("sales")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def sales_top_customers(limit: int = 5) -> list[dict[str, str]]:
        """List the customers who buy most."""
        return [{"customer_id": f"c{at}", "total_revenue": "9"} for at in range(limit)]

    @server.tool()
    def delete_customer(customer_id: str) -> str:
        """Delete a customer."""
        return f"{customer_id} is gone"

    return server


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


def test_tools_of_a_react_program_are_called_and_recorded_like_any_other(tmp_path: Path, run: Run) -> None:
    root = tmp_path / "programs"
    write(root, spec("finder", REACT))

    async def scenario(chat: ChatServer) -> None:
        async with opened(tmp_path, settings(root, chat), {"sales": sales()}) as (gateway, client):
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


def test_a_missing_tool_fails_the_execution_by_name(tmp_path: Path, run: Run) -> None:
    root = tmp_path / "programs"
    write(root, spec("misspells", {**REACT, "tools": ["mcp__sales__top_customer"]}))

    async def scenario(chat: ChatServer) -> None:
        async with opened(tmp_path, settings(root, chat), {"sales": sales()}) as (_, client):
            code, message = await refused(client, program="misspells", inputs={"question": "Who?"})
            assert (code, "mcp__sales__top_customer" in message) == ("EXECUTION_ERROR", True)

    with chatting(react(None)) as chat:
        run(scenario(chat))
        assert chat.count == 0


def test_execution_rules_hold_for_a_react_program(tmp_path: Path, run: Run) -> None:
    root = tmp_path / "programs"
    write(root, spec("finder", REACT))
    write(root, worklet("kept_out"))

    async def scenario(chat: ChatServer) -> None:
        more = {
            "tools": {"block": ["dspy__kept_out"]},
            "execution": {"read_only": True},
            "traces": {"per_tool": {"dspy__finder": "metadata"}},
        }
        async with opened(tmp_path, settings(root, chat, **more), {"sales": sales()}) as (gateway, client):
            asking = {"program": "finder", "inputs": {"question": "Who buys most?"}}
            assert (await told(client, "dspy_execute_program", **asking))["answer"] == "done"
            (made,) = await gateway.runs()
            kept, calls = await gateway.run(made.id)
            # Its server says that it is read-only, and nobody has said to trust that.
            assert [(one.tool, one.outcome) for one in calls] == [("sales_top_customers", "tool-refused")]
            assert (kept.calls, kept.output) == (1, None)
            code, message = await refused(client, program="kept_out", inputs=WORKLET_INPUTS)
            assert (code, "tools.block" in message) == ("EXECUTION_ERROR", True)

    with chatting(react(None)) as chat:
        run(scenario(chat))
        assert "execution.read_only" in chat.requests[1].last


@pytest.mark.parametrize("yes", [True, False])
def test_destructive_tools_of_a_react_program_need_confirmation(tmp_path: Path, yes: bool, run: Run) -> None:
    root = tmp_path / "programs"
    write(root, spec("finder", REACT))
    questions: list[str] = []

    async def answer(_context: Any, params: Any) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={"confirm": yes})

    async def scenario(chat: ChatServer) -> None:
        more = {
            "tools": {"destructive": ["mcp__sales__delete_*"]},
            "execution": {"confirm_destructive": True},
        }
        config = settings(root, chat, **more)
        async with opened(tmp_path, config, {"sales": sales()}, elicitation_callback=answer) as (
            gateway,
            client,
        ):
            asking = {"program": "finder", "inputs": {"question": "Who buys most?"}}
            assert (await told(client, "dspy_execute_program", **asking))["answer"] == "done"
            _, calls = await gateway.run((await gateway.runs())[0].id)
            assert [one.tool for one in calls] == ["sales_top_customers", "delete_customer"]
            assert (calls[1].outcome == "tool-refused") is not yes

    with chatting(react("nobody")) as chat:
        run(scenario(chat))
        assert ("not confirmed" in chat.requests[-1].last) is not yes
    (question,) = questions
    assert "mcp__sales__delete_customer" in question


def test_programs_that_call_each_other_in_a_circle_end(tmp_path: Path, run: Run) -> None:
    root = tmp_path / "programs"
    settled = {"tools": ["dspy__circle"], "max_iterations": 1}
    write(root, spec("circle", predictor("ask", [field("text")], [field("answer")], "ReAct", **settled)))

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
