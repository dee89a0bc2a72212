"""The catalogue at one moment. It is immutable, so a run sees the same tools from beginning to end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING, Any

from halflap.catalog.listing import changed_parts, namespaced, prompt_tool, read_features, tool_of
from halflap.core.errors import ToolNotFoundError
from halflap.core.suggest import ToolNameIndex
from halflap.core.values import Changes, Features, Tool

if TYPE_CHECKING:
    from halflap.config import ToolsConfig
    from halflap.store import StoredServer, StoredTool


@dataclass(frozen=True)
class Snapshot:
    """All tools by name, and which of them may not be called."""

    number: int = 0
    tools: Mapping[str, Tool] = field(default_factory=dict)
    """Including those that may not be called."""
    blocked: Mapping[str, str] = field(default_factory=dict)
    """Name → the rule of the configuration that forbids calling it."""
    changed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name → the parts of its definition that changed since it was accepted."""
    accepted: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Name of a changed tool → its accepted definition."""
    held: frozenset[str] = frozenset()
    """Changed tools that may not be called until they are accepted."""
    servers: Mapping[str, StoredServer] = field(default_factory=dict)
    definitions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Definitions exactly as the servers listed them, by tool name."""
    features: Mapping[str, Features] = field(default_factory=dict)
    """What each server offers besides tools, if known."""
    prompts: Mapping[str, Tool] = field(default_factory=dict)
    """By the names under which the rules for tools apply to them, as in `changed` and `held`."""

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
        return {server: tuple(tools) for server, tools in grouped.items()}

    @cached_property
    def _name_index(self) -> ToolNameIndex:
        return ToolNameIndex(self.callable)

    def only(self, shows: Callable[[Tool], bool], serves: Callable[[str], bool]) -> Snapshot:
        """Return a snapshot with only these tools, and the features and prompts of these servers."""
        return replace(
            self,
            tools={name: tool for name, tool in self.tools.items() if shows(tool)},
            servers={name: one for name, one in self.servers.items() if serves(name)},
            features={name: one for name, one in self.features.items() if serves(name)},
            prompts={name: one for name, one in self.prompts.items() if serves(one.server)},
        )

    def changes_to(self, later: Snapshot, servers: Iterable[str]) -> Changes:
        """Return the differences between this snapshot and a later one, for these servers."""
        wanted = set(servers)
        old = {name: tool.hash for name, tool in self.tools.items() if tool.server in wanted}
        new = {name: tool.hash for name, tool in later.tools.items() if tool.server in wanted}
        return Changes(
            added=tuple(sorted(new.keys() - old.keys())),
            removed=tuple(sorted(old.keys() - new.keys())),
            changed=tuple(sorted(name for name in new.keys() & old.keys() if new[name] != old[name])),
        )

    def find(self, name: str, servers: Iterable[str] = (), reasons: Mapping[str, str] | None = None) -> Tool:
        """Return the tool of this name, or raise an error that suggests similar ones."""
        tool = self.tools.get(name)
        if tool is not None:
            return tool
        known = tuple(dict.fromkeys((*servers, *self.by_server)))
        server = _server_of(name, (*known, *(reasons or ())))
        of_server = sorted(
            tool.name for tool in self.by_server.get(server or "", ()) if self.is_callable(tool.name)
        )
        reason = (reasons or {}).get(server or "") if not of_server else None
        raise ToolNotFoundError(
            name,
            server,
            # A tool of another server is not what was meant.
            self._name_index.closest(name) if reason is None else (),
            available=self.callable,
            of_server=of_server,
            servers=known,
            unavailable_reason=reason,
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
    # The plain name is checked as well, or a server could unblock a tool by listing another one under that name first.
    glob = matches(tool.name, tools.block) or matches(
        namespaced(tool.server, tool.original_name), tools.block
    )
    return None if glob is None else f"`tools.block: {glob}`"


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
        tools={name: tool_of(one.definition, one.server, name, one.hash) for name, one in present.items()},
        blocked=blocked,
        changed=changed,
        accepted=accepted,
        held=frozenset(changed) if tools.pin == "hold" else frozenset(),
        servers=dict(servers),
        definitions={name: one.definition for name, one in present.items()},
        features=features,
        prompts=prompts,
    )
