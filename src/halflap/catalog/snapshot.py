"""The catalogue at one moment. Immutable, so that a run sees the same tools from beginning to end."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from halflap.catalog.features import prompt_tool, read_features
from halflap.catalog.listing import changed_parts
from halflap.catalog.naming import namespaced
from halflap.core.errors import ToolNotFoundError
from halflap.core.suggest import ToolNameIndex
from halflap.core.values import Annotations, Changes, Tool

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halflap.config import ToolsConfig
    from halflap.core.values import Features
    from halflap.store import StoredServer, StoredTool


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True)
class Snapshot:
    """All tools by name, and which of them may not be called."""

    number: int = 0
    tools: Mapping[str, Tool] = field(default_factory=_nothing)
    """Callable or not."""
    blocked: Mapping[str, str] = field(default_factory=_nothing)
    """Name → the rule of the configuration that forbids calling it."""
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=_nothing)
    """Name → the parts of its definition that changed since it was accepted."""
    accepted: Mapping[str, Mapping[str, Any]] = field(default_factory=_nothing)
    """Name of a changed tool → its accepted definition."""
    held: frozenset[str] = frozenset()
    """Changed tools that may not be called until they are accepted."""
    servers: Mapping[str, StoredServer] = field(default_factory=_nothing)
    definitions: Mapping[str, Mapping[str, Any]] = field(default_factory=_nothing)
    """Of tools, exactly as their servers listed them."""
    features: Mapping[str, Features] = field(default_factory=_nothing)
    """What each server offers besides tools, as far as that is known."""
    prompts: Mapping[str, Tool] = field(default_factory=_nothing)
    """Under the names by which the rules for tools apply to them; these are in `changed` and `held`, too."""

    def is_callable(self, name: str) -> bool:
        return name in self.tools and name not in self.blocked and name not in self.held

    @cached_property
    def callable(self) -> tuple[str, ...]:
        """Sorted."""
        return tuple(sorted(filter(self.is_callable, self.tools)))

    @cached_property
    def by_server(self) -> Mapping[str, tuple[Tool, ...]]:
        """In each server's own order."""
        grouped: dict[str, list[Tool]] = {}
        for tool in self.tools.values():
            grouped.setdefault(tool.server, []).append(tool)
        return MappingProxyType({server: tuple(tools) for server, tools in grouped.items()})

    @cached_property
    def _callable_of(self) -> Mapping[str, tuple[str, ...]]:
        """Server → the sorted names of its callable tools."""
        grouped: dict[str, list[str]] = {}
        for name in self.callable:
            grouped.setdefault(self.tools[name].server, []).append(name)
        return {server: tuple(names) for server, names in grouped.items()}

    @cached_property
    def _name_index(self) -> ToolNameIndex:
        return ToolNameIndex(self.callable)

    def changes_to(self, later: Snapshot, servers: Iterable[str]) -> Changes:
        """Return what a later snapshot has different for these servers."""
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
        """Return the tool of this name, or raise an error that suggests similar ones."""
        tool = self.tools.get(name)
        if tool is not None:
            return tool
        known = tuple(dict.fromkeys((*servers, *self.by_server)))
        server = _server_of(name, known)
        of_server = self._callable_of.get(server or "", ())
        raise ToolNotFoundError(
            name,
            server,
            self._name_index.closest(name),
            available=self.callable,
            of_server=of_server,
            servers=known,
            unavailable_reason=reasons.get(server) if server is not None and not of_server else None,
        )


def _server_of(name: str, servers: Sequence[str]) -> str | None:
    """Return the server that a tool name belongs to: the longest whose prefix it has."""
    fitting = [server for server in servers if name.startswith(namespaced(server, ""))]
    return max(fitting, key=len, default=None)


def matches(name: str, globs: Iterable[str]) -> str | None:
    """Return the first glob or exact name that matches."""
    return next((glob for glob in globs if glob == name or fnmatchcase(name, glob)), None)


def block_rule(tool: StoredTool | Tool, tools: ToolsConfig) -> str | None:
    """Return the rule of the configuration that forbids calling a tool, or None."""
    if tools.allow is not None and matches(tool.name, tools.allow) is None:
        return "`tools.allow` (which does not list it)"
    # Also by its plain name, or a server could unblock a tool by listing another one under that name first.
    glob = matches(tool.name, tools.block) or matches(
        namespaced(tool.server, tool.original_name), tools.block
    )
    return None if glob is None else f"`tools.block: {glob}`"


def build_tool(stored: StoredTool) -> Tool:
    """Read a definition, tolerating values of any type."""
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
    """Apply the rules of the configuration to the stored tools."""
    present = {one.name: one for one in stored if not one.removed}
    changed = {
        name: changed_parts(one.accepted, one.definition)
        for name, one in present.items()
        if tools.pin != "off" and one.hash != one.accepted_hash
    }
    blocked = {name: rule for name, one in present.items() if (rule := block_rule(one, tools)) is not None}
    accepted = {name: present[name].accepted for name in changed}
    features, prompts = {}, {}
    for server, row in servers.items():
        if (kept := read_features(row.features)) is None:
            continue
        features[server] = kept.features
        for original, definition in kept.prompts.items():
            prompt = prompt_tool(server, definition)
            prompts[prompt.name] = prompt
            if tools.pin != "off" and original in kept.accepted:
                accepted[prompt.name] = kept.accepted[original]
                changed[prompt.name] = changed_parts(kept.accepted[original], definition)
    return Snapshot(
        number=number,
        tools=MappingProxyType({name: build_tool(one) for name, one in present.items()}),
        blocked=MappingProxyType(blocked),
        changed=MappingProxyType(changed),
        accepted=MappingProxyType(accepted),
        held=frozenset(changed) if tools.pin == "hold" else frozenset(),
        servers=MappingProxyType(dict(servers)),
        definitions=MappingProxyType({name: one.definition for name, one in present.items()}),
        features=MappingProxyType(features),
        prompts=MappingProxyType(prompts),
    )
