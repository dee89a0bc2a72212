"""List a server's tools, prompts and resources. Unusable definitions are left out with a warning."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

from halflap.core.text import visible
from halflap.core.values import Features, Listing
from halflap.upstream.connection import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from halflap.upstream.session import Session

logger = logging.getLogger(__name__)

_MAX_TOOLS = 20_000
_MAX_INSTRUCTIONS = 100_000
_MAX_SERVER_INFO = 500
MAX_ENTRIES = 1_000
"""Maximum number of prompts, resources or templates of one server."""
_MAX_ENTRIES_BYTES = 2_000_000
"""Size limit of each of these lists; they are stored with the catalogue."""
_MAX_SHOWN = 100
_TOO_LONG = (
    f"its list is longer than {_MAX_TOOLS:,} tools or {MAX_MESSAGE_BYTES >> 20} MiB; the rest was left out"
)
_MAX_TTL_MS = 1e12


async def list_tools(session: Session, server: str) -> Listing:
    """Return the usable tools, and record in the session how they must be called."""
    listed = _Listed()
    if session.capabilities.tools is not None:
        listed = await _list(session, "tools/list", "tools", _MAX_TOOLS, MAX_MESSAGE_BYTES)
    tools: dict[str, Mapping[str, Any]] = {}
    repeated, warnings = [], []
    for definition in listed.entries:
        if not _is_named(definition, "name"):
            warnings.append("a tool without a name was left out")
            continue
        name = definition["name"]
        shown = visible(name, _MAX_SHOWN)
        if name in tools:
            warnings.append(f"tool {shown!r} is listed twice; the second was left out")
            repeated.append(definition)
            continue
        if not isinstance(definition.get("inputSchema"), dict):
            warnings.append(f"tool {shown!r} has no input schema; any arguments are accepted")
        tool = _with_defaults(definition)
        if session.is_modern:
            problem, session.argument_headers[name] = _argument_headers(tool["inputSchema"])
            if problem is not None:
                warnings.append(f"tool {shown!r} was left out: {visible(problem, 2 * _MAX_SHOWN)}")
                continue
        tools[name] = tool
    session.task_tools = frozenset(name for name, tool in tools.items() if _needs_task(tool))
    info = session.server_info
    about = ""
    if info is not None:
        more = ", ".join(filter(None, (info.title, info.description)))
        about = ": ".join(filter(None, (f"{info.name} {info.version}".strip(), more)))
    return Listing(
        server=server,
        tools=tuple(tools.values()),
        instructions=(session.instructions or "")[:_MAX_INSTRUCTIONS] or None,
        protocol_version=session.protocol_version,
        server_info=about[:_MAX_SERVER_INFO] or None,
        ttl_seconds=None if listed.ttl_seconds == math.inf else listed.ttl_seconds,
        repeated=tuple(repeated),
        warnings=(*warnings, _TOO_LONG) if listed.is_cut else tuple(warnings),
    )


def _with_defaults(definition: Mapping[str, Any]) -> dict[str, Any]:
    """Return a definition with defaults in place of missing or wrongly typed parts."""
    tool = {"inputSchema": None, "description": "", **definition}
    if not isinstance(tool["inputSchema"], dict):
        tool["inputSchema"] = {"type": "object"}
    if not isinstance(tool["description"], str):
        tool["description"] = ""
    if not isinstance(tool.get("outputSchema"), dict):
        tool.pop("outputSchema", None)
    return tool


def _needs_task(tool: Mapping[str, Any]) -> bool:
    execution = tool.get("execution")
    return isinstance(execution, dict) and execution.get("taskSupport") == "required"


async def list_features(session: Session) -> Features:
    """Return the prompts, resources and templates of a server."""

    async def entries(capability: object, method: str, key: str, name: str) -> tuple[Mapping[str, Any], ...]:
        if capability is None:
            return ()
        try:
            listed = await _list(session, method, key, MAX_ENTRIES, _MAX_ENTRIES_BYTES)
        except MCPError:
            # Many servers declare capabilities that they lack.
            logger.debug("a server does not list its %s", key, exc_info=True)
            return ()
        named = {one[name]: one for one in reversed(listed.entries) if _is_named(one, name)}
        return tuple(reversed(named.values()))

    info, offered = session.server_info, session.capabilities
    return Features(
        server_info={} if info is None else info.model_dump(by_alias=True, mode="json", exclude_none=True),
        capabilities=offered.model_dump(by_alias=True, mode="json", exclude_none=True),
        prompts=await entries(offered.prompts, "prompts/list", "prompts", "name"),
        resources=await entries(offered.resources, "resources/list", "resources", "uri"),
        templates=await entries(
            offered.resources, "resources/templates/list", "resourceTemplates", "uriTemplate"
        ),
    )


@dataclass(slots=True)
class _Listed:
    entries: list[Any] = field(default_factory=list)
    ttl_seconds: float = math.inf
    """How long the list stays valid: the shortest lifetime of any page."""
    is_cut: bool = False


async def _list(session: Session, method: str, key: str, most: int, most_bytes: int) -> _Listed:
    """Return the entries of all pages, up to `most` entries and `most_bytes`."""
    found = _Listed()
    cursors: set[str] = set()
    params: dict[str, Any] = {}
    while most_bytes >= 0:
        page = await session.send(method, params)
        entries, ttl, cursor = page.get(key), page.get("ttlMs"), page.get("nextCursor")
        if isinstance(ttl, int | float) and not isinstance(ttl, bool) and ttl >= 0:
            found.ttl_seconds = min(min(ttl, _MAX_TTL_MS) / 1000, found.ttl_seconds)
        for entry in entries if isinstance(entries, list) else ():
            most_bytes -= _size(entry)
            if len(found.entries) == most or most_bytes < 0:
                found.is_cut = True
                return found
            found.entries.append(entry)
        if not isinstance(cursor, str) or cursor in cursors:
            return found
        cursors.add(cursor)
        most_bytes -= len(cursor)
        params = {"cursor": cursor}
    found.is_cut = True
    return found


def _size(entry: Any) -> int:
    try:
        return len(json.dumps(entry))
    except RecursionError:
        return MAX_MESSAGE_BYTES


def _is_named(entry: Any, key: str) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get(key), str) and entry[key] != ""


def _argument_headers(schema: Mapping[str, Any]) -> tuple[str | None, dict[tuple[str, ...], str]]:
    """Return the problem with the `x-mcp-header`s of a schema, if any, and their map."""
    try:
        problem = find_invalid_x_mcp_header(schema)
        return problem, {} if problem is not None else x_mcp_header_map(schema)
    except RecursionError:
        return None, {}
