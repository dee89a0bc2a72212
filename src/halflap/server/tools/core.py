"""The core family: find, list and inspect tools, and suggest workflows. `execute` has calls and programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ToolNotFoundError
from halflap.core.text import visible
from halflap.server.tools.execute import call_tool, execute_program
from halflap.server.tools.tool import answer, family, json_answer

if TYPE_CHECKING:
    from halflap.gateway import Gateway
    from halflap.server.client import Client
    from halflap.server.tools.tool import Arguments, OwnTool

_MAX_SHOWN = 200


def core_family(gateway: Gateway) -> list[OwnTool]:
    """Return the tools of the family, bound to a gateway."""
    handlers = (search_tools, list_callable_tools, inspect_tool, call_tool, execute_program, suggest_workflow)
    return family(gateway, {handler.__name__: handler for handler in handlers})


async def search_tools(gateway: Gateway, arguments: Arguments, _client: Client) -> dict[str, Any]:
    limit, server = arguments.get("limit", 10), arguments.get("server")
    hits = await gateway.search(arguments["query"], limit=limit, server=server)
    return json_answer({"tools": [hit._asdict() for hit in hits]})


async def list_callable_tools(gateway: Gateway, _arguments: Arguments, _client: Client) -> dict[str, Any]:
    await gateway.settle()
    names = list(gateway.snapshot.callable)
    missing = [
        f"Server {name!r}: {reason}"
        for name, reason in sorted(gateway.unavailable().items())
        if name not in gateway.snapshot.servers
    ]
    note = f"Not in this list: {' '.join(missing)}" if missing else None
    return answer(json.dumps(names, indent=2, ensure_ascii=False), {"result": names}, note=note)


async def inspect_tool(gateway: Gateway, arguments: Arguments, _client: Client) -> dict[str, Any]:
    from halflap.calls import aside  # noqa: PLC0415 -- slow to import, and not needed to list the tools

    name = arguments["tool_name"]
    try:
        described = await gateway.inspect(name)
    except ToolNotFoundError as error:
        # Without suggestions, the answer is exactly the prescribed line.
        more = str(error).partition("\n")[2] if error.suggestions or error.server else ""
        return _not_found(name, more, error.code)
    if "blocked" in described:
        return _not_found(name, f"{described['blocked']} blocks it.", "tool-blocked")
    return await aside(lambda: json_answer(described), described)


def _not_found(name: str, more: str, code: str) -> dict[str, Any]:
    first = f"[Tool not found] '{visible(name, _MAX_SHOWN)}' is not available in execute_program"
    return answer(f"{first}\n{more}" if more else first, is_error=True, code=code)


async def suggest_workflow(gateway: Gateway, arguments: Arguments, _client: Client) -> dict[str, Any]:
    goal, have, want, limit = (arguments.get(name) for name in ("goal", "have", "want", "limit"))
    may_change = bool(arguments.get("may_change"))
    return json_answer(await gateway.suggest_workflow(goal, have, want, limit, may_change=may_change))
