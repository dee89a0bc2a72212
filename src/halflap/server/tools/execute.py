"""`call_tool` and `execute_program`: call a single tool, or run a Python program over the tools."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError

from halflap.core.errors import (
    ArgumentProblem,
    BusyError,
    InvalidArgumentsError,
    RunNotFoundError,
    SandboxError,
    UsageError,
)
from halflap.core.suggest import did_you_mean
from halflap.core.values import OWN
from halflap.server.client import Client, Consent
from halflap.server.confirm import confirm
from halflap.server.tools.tool import answer

if TYPE_CHECKING:
    from halflap.core.codes import OtherCode
    from halflap.core.values import Tool
    from halflap.gateway import Gateway
    from halflap.sandbox.run.report import Execution
    from halflap.server.tools.tool import Arguments

_OWN_PREFIXES = tuple(f"{own}__" for own in OWN)
_OUTPUT = re.compile(r"halflap://runs/([0-9a-f]{8,40})/output")
_NOT_FOUND = -32002
_NOT_KEPT: OtherCode = "output-not-kept"

OUTPUT_TEMPLATE: Mapping[str, Any] = {
    "uriTemplate": "halflap://runs/{run}/output",
    "name": "run-output",
    "title": "Output of a run",
    "description": "All that a program printed, also where the answer of execute_program was truncated",
    "mimeType": "text/plain",
}


async def call_directly(gateway: Gateway, name: str, arguments: Arguments, client: Client) -> dict[str, Any]:
    """Call a tool for a client and return its unchanged result."""
    await gateway.prepare()
    consent = Consent()
    if gateway.config.execution.confirm_destructive and name.isidentifier():
        # The user is asked about a program that makes the same call.
        program = f"await {name}(**{json.dumps(arguments, ensure_ascii=False)})"
        consent = await confirm(client, await gateway.needing_confirmation(program), program)
    # A request that is repeated with answers would be confirmed again; and scripts call other tools.
    forwards = consent == Consent() and not name.startswith(_OWN_PREFIXES)
    context = gateway.parts.programs.under_rules(client.on_behalf(consent, forwards=forwards))
    return (await gateway.call_tool(name, arguments, context)).to_wire()


async def call_tool(gateway: Gateway, arguments: Arguments, client: Client) -> dict[str, Any]:
    name, given = arguments["name"], arguments.get("arguments") or {}
    await gateway.prepare()
    if gateway.config.execution.check == "on" and gateway.snapshot.is_callable(name):
        _check_names(gateway.snapshot.tools[name], given)
    return await call_directly(gateway, name, given, client)


def _check_names(tool: Tool, arguments: Arguments) -> None:
    """Raise for unknown arguments, as the check of programs does: servers often ignore them, so results mislead."""
    properties = tool.input_schema.get("properties")
    if not isinstance(properties, dict) or properties.keys() >= arguments.keys():
        return
    from halflap.schema import parse_schema  # noqa: PLC0415 -- slow to import, and not needed to list the tools
    from halflap.schema.stub import other_arguments  # noqa: PLC0415 -- as above

    schema = parse_schema(tool)
    if other_arguments(schema) is None:
        unknown = [name for name in arguments if name not in properties]
        wrong = [f"no such argument. {did_you_mean(name, properties)}".rstrip() for name in unknown]
        problems = [
            ArgumentProblem(name, text, "", "unknown") for name, text in zip(unknown, wrong, strict=True)
        ]
        raise InvalidArgumentsError(tool.name, problems, schema.format_compact())


async def execute_program(gateway: Gateway, arguments: Arguments, client: Client) -> dict[str, Any]:
    code = arguments["code"]
    consent = await confirm(client, await gateway.needing_confirmation(code), code)
    try:
        execution = await gateway.execute(code, client.on_behalf(consent))
    except (BusyError, SandboxError, UsageError) as error:
        text = f"[Script execution failed]\n{error} [{error.code}]"
        retry = {"retry_after": error.retry_after} if isinstance(error, BusyError) else {}
        return answer(text, is_error=True, code=error.code, meta=retry)
    return answer(
        execution.text,
        is_error=not execution.ok,
        blocks=execution.shown,
        code=execution.code,
        meta=_summary(execution),
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


async def read_output(gateway: Gateway, uri: str, principal: str) -> dict[str, Any] | None:
    """Return the whole output of a run to the principal that started it; None if the URI is not of a run."""
    if not uri.startswith("halflap://runs/"):
        return None
    found = _OUTPUT.fullmatch(uri)
    try:
        # The gateway also finds a run by the beginning of its id; as a URI, only the whole id counts.
        run = (await gateway.run(found[1], principal=principal))[0] if found else None
    except (RunNotFoundError, UsageError):
        run = None
    if run is None or found is None or run.id != found[1]:
        message = f"There is no resource {uri}. Outputs of runs are at {OUTPUT_TEMPLATE['uriTemplate']}."
        raise MCPError(_NOT_FOUND, message, {"code": RunNotFoundError.code})
    if run.output is None:
        # An empty text would look like the whole output.
        message = "The output of this run was not kept (`traces.record`), or it is still running."
        raise MCPError(_NOT_FOUND, message, {"code": _NOT_KEPT})
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": run.output}]}
