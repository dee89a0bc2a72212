"""DSPy programs that call tools, under the policy of every call."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from mcp.server.mcpserver import MCPServer
from mcp_types import ElicitResult, ToolAnnotations

from dspy_programs.saved import WORKLET_INPUTS, field, predictor, spec, worklet, write
from dspy_programs.serving import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from dspy_programs.chat_server import Asked

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("dspy") is None, reason="needs the extra: pip install 'halflap[dspy]'"),
]
TOOLS = ["mcp__sales__sales_top_customers", "mcp__sales__delete_customer"]
REACT = predictor("find", [field("question")], [field("answer")], "ReAct", tools=TOOLS, max_iterations=4)


def sales() -> dict[str, MCPServer]:
    server = MCPServer("sales")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def sales_top_customers(limit: int = 5) -> list[dict[str, str]]:
        """List the customers who buy most."""
        return [{"customer_id": f"c{at}", "total_revenue": "9"} for at in range(limit)]

    @server.tool()
    def delete_customer(customer_id: str) -> str:
        """Delete a customer."""
        return f"{customer_id} is gone"

    return {"sales": server}


def react(customer: str | None) -> Callable[[Asked], Mapping[str, Any]]:
    """Play a model that looks up the top customers, perhaps deletes one, and then answers."""

    def say(asked: Asked) -> Mapping[str, Any]:
        if "next_tool_name" not in asked.wanted:
            return {"reasoning": "It is all there.", "answer": "done"}
        tool, given = TOOLS[0], {"limit": 1}
        if "observation_0" in asked.last:
            tool, given = "finish", {}
            if customer is not None and "observation_1" not in asked.last:
                return {
                    "next_thought": "Go.",
                    "next_tool_name": TOOLS[1],
                    "next_tool_args": {"customer_id": customer},
                }
        return {"next_thought": "Look.", "next_tool_name": tool, "next_tool_args": given}

    return say


async def test_tools_of_a_react_program_are_called_and_recorded_like_any_other(tmp_path: Path) -> None:
    write(tmp_path / "programs", spec("finder", REACT))
    async with serving(tmp_path, react(None), servers=sales()) as served:
        printed = await served.execute("print(await dspy__finder(question='Who buys most?'))")
        assert "{'answer': 'done'}" in printed
        outer, calls = await served.recorded("program")
        assert [(one.server, one.tool) for one in calls] == [("dspy", "finder")]
        inner, (call,) = await served.recorded("dspy")
    assert (inner.calls, inner.outcome) == (1, "ok")
    assert (call.server, call.tool, call.outcome) == ("sales", "sales_top_customers", "ok")
    assert call.parent == outer.id
    assert "total_revenue" in served.chat.requests[1].last


async def test_execution_rules_hold_for_a_react_program(tmp_path: Path) -> None:
    write(tmp_path / "programs", spec("finder", REACT))
    write(tmp_path / "programs", spec("misspells", {**REACT, "tools": ["mcp__sales__top_customer"]}))
    write(tmp_path / "programs", worklet("kept_out"))
    rules: dict[str, Any] = {
        "tools": {"block": ["dspy__kept_out"]},
        "execution": {"read_only": True},
        "traces": {"per_tool": {"dspy__finder": "metadata"}},
    }
    async with serving(tmp_path, react(None), servers=sales(), **rules) as served:
        assert (await served.ask("finder", question="Who buys most?"))["answer"] == "done"
        kept, calls = await served.recorded("dspy")
        # Its server declares it read-only, which is not trusted here.
        assert [(one.tool, one.outcome) for one in calls] == [("sales_top_customers", "tool-refused")]
        assert (kept.calls, kept.output) == (1, None)
        assert "execution.read_only" in served.chat.requests[1].last
        code, message = await served.refused("kept_out", **WORKLET_INPUTS)
        assert (code, "tools.block" in message) == ("EXECUTION_ERROR", True)
        code, message = await served.refused("misspells", question="Who?")
        assert (code, "mcp__sales__top_customer" in message) == ("EXECUTION_ERROR", True)


@pytest.mark.parametrize("yes", [True, False])
async def test_destructive_tools_of_a_react_program_need_confirmation(tmp_path: Path, yes: bool) -> None:
    write(tmp_path / "programs", spec("finder", REACT))
    questions: list[str] = []

    async def answer(_context: Any, params: Any) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={"confirm": yes})

    rules: dict[str, Any] = {
        "tools": {"destructive": ["mcp__sales__delete_*"]},
        "execution": {"confirm_destructive": True},
    }
    asking = {"elicitation_callback": answer}
    async with serving(tmp_path, react("c1"), servers=sales(), client=asking, **rules) as served:
        assert (await served.ask("finder", question="Who buys most?"))["answer"] == "done"
        _, calls = await served.recorded("dspy")
    assert [one.tool for one in calls] == ["sales_top_customers", "delete_customer"]
    assert (calls[1].outcome == "tool-refused") is not yes
    (question,) = questions
    assert "mcp__sales__delete_customer" in question
