"""Where each client keeps its servers: a function of the platform, the environment and the folders, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal

from halflap.config import home_dir

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CLIENTS", "INSTALLABLE", "Client", "Place", "place_of", "places"]

Variables = Literal["shell", "editor", "none"]
"""What `${…}` means to a client: `${VAR}` as in a shell; `${env:VAR}` and the folders, as in VS Code; nothing."""


@dataclass(frozen=True, slots=True)
class Client:
    """A program that people configure MCP servers for."""

    slug: str
    label: str
    variables: Variables


CLIENTS: Mapping[str, Client] = {
    client.slug: client
    for client in (
        Client("claude-code", "Claude Code", "shell"),
        Client("claude-desktop", "Claude Desktop", "none"),
        Client("cursor", "Cursor", "editor"),
        Client("vscode", "VS Code", "editor"),
        Client("vscode-insiders", "VS Code Insiders", "editor"),
        Client("windsurf", "Windsurf", "editor"),
    )
}

INSTALLABLE = ("claude-code", "claude-desktop", "cursor", "vscode", "vscode-insiders")


@dataclass(frozen=True, slots=True)
class Place:
    """A file of a client, and where in it the servers are."""

    client: Client
    file: Path
    keys: tuple[str, ...]
    """The keys that lead to the object of servers."""
    folder: Path | None = None
    """The project that it belongs to; None for the user's own."""
    detail: str = ""

    @property
    def slug(self) -> str:
        """What tells its servers from others of the same name."""
        return self.client.slug if self.folder is None else f"{self.client.slug}-{self.folder.name}"

    def said(self, home: Path) -> str:
        """Say where it is, in few words."""
        file = self.file
        shown = f"~/{file.relative_to(home).as_posix()}" if file.is_relative_to(home) else str(file)
        return f"{self.client.label}, {shown}{self.detail}"


def places(platform: str, environ: Mapping[str, str], folder: Path) -> tuple[Place, ...]:
    """Give every place that is looked at, the user's own first; `platform` is as in `sys.platform`."""
    own = _user_places(platform, environ)
    return (*own, *_project_places(folder))


def place_of(
    slug: str, platform: str, environ: Mapping[str, str], project: Path | None = None
) -> Place | None:
    """Give the place where a server is added for a client; None if it keeps none for projects."""
    found = _user_places(platform, environ) if project is None else _project_places(project)
    slug = "vscode" if project is not None and slug == "vscode-insiders" else slug
    return next((place for place in found if place.client.slug == slug), None)


def _user_places(platform: str, environ: Mapping[str, str]) -> tuple[Place, ...]:
    home = home_dir(environ)
    data = _application_data(platform, environ, home)
    claude = Path(environ["CLAUDE_CONFIG_DIR"]) if environ.get("CLAUDE_CONFIG_DIR") else home
    editors = []
    for slug, name in (("vscode", "Code"), ("vscode-insiders", "Code - Insiders")):
        user = data / name / "User"
        editors.append(Place(CLIENTS[slug], user / "mcp.json", ("servers",)))
        editors.append(Place(CLIENTS[slug], user / "settings.json", ("mcp", "servers")))
    return (
        Place(CLIENTS["claude-code"], claude / ".claude.json", ("mcpServers",)),
        Place(CLIENTS["claude-desktop"], data / "Claude" / "claude_desktop_config.json", ("mcpServers",)),
        Place(CLIENTS["cursor"], home / ".cursor" / "mcp.json", ("mcpServers",)),
        *editors,
        Place(CLIENTS["windsurf"], home / ".codeium" / "windsurf" / "mcp_config.json", ("mcpServers",)),
    )


def _project_places(folder: Path) -> tuple[Place, ...]:
    return (
        Place(CLIENTS["claude-code"], folder / ".mcp.json", ("mcpServers",), folder),
        Place(CLIENTS["cursor"], folder / ".cursor" / "mcp.json", ("mcpServers",), folder),
        Place(CLIENTS["vscode"], folder / ".vscode" / "mcp.json", ("servers",), folder),
    )


def _application_data(platform: str, environ: Mapping[str, str], home: Path) -> Path:
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        chosen = environ.get("APPDATA", "")
        return Path(chosen) if chosen else home / "AppData" / "Roaming"
    chosen = environ.get("XDG_CONFIG_HOME", "")
    return Path(chosen) if PurePath(chosen).is_absolute() else home / ".config"
