"""Collect what a server lists: tools, prompts, resources. What cannot be used is left out with a warning."""

from __future__ import annotations

import json
import logging
from collections import Counter
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import find_invalid_x_mcp_header, x_mcp_header_map

from halflap.core.text import visible
from halflap.core.values import Features

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    import mcp_types as types

logger = logging.getLogger(__name__)

MAX_TOOLS = 20_000
MAX_ENTRIES = 1_000
"""Prompts, resources or templates of one server; more would only fill the lists of clients."""
_MAX_ENTRY_BYTES = 65_536
_MAX_FEATURE_BYTES = 2_000_000
"""Of each of these lists; they are stored with the catalogue."""
_MAX_REPEATED = 100
_MAX_NAME = 100
_MAX_TTL_MS = 10**12


class Definitions:
    """The tools of one listing, filled page by page; with `check_headers`, as the newer era demands."""

    def __init__(self, *, check_headers: bool = False) -> None:
        self.tools: list[Mapping[str, Any]] = []
        self.again: list[Mapping[str, Any]] = []
        """Further definitions under a name that was listed before."""
        self.warnings: list[str] = []
        self.ttl_seconds: float | None = None
        """How long the listing stays valid: the shortest time of any page."""
        self.pages = 0
        self.param_headers: dict[str, Mapping[tuple[str, ...], str]] = {}
        """By tool: which arguments are sent as HTTP headers, too."""
        self._check_headers = check_headers
        self._names = Counter[str]()

    @property
    def repeated(self) -> tuple[str, ...]:
        return tuple(name for name, times in self._names.items() if times > 1)

    def add_page(self, page: Mapping[str, Any]) -> None:
        self.pages += 1
        tools = page.get("tools")
        for definition in tools if isinstance(tools, list) else ():
            if len(self.tools) < MAX_TOOLS:
                self._add(definition)
        milliseconds: Any = page.get("ttlMs")
        is_number = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool)
        if is_number and 0 <= milliseconds <= _MAX_TTL_MS:
            seconds = milliseconds / 1000
            self.ttl_seconds = seconds if self.ttl_seconds is None else min(self.ttl_seconds, seconds)

    def _add(self, definition: Any) -> None:
        name = definition.get("name") if isinstance(definition, dict) else None
        if not isinstance(name, str) or not name:
            self.warnings.append("a tool without a name was left out")
            return
        shown = visible(name, _MAX_NAME)
        self._names[name] += 1
        if self._names[name] > 1:
            self.warnings.append(f"tool {shown!r} is listed twice; the second was left out")
            if len(self.again) < _MAX_REPEATED:
                self.again.append(definition)
            return
        kept = dict(definition)
        if not isinstance(kept.get("inputSchema"), dict):
            self.warnings.append(f"tool {shown!r} has no input schema; it is taken to accept any arguments")
            kept["inputSchema"] = {"type": "object"}
        if self._check_headers and (problem := self._header_problem(name, kept["inputSchema"])):
            self.warnings.append(f"tool {shown!r} was left out: {visible(problem, 2 * _MAX_NAME)}")
            return
        if not isinstance(kept.get("outputSchema"), dict):
            kept.pop("outputSchema", None)
        if not isinstance(kept.get("description"), str):
            kept["description"] = ""
        self.tools.append(kept)

    def _header_problem(self, name: str, schema: Mapping[str, Any]) -> str | None:
        try:
            problem = find_invalid_x_mcp_header(schema)
            if problem is None and (headers := x_mcp_header_map(schema)):
                self.param_headers[name] = headers
        except RecursionError:
            return None
        return problem


async def read_features(
    info: types.Implementation | None,
    capabilities: types.ServerCapabilities,
    pages: Callable[[str], AsyncIterator[Mapping[str, Any]]],
) -> Features:
    """List prompts, resources and templates, as far as the server has them."""
    lists = {
        "prompts": ("prompts/list", "prompts", "name", capabilities.prompts),
        "resources": ("resources/list", "resources", "uri", capabilities.resources),
        "templates": ("resources/templates/list", "resourceTemplates", "uriTemplate", capabilities.resources),
    }
    found = {
        field: () if offered is None else await _entries(pages(method), key, identifier)
        for field, (method, key, identifier, offered) in lists.items()
    }
    return Features(
        server_info={} if info is None else info.model_dump(by_alias=True, mode="json", exclude_none=True),
        capabilities=capabilities.model_dump(by_alias=True, mode="json", exclude_none=True),
        **found,
    )


async def _entries(
    pages: AsyncIterator[Mapping[str, Any]], key: str, identifier: str
) -> tuple[Mapping[str, Any], ...]:
    """Return the usable entries of a list: one that names itself, once, and is not too large."""
    found: dict[str, Mapping[str, Any]] = {}
    size = 0
    try:
        async for page in pages:
            listed = page.get(key)
            for entry in listed if isinstance(listed, list) else ():
                name = entry.get(identifier) if isinstance(entry, dict) else None
                if not isinstance(name, str) or not name or name in found:
                    continue
                length = len(json.dumps(entry))
                size += length if length <= _MAX_ENTRY_BYTES else 0
                if len(found) >= MAX_ENTRIES or size > _MAX_FEATURE_BYTES:
                    logger.warning("a server lists more than %d %s; the rest is left out", len(found), key)
                    return tuple(found.values())
                if length <= _MAX_ENTRY_BYTES:
                    found[name] = entry
    except (MCPError, RecursionError):
        # Many servers declare what they do not have.
        logger.debug("a server does not list its %s", key, exc_info=True)
    return tuple(found.values())
