"""Collect the tool definitions that a server lists, leaving out what cannot be used, with a warning."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from halflap.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_TOOLS = 20_000
_MAX_REPEATED = 100
_MAX_NAME = 100
_MAX_TTL_MS = 10**12


class Definitions:
    """The definitions of one listing, filled page by page."""

    def __init__(self) -> None:
        self.tools: list[Mapping[str, Any]] = []
        self.again: list[Mapping[str, Any]] = []
        """Further definitions under a name that was listed before."""
        self.warnings: list[str] = []
        self.ttl_seconds: float | None = None
        """How long the listing stays valid: the shortest time of any page."""
        self._names = Counter[str]()

    @property
    def repeated(self) -> tuple[str, ...]:
        return tuple(name for name, times in self._names.items() if times > 1)

    def add_page(self, page: Mapping[str, Any]) -> None:
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
        if not isinstance(kept.get("outputSchema"), dict):
            kept.pop("outputSchema", None)
        if not isinstance(kept.get("description"), str):
            kept["description"] = ""
        self.tools.append(kept)
