"""Where each client keeps its MCP servers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal

from halflap.config import home_dir

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CLIENTS", "Client", "Place", "place_of", "places"]

Variables = Literal["shell", "editor", "none"]
"""What a client expands: `${VAR}` as a shell does, `${env:VAR}` and folders as VS Code does, or nothing."""


@dataclass(frozen=True, slots=True)
class Client:
    slug: str
    label: str
    variables: Variables = "none"


CLIENTS: Mapping[str, Client] = {
    client.slug: client
    for client in (
        Client("claude-code", "Claude Code", "shell"),
        Client("claude-desktop", "Claude Desktop"),
        Client("cursor", "Cursor", "editor"),
        Client("vscode", "VS Code", "editor"),
        Client("vscode-insiders", "VS Code Insiders", "editor"),
        Client("windsurf", "Windsurf", "editor"),
        Client("codex", "Codex"),
        Client("gemini", "Gemini CLI", "shell"),
        Client("zed", "Zed"),
        Client("cline", "Cline", "editor"),
        Client("goose", "Goose"),
    )
}


@dataclass(frozen=True, slots=True)
class Place:
    """A client's file, and the path of keys to the servers in it."""

    client: Client
    file: Path
    keys: tuple[str, ...] = ("mcpServers",)
    folder: Path | None = None
    """The project it belongs to; None for the user's own file."""
    detail: str = ""

    @property
    def slug(self) -> str:
        """A suffix that distinguishes servers of the same name."""
        return self.client.slug if self.folder is None else f"{self.client.slug}-{self.folder.name}"

    def describe(self, home: Path) -> str:
        file = self.file
        shown = f"~/{file.relative_to(home).as_posix()}" if file.is_relative_to(home) else str(file)
        return f"{self.client.label}, {shown}{self.detail}"


def places(platform: str, environ: Mapping[str, str], folder: Path) -> tuple[Place, ...]:
    """Return every place to look at, the user's own first; `platform` is a value of `sys.platform`."""
    return (*_user_places(platform, environ), *_project_places(folder))


def place_of(
    slug: str, platform: str, environ: Mapping[str, str], project: Path | None = None
) -> Place | None:
    """Return the place where `install` adds Halflap; None if the client has no files for projects."""
    found = _user_places(platform, environ) if project is None else _project_places(project)
    slug = "vscode" if project is not None and slug == "vscode-insiders" else slug
    return next((place for place in found if place.client.slug == slug), None)


def _user_places(platform: str, environ: Mapping[str, str]) -> tuple[Place, ...]:
    home = home_dir(environ)
    data = _application_data(platform, environ, home)
    claude = Path(environ["CLAUDE_CONFIG_DIR"]) if environ.get("CLAUDE_CONFIG_DIR") else home
    codex = Path(environ["CODEX_HOME"]) if environ.get("CODEX_HOME") else home / ".codex"
    editors = []
    for slug, name in (("vscode", "Code"), ("vscode-insiders", "Code - Insiders")):
        user = data / name / "User"
        editors.append(Place(CLIENTS[slug], user / "mcp.json", ("servers",)))
        editors.append(Place(CLIENTS[slug], user / "settings.json", ("mcp", "servers")))
    extension = data / "Code" / "User" / "globalStorage" / "saoudrizwan.claude-dev" / "settings"
    # Zed and Goose use ~/.config on macOS, too.
    zed = data / "Zed" if platform == "win32" else _xdg_config(environ, home) / "zed"
    goose = (
        data / "Block" / "goose" / "config" if platform == "win32" else _xdg_config(environ, home) / "goose"
    )
    return (
        Place(CLIENTS["claude-code"], claude / ".claude.json"),
        Place(CLIENTS["claude-desktop"], data / "Claude" / "claude_desktop_config.json"),
        Place(CLIENTS["cursor"], home / ".cursor" / "mcp.json"),
        *editors,
        Place(CLIENTS["windsurf"], home / ".codeium" / "windsurf" / "mcp_config.json"),
        Place(CLIENTS["codex"], codex / "config.toml", ("mcp_servers",)),
        Place(CLIENTS["gemini"], home / ".gemini" / "settings.json"),
        Place(CLIENTS["zed"], zed / "settings.json", ("context_servers",)),
        Place(CLIENTS["cline"], extension / "cline_mcp_settings.json"),
        Place(CLIENTS["goose"], goose / "config.yaml", ("extensions",)),
    )


def _project_places(folder: Path) -> tuple[Place, ...]:
    return (
        Place(CLIENTS["claude-code"], folder / ".mcp.json", folder=folder),
        Place(CLIENTS["cursor"], folder / ".cursor" / "mcp.json", folder=folder),
        Place(CLIENTS["vscode"], folder / ".vscode" / "mcp.json", ("servers",), folder),
        Place(CLIENTS["codex"], folder / ".codex" / "config.toml", ("mcp_servers",), folder),
        Place(CLIENTS["gemini"], folder / ".gemini" / "settings.json", folder=folder),
        Place(CLIENTS["zed"], folder / ".zed" / "settings.json", ("context_servers",), folder),
    )


def _application_data(platform: str, environ: Mapping[str, str], home: Path) -> Path:
    if platform == "darwin":
        return home / "Library" / "Application Support"
    if platform == "win32":
        chosen = environ.get("APPDATA", "")
        return Path(chosen) if chosen else home / "AppData" / "Roaming"
    return _xdg_config(environ, home)


def _xdg_config(environ: Mapping[str, str], home: Path) -> Path:
    chosen = environ.get("XDG_CONFIG_HOME", "")
    return Path(chosen) if PurePath(chosen).is_absolute() else home / ".config"
