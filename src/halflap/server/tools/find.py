"""`search_tools`, `list_callable_tools`, `inspect_tool` and `suggest_workflow`: which tools there are, and how they combine."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from halflap.core.errors import ToolNotFoundError
from halflap.core.text import visible
from halflap.server.tools.tool import Answer

if TYPE_CHECKING:
    from halflap.gateway import Gateway
    from halflap.server.passthrough.client import Client
    from halflap.server.tools.tool import Arguments

_MAX_SHOWN = 200


async def search_tools(gateway: Gateway, arguments: Arguments, _client: Client) -> Answer:
    limit, server = arguments.get("limit", 10), arguments.get("server")
    hits = await gateway.search(arguments["query"], limit=limit, server=server)
    return Answer.json({"tools": [asdict(hit) for hit in hits]})


async def list_callable_tools(gateway: Gateway, _arguments: Arguments, _client: Client) -> Answer:
    await gateway.settle()
    names = list(gateway.snapshot.callable)
    missing = [
        f"Server {name!r}: {reason}"
        for name, reason in sorted(gateway.unavailable().items())
        if name not in gateway.snapshot.servers
    ]
    note = f"Not in this list: {' '.join(missing)}" if missing else None
    return Answer(json.dumps(names, indent=2, ensure_ascii=False), {"result": names}, note)


async def inspect_tool(gateway: Gateway, arguments: Arguments, _client: Client) -> Answer:
    from halflap.calls import aside  # noqa: PLC0415 -- it loads much that listing the tools does not need

    name = arguments["tool_name"]
    try:
        described = await gateway.inspect(name)
    except ToolNotFoundError as error:
        # Nothing else follows where no tool comes near: that line is prescribed.
        more = str(error).partition("\n")[2] if error.suggestions or error.server else ""
        return _not_found(name, more, error.code)
    if "blocked" in described:
        return _not_found(name, f"{described['blocked']} blocks it.", "tool-blocked")
    return await aside(lambda: Answer.json(described), described)


def _not_found(name: str, more: str, code: str) -> Answer:
    first = f"[Tool not found] '{visible(name, _MAX_SHOWN)}' is not available in execute_program"
    return Answer(f"{first}\n{more}" if more else first, is_error=True, code=code)


async def suggest_workflow(gateway: Gateway, arguments: Arguments, _client: Client) -> Answer:
    goal, have, want, limit = (arguments.get(name) for name in ("goal", "have", "want", "limit"))
    may_change = bool(arguments.get("may_change"))
    return Answer.json(await gateway.suggest_workflow(goal, have, want, limit, may_change=may_change))
