"""What a log does not say but reading it needs: which server a tool belongs to, how its results are read, the salt."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from halflap.core.values import OWN, Tool
from halflap.schema import Reading, reading_of
from halflap.store import ToolKey

__all__ = ["Rules", "rules_for"]

_PREFIX = "mcp__"


@dataclass(frozen=True, slots=True)
class Rules:
    """Sent to every worker, so it holds plain values only."""

    server: str | None = None
    """The server of tools that a log names without one."""
    salt: bytes = b""
    values: bool = False
    """Whether short strings are kept: `learning.values`."""
    secrets: tuple[str, ...] = ()
    names: Mapping[str, ToolKey] = field(default_factory=dict)
    """The catalogue's tools by namespaced name."""
    schema_hashes: Mapping[str, str] = field(default_factory=dict)
    """The hash of a tool's schemas by the hash of its whole definition, which recorded calls have."""
    readings: Mapping[ToolKey, Reading] = field(default_factory=dict)
    lineage: bool = True
    """Whether values are followed from results into later arguments: `graph.lineage`."""

    def key_of(self, server: str | None, name: str) -> ToolKey | None:
        """Return which tool is meant; None if its server is not known."""
        known = self.names.get(name)
        if known is not None and server in {None, known.server}:
            return known
        if server is None:
            server, name = _split(name)
            server = server or self.server
        if not server:
            return None
        hashes = (one.definition_hash for one in self.names.values() if one[:2] == (server, name))
        return ToolKey(server, name, next(hashes, ""))


def rules_for(
    tools: Collection[Tool],
    *,
    server: str | None,
    salt: bytes,
    values: bool,
    secrets: Iterable[str] = (),
    lineage: bool = True,
) -> Rules:
    """Return the rules for a catalogue."""
    names = {tool.name: ToolKey(tool.server, tool.original_name, tool.schema_hash) for tool in tools}
    return Rules(
        server,
        salt,
        values,
        tuple(secrets),
        names,
        {tool.hash: tool.schema_hash for tool in tools},
        {names[tool.name]: reading_of(tool) for tool in tools if tool.output_schema is not None},
        lineage,
    )


def _split(name: str) -> tuple[str | None, str]:
    """Split a namespaced name into server and tool; a bare name has no server."""
    if name.startswith(_PREFIX):
        server, _, tool = name.removeprefix(_PREFIX).partition("__")
    else:
        server, _, tool = name.partition("__")
        if server not in OWN:
            return None, name
    return (server, tool) if server and tool else (None, name)
