"""`execute_program`: run Python over the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from halflap.core.codes import RunCode
from halflap.core.errors import SandboxError, UsageError
from halflap.server.confirm import confirm
from halflap.server.tools.tool import Answer, FrontTool, field, record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.gateway import Gateway
    from halflap.sandbox.run.report import Execution
    from halflap.server.passthrough.client import Client

__all__ = ["execute_program"]

_DESCRIPTION = """\
Runs a Python program in a sandbox and returns what it prints, or else its last expression. Each tool is an async function that takes keyword \
arguments: `rows = await mcp__sales__list_orders(limit=5)`, or `await call_tool("name", **arguments)`. Results are parsed \
JSON. Await at top level; use asyncio.gather for parallel calls. Filter and aggregate there; print only \
what you need. A failed call raises ToolError; show(x) returns an image. {modules}, no files, no network. Limits: \
{seconds:g} s, {calls} calls, {kilobytes:g} KB returned; whole output: halflap://runs/<run in _meta>/output."""


def execute_program(gateway: Gateway) -> FrontTool:
    limits = gateway.config.execution
    more = f" and {', '.join(limits.modules)}" if limits.modules else ""
    description = _DESCRIPTION.format(
        modules=f"Standard library{more}",
        seconds=limits.timeout_seconds,
        calls=limits.max_calls,
        kilobytes=limits.max_output_bytes / 1024,
    )

    async def answer(arguments: Mapping[str, Any], client: Client) -> Answer:
        code = arguments["code"]
        word = await confirm(client, await gateway.needing_confirmation(code), code)
        try:
            execution = await gateway.execute(code, client.on_behalf(word))
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
        description=description,
        input_schema=record("code", closed=True, code=field("string", "Python source")),
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
