"""The supported clients, and where each keeps its MCP servers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Literal

from halflap.config import home_dir

Variables = Literal["shell", "editor", "none"]
"""What a client expands: `${VAR}` like a shell, `${env:VAR}` and folders like VS Code, or nothing."""


@dataclass(frozen=True, slots=True)
class Client:
    slug: str
    label: str
    file: str
    """The user's own file."""
    project: str | None = None
    """The file in a project's folder."""
    key: str = "mcpServers"
    """The key of the servers."""
    variables: Variables = "none"


_CLINE = "{data}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
_VS_CODE = "{data}/Code/User/mcp.json"
CLIENTS: Mapping[str, Client] = {
    client.slug: client
    for client in (
        Client("claude-code", "Claude Code", "{claude}/.claude.json", ".mcp.json", variables="shell"),
        Client("claude-desktop", "Claude Desktop", "{data}/Claude/claude_desktop_config.json"),
        Client("cursor", "Cursor", "{home}/.cursor/mcp.json", ".cursor/mcp.json", variables="editor"),
        Client("vscode", "VS Code", _VS_CODE, ".vscode/mcp.json", "servers", "editor"),
        Client("windsurf", "Windsurf", "{home}/.codeium/windsurf/mcp_config.json", variables="editor"),
        Client("codex", "Codex", "{codex}/config.toml", ".codex/config.toml", "mcp_servers"),
        Client(
            "gemini", "Gemini CLI", "{home}/.gemini/settings.json", ".gemini/settings.json", variables="shell"
        ),
        Client("zed", "Zed", "{zed}/settings.json", ".zed/settings.json", "context_servers"),
        Client("cline", "Cline", _CLINE, variables="editor"),
        Client("goose", "Goose", "{goose}/config.yaml", key="extensions"),
    )
}


@dataclass(frozen=True, slots=True)
class Place:
    """A client's file, and the path of keys to the servers in it."""

    client: Client
    file: Path
    keys: tuple[str, ...]
    folder: Path | None = None
    """The project it belongs to; None for the user's own file."""

    @property
    def slug(self) -> str:
        """Suffix for a second server of the same name."""
        return self.client.slug if self.folder is None else f"{self.client.slug}-{self.folder.name}"

    def describe(self, home: Path) -> str:
        file = self.file
        shown = f"~/{file.relative_to(home).as_posix()}" if file.is_relative_to(home) else str(file)
        project = f", project {self.folder}" if len(self.keys) > 1 else ""
        return f"{self.client.label}, {shown}{project}"


def user_places(platform: str, environ: Mapping[str, str]) -> Iterator[Place]:
    """Yield every client's own file; `platform` is a value of `sys.platform`."""
    home = home_dir(environ)
    xdg = environ.get("XDG_CONFIG_HOME", "")
    config = data = Path(xdg) if PurePath(xdg).is_absolute() else home / ".config"
    if platform == "darwin":
        data = home / "Library" / "Application Support"
    folders = {
        "home": home,
        "data": data,
        "claude": environ.get("CLAUDE_CONFIG_DIR") or home,
        "codex": environ.get("CODEX_HOME") or home / ".codex",
        # Also on macOS.
        "zed": config / "zed",
        "goose": config / "goose",
    }
    for client in CLIENTS.values():
        yield Place(client, Path(client.file.format(**folders)), (client.key,))


def project_places(folder: Path) -> Iterator[Place]:
    """Yield the files of clients in a project's folder."""
    for client in CLIENTS.values():
        if client.project is not None:
            yield Place(client, folder / client.project, (client.key,), folder)
