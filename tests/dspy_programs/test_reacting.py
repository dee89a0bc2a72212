"""DSPy programs that call tools, under the policy of every call."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from mcp.server.mcpserver import MCPServer
from mcp_types import ElicitResult, ToolAnnotations

from dspy_programs.saved import WORKLET_INPUTS, field, predictor, spec, worklet, write
from dspy_programs.serving import Served, executed, refused, serve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from dspy_programs.chat_server import Asked
    from dspy_programs.running import Run

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


def react(customer: str | None) -> Callable[[Asked], Mapping[str, Any]]:
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
    write(tmp_path / "programs", spec("finder", REACT))

    async def scenario(served: Served) -> None:
        printed = await executed(served.client, "print(await dspy__finder(question='Who buys most?'))")
        assert "{'answer': 'done'}" in printed
        by_kind = {run.kind: run for run in await served.gateway.runs()}
        outer, calls = await served.gateway.run(by_kind["program"].id)
        assert [(one.server, one.tool) for one in calls] == [("dspy", "finder")]
        inner, (call,) = await served.gateway.run(by_kind["dspy"].id)
        assert (inner.calls, inner.outcome) == (1, "ok")
        assert (call.server, call.tool, call.outcome) == ("sales", "sales_top_customers", "ok")
        assert call.parent == outer.id

    chat = serve(run, tmp_path, react(None), scenario, servers={"sales": sales()})
    assert "total_revenue" in chat.requests[1].last


def test_a_missing_tool_fails_the_execution_by_name(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "programs", spec("misspells", {**REACT, "tools": ["mcp__sales__top_customer"]}))

    async def scenario(served: Served) -> None:
        code, message = await refused(served.client, program="misspells", inputs={"question": "Who?"})
        assert (code, "mcp__sales__top_customer" in message) == ("EXECUTION_ERROR", True)

    assert serve(run, tmp_path, react(None), scenario, servers={"sales": sales()}).count == 0


def test_execution_rules_hold_for_a_react_program(tmp_path: Path, run: Run) -> None:
    write(tmp_path / "programs", spec("finder", REACT))
    write(tmp_path / "programs", worklet("kept_out"))

    async def scenario(served: Served) -> None:
        assert (await served.ask("finder", question="Who buys most?"))["answer"] == "done"
        (made,) = await served.gateway.runs()
        kept, calls = await served.gateway.run(made.id)
        # Its server declares it read-only, which is not trusted here.
        assert [(one.tool, one.outcome) for one in calls] == [("sales_top_customers", "tool-refused")]
        assert (kept.calls, kept.output) == (1, None)
        code, message = await refused(served.client, program="kept_out", inputs=WORKLET_INPUTS)
        assert (code, "tools.block" in message) == ("EXECUTION_ERROR", True)

    rules: dict[str, Any] = {
        "tools": {"block": ["dspy__kept_out"]},
        "execution": {"read_only": True},
        "traces": {"per_tool": {"dspy__finder": "metadata"}},
    }
    chat = serve(run, tmp_path, react(None), scenario, servers={"sales": sales()}, **rules)
    assert "execution.read_only" in chat.requests[1].last


@pytest.mark.parametrize("yes", [True, False])
def test_destructive_tools_of_a_react_program_need_confirmation(tmp_path: Path, yes: bool, run: Run) -> None:
    write(tmp_path / "programs", spec("finder", REACT))
    questions: list[str] = []

    async def answer(_context: Any, params: Any) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={"confirm": yes})

    async def scenario(served: Served) -> None:
        assert (await served.ask("finder", question="Who buys most?"))["answer"] == "done"
        _, calls = await served.gateway.run((await served.gateway.runs())[0].id)
        assert [one.tool for one in calls] == ["sales_top_customers", "delete_customer"]
        assert (calls[1].outcome == "tool-refused") is not yes

    rules: dict[str, Any] = {
        "tools": {"destructive": ["mcp__sales__delete_*"]},
        "execution": {"confirm_destructive": True},
    }
    asking = {"elicitation_callback": answer}
    serve(run, tmp_path, react("nobody"), scenario, servers={"sales": sales()}, client=asking, **rules)
    (question,) = questions
    assert "mcp__sales__delete_customer" in question


def test_programs_that_call_each_other_in_a_circle_end(tmp_path: Path, run: Run) -> None:
    settled = {"tools": ["dspy__circle"], "max_iterations": 1}
    circle = spec("circle", predictor("ask", [field("text")], [field("answer")], "ReAct", **settled))
    write(tmp_path / "programs", circle)

    def say(asked: Asked) -> Mapping[str, Any]:
        if "next_tool_name" not in asked.wanted:
            return {"reasoning": "Enough.", "answer": "end"}
        return {"next_thought": "Again.", "next_tool_name": "dspy__circle", "next_tool_args": {"text": "x"}}

    async def scenario(served: Served) -> None:
        assert (await served.ask("circle", text="x"))["answer"] == "end"
        assert len(await served.gateway.runs()) == 5

    serve(run, tmp_path, say, scenario, programs={"cache": "off"})
