"""What a log does not say and reading it needs: whose the tools are, how their results are read, the salt."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from halflap.core.values import OWN
from halflap.schema import Reading, reading_of
from halflap.store import ToolKey

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from halflap.core.values import Tool

__all__ = ["FOLLOWED", "LONGEST_NAME", "Rules", "is_bare", "rules_for", "server_and_tool"]

LONGEST_NAME = 500
FOLLOWED = 100_000_000
"""So many bytes of a log are read for where values went: to follow them takes longer than all else together."""
_PREFIX = "mcp__"


@dataclass(frozen=True, slots=True)
class Rules:
    """Goes along to every worker, so it holds nothing but plain values."""

    server: str | None = None
    """Whose the tools are that a log names without a server."""
    salt: bytes = b""
    values: bool = False
    """Whether short strings are kept too: `learning.values`."""
    secrets: tuple[str, ...] = ()
    """What is never kept among them, beside what looks like a secret."""
    names: Mapping[str, ToolKey] = field(default_factory=dict)
    """The catalogue's tools by their namespaced names."""
    schema_hashes: Mapping[str, str] = field(default_factory=dict)
    """The hash of a tool's schemas, by that of its whole definition, which recorded calls have."""
    readings: Mapping[ToolKey, Reading] = field(default_factory=dict)
    """Of the tools whose declaration says that results are read in a way of their own."""
    declared: Mapping[ToolKey, Mapping[str, Any]] = field(default_factory=dict)
    """What tools declare to return, for those that do."""
    missing: frozenset[tuple[str, str]] = frozenset()
    """What counts of that, too, which was counted before: the tools of servers, or all of one where the tool is empty;
    the server is empty for tools that the log names without one."""
    lineage: bool = True
    """Whether values are followed: `graph.lineage`."""
    every: int = 1
    """Of so many runs, one is followed; which, their names say."""

    def of_size(self, size: int) -> Rules:
        """Give the same for a log of so many bytes: of very many runs, some tell as much as all."""
        return replace(self, every=1 + max(0, size - 1) // FOLLOWED)

    def key_of(self, server: str | None, name: str, hashes: Mapping[tuple[str, str], str]) -> ToolKey | None:
        """Say which tool is meant; None where nobody knows whose it is."""
        known = self.names.get(name)
        if known is not None and server in {None, known.server}:
            return known
        if server is None:
            server, name = server_and_tool(name)
            server = server or self.server
        if not server:
            return None
        return ToolKey(server, name, hashes.get((server, name), ""))

    def hashes(self) -> dict[tuple[str, str], str]:
        """Give the definition hash of each tool of the catalogue, by server and original name."""
        return {(key.server, key.tool): key.definition_hash for key in self.names.values()}


def rules_for(
    tools: Collection[Tool],
    *,
    server: str | None,
    salt: bytes,
    values: bool,
    secrets: Iterable[str] = (),
    lineage: bool = True,
) -> Rules:
    """Make the rules for a catalogue."""
    names = {tool.name: ToolKey(tool.server, tool.original_name, tool.schema_hash) for tool in tools}
    declaring = [tool for tool in tools if tool.output_schema is not None]
    readings = {names[tool.name]: reading_of(tool) for tool in declaring}
    plain = Reading()
    return Rules(
        server,
        salt,
        values,
        tuple(secrets),
        names,
        {tool.hash: tool.schema_hash for tool in tools},
        {key: one for key, one in readings.items() if one != plain},
        {names[tool.name]: tool.output_schema for tool in declaring if isinstance(tool.output_schema, dict)},
        lineage=lineage,
    )


def is_bare(server: str | None, name: str) -> bool:
    """Say whether a log leaves open whose a tool is."""
    return server is None and server_and_tool(name)[0] is None


def server_and_tool(name: str) -> tuple[str | None, str]:
    """Take a namespaced name apart; a bare one has no server."""
    if name.startswith(_PREFIX):
        server, _, tool = name.removeprefix(_PREFIX).partition("__")
        if server and tool:
            return server, tool
    else:
        own, _, tool = name.partition("__")
        if own in OWN and tool:
            return own, tool
    return None, name
