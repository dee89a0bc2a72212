"""The supported clients, and where each keeps its MCP servers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal

from halflap.config import home_dir

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Variables = Literal["shell", "editor", "none"]
"""What a client expands: `${VAR}` as a shell does, `${env:VAR}` and folders as VS Code does, or nothing."""
_SERVERS = ("mcpServers",)
_VS_CODE = (("servers",), ("mcp", "servers"))


@dataclass(frozen=True, slots=True)
class Client:
    slug: str
    label: str
    files: tuple[str, ...]
    """The user's own files; the first is where `install` adds Halflap."""
    project: str | None = None
    """The file in a project's folder."""
    keys: tuple[tuple[str, ...], ...] = (_SERVERS,)
    """The path of keys to the servers, in each of the files."""
    variables: Variables = "none"


_CLINE = "{data}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
CLIENTS: Mapping[str, Client] = {
    client.slug: client
    for client in (
        Client("claude-code", "Claude Code", ("{claude}/.claude.json",), ".mcp.json", variables="shell"),
        Client("claude-desktop", "Claude Desktop", ("{data}/Claude/claude_desktop_config.json",)),
        Client("cursor", "Cursor", ("{home}/.cursor/mcp.json",), ".cursor/mcp.json", variables="editor"),
        Client(
            "vscode",
            "VS Code",
            ("{data}/Code/User/mcp.json", "{data}/Code/User/settings.json"),
            ".vscode/mcp.json",
            _VS_CODE,
            "editor",
        ),
        Client(
            "vscode-insiders",
            "VS Code Insiders",
            ("{data}/Code - Insiders/User/mcp.json", "{data}/Code - Insiders/User/settings.json"),
            None,
            _VS_CODE,
            "editor",
        ),
        Client("windsurf", "Windsurf", ("{home}/.codeium/windsurf/mcp_config.json",), variables="editor"),
        Client("codex", "Codex", ("{codex}/config.toml",), ".codex/config.toml", (("mcp_servers",),)),
        Client(
            "gemini",
            "Gemini CLI",
            ("{home}/.gemini/settings.json",),
            ".gemini/settings.json",
            variables="shell",
        ),
        Client("zed", "Zed", ("{zed}/settings.json",), ".zed/settings.json", (("context_servers",),)),
        Client("cline", "Cline", (_CLINE,), variables="editor"),
        Client("goose", "Goose", ("{goose}/config.yaml",), keys=(("extensions",),)),
    )
}


@dataclass(frozen=True, slots=True)
class Place:
    """A client's file, and the path of keys to the servers in it."""

    client: Client
    file: Path
    keys: tuple[str, ...] = _SERVERS
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


def _user_places(platform: str, environ: Mapping[str, str]) -> Iterator[Place]:
    home = home_dir(environ)
    xdg = environ.get("XDG_CONFIG_HOME", "")
    config = data = Path(xdg) if PurePath(xdg).is_absolute() else home / ".config"
    if platform == "darwin":
        data = home / "Library" / "Application Support"
    elif platform == "win32":
        data = Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
    is_windows = platform == "win32"
    folders = {
        "home": home,
        "data": data,
        "claude": environ.get("CLAUDE_CONFIG_DIR") or home,
        "codex": environ.get("CODEX_HOME") or home / ".codex",
        # Zed and Goose use ~/.config on macOS, too.
        "zed": data / "Zed" if is_windows else config / "zed",
        "goose": data / "Block" / "goose" / "config" if is_windows else config / "goose",
    }
    for client in CLIENTS.values():
        for file, keys in zip(client.files, client.keys, strict=False):
            yield Place(client, Path(file.format(**folders)), keys)


def _project_places(folder: Path) -> Iterator[Place]:
    for client in CLIENTS.values():
        if client.project is not None:
            yield Place(client, folder / client.project, client.keys[0], folder)
