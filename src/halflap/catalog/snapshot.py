"""The catalogue at one moment: immutable, so that whoever works with it sees one world."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rapidfuzz import fuzz
from rapidfuzz.process import extract

from halflap.catalog.listing import changed_parts
from halflap.catalog.naming import namespaced
from halflap.core.errors import ToolNotFoundError
from halflap.core.values import Annotations, Changes, Tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halflap.config import ToolsConfig
    from halflap.store import StoredServer, StoredTool

__all__ = ["Snapshot", "build_snapshot", "matches"]

_SUGGESTIONS = 3
_ALIKE = 70
_AS_NEAR = 10
_LONGEST_ASKED = 300


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True)
class Snapshot:
    """All tools by name, with what keeps some of them from being called."""

    number: int = 0
    tools: Mapping[str, Tool] = field(default_factory=_nothing)
    """Every tool there is, callable or not."""
    blocked: Mapping[str, str] = field(default_factory=_nothing)
    """Name → the rule that keeps it from being called."""
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=_nothing)
    """Name → what changed in its definition since it was accepted."""
    accepted: Mapping[str, Mapping[str, Any]] = field(default_factory=_nothing)
    """Name of a changed tool → its definition as it was accepted."""
    held: frozenset[str] = frozenset()
    """Those of the changed that may not be called until they are accepted."""
    servers: Mapping[str, StoredServer] = field(default_factory=_nothing)

    @cached_property
    def callable(self) -> tuple[str, ...]:
        """Names that may be called, sorted."""
        return tuple(
            sorted(name for name in self.tools if name not in self.blocked and name not in self.held)
        )

    @cached_property
    def by_server(self) -> Mapping[str, tuple[Tool, ...]]:
        """The tools of each server, in the server's own order."""
        grouped: dict[str, list[Tool]] = {}
        for tool in self.tools.values():
            grouped.setdefault(tool.server, []).append(tool)
        return MappingProxyType({server: tuple(tools) for server, tools in grouped.items()})

    @cached_property
    def _name_index(self) -> NameIndex:
        return NameIndex(self.callable)

    def changes_to(self, later: Snapshot, servers: Iterable[str]) -> Changes:
        """Say what is different in a later snapshot, for the tools of these servers."""
        wanted = set(servers)
        old = {name: tool.hash for name, tool in self.tools.items() if tool.server in wanted}
        new = {name: tool.hash for name, tool in later.tools.items() if tool.server in wanted}
        return Changes(
            added=tuple(sorted(new.keys() - old.keys())),
            removed=tuple(sorted(old.keys() - new.keys())),
            changed=tuple(sorted(name for name in new.keys() & old.keys() if new[name] != old[name])),
        )

    def find(
        self, name: str, servers: Iterable[str] = (), reasons: Mapping[str, str] = MappingProxyType({})
    ) -> Tool:
        """Give the tool of that name, or an error that says which ones come near."""
        tool = self.tools.get(name)
        if tool is not None:
            return tool
        server = _server_of(name, (*servers, *self.by_server))
        of_server = [
            tool.name
            for tool in self.by_server.get(server or "", ())
            if tool.name not in self.blocked and tool.name not in self.held
        ]
        raise ToolNotFoundError(
            name,
            server,
            self._name_index.similar(name),
            available=self.callable,
            of_server=sorted(of_server),
            none_known=not self.tools,
            unavailable_reason=reasons.get(server) if server is not None and not of_server else None,
        )


def _server_of(name: str, servers: Sequence[str]) -> str | None:
    """Guess which server a name that does not exist was meant for: the longest whose prefix it has."""
    fitting = [server for server in servers if name.startswith(namespaced(server, ""))]
    return max(fitting, key=len, default=None)


class NameIndex:
    """Tool names, split and folded once, so that looking for similar ones costs milliseconds among 10,000."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._parts = [_parts(name) for name in names]
        self._tools = [tool for _, tool in self._parts]
        self._letters = [_letters(name) for name in names]

    def similar(self, name: str) -> list[str]:
        """Return the names that somebody who typed this may have meant, best first."""
        name = name[:_LONGEST_ASKED]
        server, tool = _parts(name)
        # The server's name can make up for at most 30 of 100 points.
        least = (_ALIKE - 30) / 0.7 if server else _ALIKE
        scores: dict[str, float] = {}
        for _, alike, at in extract(tool, self._tools, scorer=fuzz.ratio, score_cutoff=least, limit=None):
            whole = 0.7 * alike + 0.3 * fuzz.ratio(server, self._parts[at][0]) if server else alike
            if whole >= _ALIKE:
                scores[self._names[at]] = whole
        # Whoever wrote `echo.add` or `mcp_echo_add` has all the letters right.
        letters = _letters(name)
        for _, alike, at in extract(
            letters, self._letters, scorer=fuzz.ratio, score_cutoff=_ALIKE + 10, limit=None
        ):
            candidate = self._names[at]
            scores[candidate] = max(scores.get(candidate, 0.0), alike - 10)
        # Beside one that is right but for a letter, others that are merely alike are no help.
        best = max(scores.values(), default=0.0) - _AS_NEAR
        near = [found for found in scores if scores[found] >= best]
        return sorted(near, key=lambda found: (-scores[found], found))[:_SUGGESTIONS]


def _parts(name: str) -> tuple[str, str]:
    server, _, tool = name.lower().removeprefix("mcp__").rpartition("__")
    return server, tool


def _letters(name: str) -> str:
    return "".join(letter for letter in name.lower().removeprefix("mcp") if letter.isalnum())


def matches(name: str, globs: Iterable[str]) -> str | None:
    """Give the first glob or exact name that fits."""
    return next((glob for glob in globs if glob == name or fnmatchcase(name, glob)), None)


def block_rule(tool: StoredTool, tools: ToolsConfig) -> str | None:
    """Say which rule of the configuration keeps a tool from being called, if one does."""
    if tools.allow is not None and matches(tool.name, tools.allow) is None:
        return "`tools.allow` (which does not list it)"
    # Also by its plain name: a server that lists another tool first under that name shall not free this one.
    glob = matches(tool.name, tools.block) or matches(
        namespaced(tool.server, tool.original_name), tools.block
    )
    return None if glob is None else f"`tools.block: {glob}`"


def build_tool(stored: StoredTool) -> Tool:
    """Read a definition that may say anything."""
    definition = stored.definition
    claims = definition.get("annotations")
    output = definition.get("outputSchema")
    title = definition.get("title")
    meta = definition.get("_meta")
    return Tool(
        name=stored.name,
        server=stored.server,
        original_name=stored.original_name,
        description=definition.get("description") or "",
        input_schema=definition["inputSchema"],
        output_schema=output if isinstance(output, dict) else None,
        title=title if isinstance(title, str) else None,
        annotations=_annotations(claims if isinstance(claims, dict) else {}),
        meta=meta if isinstance(meta, dict) else None,
        hash=stored.hash,
    )


def _annotations(claims: dict[str, Any]) -> Annotations:
    def flag(key: str) -> bool | None:
        value = claims.get(key)
        return value if isinstance(value, bool) else None

    title = claims.get("title")
    return Annotations(
        title=title if isinstance(title, str) else None,
        read_only=flag("readOnlyHint"),
        destructive=flag("destructiveHint"),
        idempotent=flag("idempotentHint"),
        open_world=flag("openWorldHint"),
    )


def build_snapshot(
    number: int, stored: Iterable[StoredTool], servers: Mapping[str, StoredServer], tools: ToolsConfig
) -> Snapshot:
    """Put the catalogue together under the configuration's rules."""
    present = {one.name: one for one in stored if not one.removed}
    changed = {
        name: changed_parts(one.accepted, one.definition)
        for name, one in present.items()
        if tools.pin != "off" and one.hash != one.accepted_hash
    }
    blocked = {name: rule for name, one in present.items() if (rule := block_rule(one, tools)) is not None}
    return Snapshot(
        number=number,
        tools=MappingProxyType({name: build_tool(one) for name, one in present.items()}),
        blocked=MappingProxyType(blocked),
        changed=MappingProxyType(changed),
        accepted=MappingProxyType({name: present[name].accepted for name in changed}),
        held=frozenset(changed) if tools.pin == "hold" else frozenset(),
        servers=MappingProxyType(dict(servers)),
    )
