"""Read tool definitions from a file: a list of tools, what `tools/list` answered, or the tools of many servers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from halflap.catalog import choose_name
from halflap.core.errors import UsageError
from halflap.core.text import visible
from halflap.core.values import Annotations, Tool
from halflap.lint.server import read_server
from halflap.schema import parse_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from halflap.lint.server import Seen, Server

__all__ = ["FORMS", "listed_again", "read_definitions", "server_of"]

FORMS = 'a list of tools, `{"tools": […]}`, an answer to `tools/list`, or `{"<server>": {"tools": […]}}` for several servers'
_LONGEST = 80


def read_definitions(text: str, name: str, source: str) -> list[Server]:
    """Read the servers of a file; `name` is what one is called that it does not name, `source` the file itself.

    Raises `UsageError` where it is none of the forms.
    """
    try:
        data = parse_json(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{source} cannot be read as JSON: {visible(str(error), 200)}") from None
    found = _servers(data, name)
    if not found:
        raise UsageError(f"{source} has no tools in a form that is known. It may be {FORMS}.")
    return [server_of(server, tools, source=source) for server, tools in found.items()]


def _servers(data: Any, name: str) -> dict[str, list[Any]] | None:
    tools = _tools(data)
    if tools is not None:
        return {name: tools}
    if not isinstance(data, dict) or not data:
        return None
    several = data["servers"] if isinstance(data.get("servers"), dict) else data
    listed = {str(server): _tools(entry) for server, entry in several.items()}
    return (
        {server: one for server, one in listed.items() if one is not None}
        if None not in listed.values()
        else None
    )


def _tools(data: Any) -> list[Any] | None:
    if isinstance(data, list):
        return data
    if isinstance(data, dict) and isinstance(data.get("result"), dict) and "tools" in data["result"]:
        data = data["result"]
    inner = data.get("tools") if isinstance(data, dict) else None
    return inner if isinstance(inner, list) else None


def server_of(
    server: str,
    definitions: Sequence[Any],
    seen: Mapping[str, Seen] | None = None,
    *,
    source: str = "The list",
) -> Server:
    """Read the definitions of one server's tools; `seen` is by the names that the server gave them."""
    tools: list[Tool] = []
    raw: dict[str, Mapping[str, Any]] = {}
    names: dict[str, tuple[str, str]] = {}
    times: Counter[str] = Counter()
    for at, definition in enumerate(definitions):
        original = definition.get("name") if isinstance(definition, dict) else None
        if not isinstance(original, str):
            raise UsageError(
                f"{source}: tool {at + 1} of {visible(server, _LONGEST)} has no `name`. Each tool is an object with `name`, "
                "`description` and `inputSchema`."
            )
        times[original] += 1
        tools.append(_next(server, original, times[original], names, definition))
        raw[tools[-1].name] = definition
    first = {tool.original_name: tool.name for tool in reversed(tools)}
    known = {first[original]: one for original, one in (seen or {}).items() if original in first}
    duplicates = [original for original, number in times.items() if number > 1]
    return read_server(server, tools, known, duplicates=duplicates, definitions=raw)


def listed_again(
    server: str, tools: Collection[Tool], again: Iterable[Mapping[str, Any]]
) -> list[tuple[Tool, Mapping[str, Any]]]:
    """Read the definitions that a server listed beside these under one of their names."""
    names = {one.name: (server, one.original_name) for one in tools}
    times = Counter(one.original_name for one in tools)
    read: list[tuple[Tool, Mapping[str, Any]]] = []
    for definition in again:
        original = str(definition["name"])
        if times[original]:
            times[original] += 1
            read.append((_next(server, original, times[original], names, definition), definition))
    return read


def _next(
    server: str, original: str, times: int, names: dict[str, tuple[str, str]], definition: Mapping[str, Any]
) -> Tool:
    # Another one of the same name is looked at, too: it gets a name of its own here.
    own = original if times == 1 else f"{original} ({times})"
    name = choose_name(server, own, names)
    names[name] = (server, own)
    return _tool(server, original, name, definition)


def _tool(server: str, original: str, name: str, definition: Mapping[str, Any]) -> Tool:
    """Read a definition that may say anything."""
    claims = definition.get("annotations")
    claims = claims if isinstance(claims, dict) else {}
    description, meta = definition.get("description"), definition.get("_meta")
    output = definition.get("outputSchema", definition.get("output_schema"))
    taken = definition.get("inputSchema", definition.get("input_schema"))
    flags = [
        claims.get(key) for key in ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
    ]
    return Tool(
        name=name,
        server=server,
        original_name=original,
        description=description if isinstance(description, str) else "",
        # What is no schema at all is told by the rule for that.
        input_schema=taken if taken is not None else {},
        output_schema=output,
        annotations=Annotations(None, *(flag if isinstance(flag, bool) else None for flag in flags)),
        meta=meta if isinstance(meta, dict) else None,
    )
