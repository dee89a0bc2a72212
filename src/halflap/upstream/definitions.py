"""List what a server has: tools, prompts, resources. What cannot be used is left out with a warning."""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

from halflap.core.text import visible
from halflap.core.values import Features, Listing

if TYPE_CHECKING:
    import mcp_types as types

    from halflap.upstream.session import Session

logger = logging.getLogger(__name__)

_MAX_TOOLS = 20_000
_MAX_PAGES = 1_000
_MAX_INSTRUCTIONS = 100_000
_MAX_SERVER_INFO = 500
MAX_ENTRIES = 1_000
"""Prompts, resources or templates of one server; more would only fill the lists of clients."""
_MAX_ENTRIES_BYTES = 2_000_000
"""Of each of these lists; they are stored with the catalogue."""
_MAX_SHOWN = 100


async def list_tools(session: Session, server: str) -> Listing:
    """Return all tools of a server."""
    listed = _Listed([], None)
    if session.capabilities.tools is not None:
        listed = await _list(session, "tools/list", "tools", _MAX_TOOLS)
    tools = read_tools(listed.entries, check_headers=session.is_modern)
    session.send_as_headers(tools.param_headers)
    too_long = f"its list of tools does not end; it was cut after {len(listed.entries):,}"
    info = session.server_info
    return Listing(
        server=server,
        tools=tools.usable,
        instructions=(session.instructions or "")[:_MAX_INSTRUCTIONS] or None,
        protocol_version=session.protocol_version,
        server_info=None if info is None else _describe(info),
        ttl_seconds=listed.ttl_seconds,
        repeated=tools.repeated,
        again=tools.again,
        warnings=(*tools.warnings, too_long) if listed.is_cut else tools.warnings,
    )


def _describe(info: types.Implementation) -> str:
    name = f"{info.name} {info.version}".strip()
    more = ", ".join(part for part in (info.title, info.description) if part)
    return (f"{name}: {more}" if more else name)[:_MAX_SERVER_INFO]


async def list_features(session: Session) -> Features:
    """Return what a server offers besides tools."""

    async def entries(capability: object, method: str, key: str, name: str) -> tuple[Mapping[str, Any], ...]:
        if capability is None:
            return ()
        try:
            return read_entries((await _list(session, method, key, MAX_ENTRIES)).entries, name)
        except MCPError:
            # Many servers declare what they do not have.
            logger.debug("a server does not list its %s", key, exc_info=True)
            return ()

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


class _Listed(NamedTuple):
    entries: list[Any]
    ttl_seconds: float | None
    """How long they stay valid: the shortest time of any page."""
    is_cut: bool = False


async def _list(session: Session, method: str, key: str, most: int) -> _Listed:
    """Return the entries of all pages, up to a number."""
    entries: list[Any] = []
    seconds: list[float] = []
    cursors: set[str] = set()
    params: dict[str, Any] = {}
    for _ in range(_MAX_PAGES):
        page = await session.send(method, params)
        listed, ttl, cursor = page.get(key), page.get("ttlMs"), page.get("nextCursor")
        entries += listed if isinstance(listed, list) else []
        if isinstance(ttl, int | float) and not isinstance(ttl, bool) and ttl >= 0:
            seconds.append(min(ttl, 1e12) / 1000)
        if not isinstance(cursor, str) or cursor in cursors:
            return _Listed(entries[:most], min(seconds, default=None), len(entries) > most)
        if len(entries) >= most:
            break
        cursors.add(cursor)
        params = {"cursor": cursor}
    return _Listed(entries[:most], min(seconds, default=None), is_cut=True)


class Tools(NamedTuple):
    """The tools of one listing."""

    usable: tuple[Mapping[str, Any], ...]
    again: tuple[Mapping[str, Any], ...]
    """Further definitions under a name that was listed before."""
    repeated: tuple[str, ...]
    warnings: tuple[str, ...]
    param_headers: dict[str, dict[tuple[str, ...], str]]
    """By tool: which arguments are sent as HTTP headers, too."""


def read_tools(listed: Iterable[Any], *, check_headers: bool) -> Tools:
    """Return the usable tools; with `check_headers`, as the newer era demands."""
    names = Counter[str]()
    tools, again, warnings, headers = [], [], [], {}
    for definition in listed:
        name = definition.get("name") if isinstance(definition, dict) else None
        if not isinstance(name, str) or not name:
            warnings.append("a tool without a name was left out")
            continue
        shown = visible(name, _MAX_SHOWN)
        names[name] += 1
        if names[name] > 1:
            warnings.append(f"tool {shown!r} is listed twice; the second was left out")
            again.append(definition)
            continue
        tool = dict(definition)
        if not isinstance(tool.get("inputSchema"), dict):
            warnings.append(f"tool {shown!r} has no input schema; any arguments are accepted")
            tool["inputSchema"] = {"type": "object"}
        if check_headers:
            problem, found = _param_headers(tool["inputSchema"])
            if problem is not None:
                warnings.append(f"tool {shown!r} was left out: {visible(problem, 2 * _MAX_SHOWN)}")
                continue
            headers[name] = found
        if not isinstance(tool.get("outputSchema"), dict):
            tool.pop("outputSchema", None)
        if not isinstance(tool.get("description"), str):
            tool["description"] = ""
        tools.append(tool)
    repeated = tuple(name for name, times in names.items() if times > 1)
    return Tools(tuple(tools), tuple(again), repeated, tuple(warnings), headers)


def _param_headers(schema: Mapping[str, Any]) -> tuple[str | None, dict[tuple[str, ...], str]]:
    """Return what is wrong with the `x-mcp-header`s of a schema, and the map of them."""
    try:
        problem = find_invalid_x_mcp_header(schema)
        return problem, {} if problem is not None else x_mcp_header_map(schema)
    except RecursionError:
        return None, {}


def read_entries(listed: Iterable[Any], identifier: str) -> tuple[Mapping[str, Any], ...]:
    """Return the usable prompts, resources or templates: those that name themselves, once, as far as there is room."""
    found: dict[str, Mapping[str, Any]] = {}
    room = _MAX_ENTRIES_BYTES
    for entry in listed:
        name = entry.get(identifier) if isinstance(entry, dict) else None
        if isinstance(name, str) and name and name not in found:
            try:
                length = len(json.dumps(entry))
            except RecursionError:
                continue
            if length <= room:
                found[name] = entry
                room -= length
    return tuple(found.values())
