"""Read tool definitions from a file, or from what a server listed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from halflap.catalog import choose_name, tool_of
from halflap.core.errors import UsageError
from halflap.core.text import visible
from halflap.lint.server import NO_EVIDENCE, Evidence, LintServer, LintTool
from halflap.schema import parse_json

_FORMS = 'a list of tools, `{"tools": […]}`, a `tools/list` response, or `{"<server>": {"tools": […]}}`'


def read_definitions(text: str, name: str, source: str) -> list[LintServer]:
    """Read the servers in a file; `name` is used for a server that it does not name, `source` in messages."""
    try:
        data = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} is not valid JSON: {visible(str(error), 200)}") from None
    servers = _servers(data, name)
    if not servers:
        raise UsageError(f"{source} contains no tools in a known form. It should be {_FORMS}.")
    return [server_of(server, tools, source=source) for server, tools in servers.items()]


def _servers(data: Any, name: str) -> dict[str, list[Any]]:
    tools = _tools(data)
    if tools is not None:
        return {name: tools}
    if not isinstance(data, dict):
        return {}
    several = data["servers"] if isinstance(data.get("servers"), dict) else data
    listed = {str(server): _tools(entry) for server, entry in several.items()}
    return (
        {} if None in listed.values() else {server: one for server, one in listed.items() if one is not None}
    )


def _tools(data: Any) -> list[Any] | None:
    if isinstance(data, list):
        return data
    if isinstance(data, dict) and isinstance(data.get("result"), dict):
        data = data["result"]
    tools = data.get("tools") if isinstance(data, dict) else None
    return tools if isinstance(tools, list) else None


def server_of(
    server: str,
    definitions: Iterable[Any],
    evidence: Mapping[str, Evidence] | None = None,
    *,
    source: str = "The list",
) -> LintServer:
    """Read the definitions of one server's tools; `evidence` is by original name."""
    tools: list[LintTool] = []
    names: dict[str, tuple[str, str]] = {}
    times: Counter[str] = Counter()
    for at, definition in enumerate(definitions):
        original = definition.get("name") if isinstance(definition, dict) else None
        if not isinstance(original, str):
            raise UsageError(
                f"{source}: tool {at + 1} of {visible(server, 80)} has no `name`. Each tool is an object with `name`, "
                "`description` and `inputSchema`."
            )
        times[original] += 1
        unique = original if times[original] == 1 else f"{original} ({times[original]})"
        name = choose_name(server, unique, names)
        names[name] = (server, unique)
        known = (evidence or {}).get(original, NO_EVIDENCE) if times[original] == 1 else NO_EVIDENCE
        tools.append(LintTool(tool_of(definition, server, name), known, definition))
    return LintServer(server, tuple(tools), frozenset(one for one, count in times.items() if count > 1))
