"""Halflap's own configuration as it stands in its file, with nothing expanded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.clients.files import read_file
from halflap.config import ToolsConfig
from halflap.config.document import document
from halflap.config.nodes import Node, Problems, plain
from halflap.config.servers import ServerReader
from halflap.core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from halflap.clients.files import FileText
    from halflap.config import ServerConfig

__all__ = ["Written", "read_written"]


@dataclass(frozen=True, slots=True)
class Written:
    """A configuration file and the servers in it; `root` is None if there is no file."""

    file: FileText
    root: Node | None = None
    servers: Mapping[str, ServerConfig] = field(default_factory=dict)

    @property
    def tools(self) -> ToolsConfig | None:
        """Which tools may be called; None if the file has no section of that."""
        if self.root is None or "tools" not in self.root.mapping:
            return None
        said = plain(self.root.mapping["tools"])
        said = said if isinstance(said, Mapping) else {}
        return ToolsConfig(
            None if said.get("allow") is None else _globs(said["allow"]), _globs(said.get("block"))
        )

    def has(self, key: str) -> bool:
        """Say whether the file has a section."""
        return self.root is not None and key in self.root.mapping


def _globs(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def read_written(path: Path, home: Path) -> Written:
    """Read the file; one that is broken is to be mended first."""
    file = read_file(path)
    if file.data is None:
        return Written(file)
    problems = Problems(path)
    root = document(file.data, path, problems)
    servers = [] if root is None else ServerReader(path.parent, problems, None, home).read(root)
    if root is None or problems.found:
        raise ConfigError(problems.found)
    return Written(file, root, {server.name: server for server in servers})
