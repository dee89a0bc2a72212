"""Halflap's own configuration as it stands in its file, with nothing expanded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.clients.files import read_file
from halflap.config import ToolsConfig, UpstreamDefaults
from halflap.config.problems import Problems
from halflap.config.servers import ServerReader
from halflap.config.source_lines import parse
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
    root: Mapping[str, Any] | None = None
    servers: Mapping[str, ServerConfig] = field(default_factory=dict)

    @property
    def tools(self) -> ToolsConfig | None:
        """Which tools may be called; None if the file has no section of that."""
        if self.root is None or "tools" not in self.root:
            return None
        said = self.root["tools"] if isinstance(self.root["tools"], Mapping) else {}
        allow = None if said.get("allow") is None else _globs(said["allow"])
        return ToolsConfig.model_construct(allow=allow, block=_globs(said.get("block")))

    def has(self, key: str) -> bool:
        """Say whether the file has a section."""
        return self.root is not None and key in self.root


def _globs(value: Any) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list) else ()


def read_written(path: Path) -> Written:
    """Read the file; one that is broken is to be mended first."""
    file = read_file(path)
    if file.data is None:
        return Written(file)
    problems = Problems(path)
    source = parse(file.data, path, problems)
    if source is None:
        raise ConfigError(problems.found)
    servers = ServerReader(source, path.parent, problems, None, UpstreamDefaults()).read()
    wrong = [*problems.found, *(problem for server in servers for problem in server.problems)]
    if wrong:
        raise ConfigError(wrong)
    return Written(file, source.value, {server.name: server for server in servers})
