"""`execute_program`: run Python over the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from halflap.core.codes import RunCode
from halflap.core.errors import SandboxError, UsageError
from halflap.server.confirmation import Question
from halflap.server.family import Answer, FrontTool

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.gateway import Gateway
    from halflap.sandbox.run.report import Execution
    from halflap.server.caller import Caller

__all__ = ["execute_program"]

_DESCRIPTION = """\
Runs a Python program in a sandbox and returns what it printed. Every tool of every connected MCP server is an \
async function under its namespaced name, with keyword arguments: `rows = await mcp__sales__list_orders(limit=5)`. \
Saved scripts and DSPy programs are called the same way, as `script__<name>` and `dspy__<name>`. Await at top level; asyncio.gather runs calls at the same time. A tool's value is parsed JSON where it returns JSON. \
Only what is printed comes back, so filter and add up in the program and print the answer, not the data. A failed \
call raises ToolError. show(x) puts an image among the results before you. The standard library is there; files, \
network and processes are not. inspect_tool says what a tool takes and returns."""


def execute_program(gateway: Gateway) -> FrontTool:
    """Give the tool, bound to a gateway."""

    async def answer(arguments: Mapping[str, Any], caller: Caller) -> Answer | Question:
        code = arguments["code"]
        word = await caller.confirm(await gateway.needing_confirmation(code), code)
        if isinstance(word, Question):
            return word
        try:
            execution = await gateway.execute(code, caller.on_behalf(word))
        except (SandboxError, UsageError) as error:
            return Answer(
                f"[Script execution failed]\n{error} [{error.code}]", is_error=True, code=error.code
            )
        return Answer(
            execution.text,
            is_error=not execution.ok,
            blocks=tuple(execution.shown),
            meta=_summary(execution),
            code=execution.code,
        )

    return FrontTool(
        name="execute_program",
        title="Execute a program",
        description=_DESCRIPTION,
        input_schema={
            "type": "object",
            "properties": {"code": {"type": "string", "description": "The program: Python, as in a file"}},
            "required": ["code"],
            "additionalProperties": False,
        },
        output_schema=None,
        read_only=False,
        handler=answer,
        errors=("usage", "sandbox", "call-limit", *get_args(RunCode)),
    )


def _summary(execution: Execution) -> dict[str, Any]:
    return {
        "run": execution.run,
        "outcome": execution.outcome,
        "duration_ms": round(execution.duration_ms, 1),
        "cpu_ms": None if execution.cpu_ms is None else round(execution.cpu_ms, 1),
        "output_bytes": len(execution.output.encode()),
        "truncated": execution.is_truncated,
        "sandbox": execution.sandbox,
        **({"check_skipped": execution.check_skipped} if execution.check_skipped is not None else {}),
        "calls": [
            {"tool": call.name, "outcome": call.outcome, "duration_ms": round(call.duration_ms, 1)}
            for call in execution.calls
        ],
    }
