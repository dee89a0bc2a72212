"""Where clients keep their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from halflap.clients import place_of, places

WORK = Path("/projects/here")
OWN = {
    "linux": {
        "claude-code": ["/h/.claude.json"],
        "claude-desktop": ["/h/.config/Claude/claude_desktop_config.json"],
        "cursor": ["/h/.cursor/mcp.json"],
        "vscode": ["/h/.config/Code/User/mcp.json", "/h/.config/Code/User/settings.json"],
        "vscode-insiders": [
            "/h/.config/Code - Insiders/User/mcp.json",
            "/h/.config/Code - Insiders/User/settings.json",
        ],
        "windsurf": ["/h/.codeium/windsurf/mcp_config.json"],
        "codex": ["/h/.codex/config.toml"],
        "gemini": ["/h/.gemini/settings.json"],
        "zed": ["/h/.config/zed/settings.json"],
        "goose": ["/h/.config/goose/config.yaml"],
    },
    "darwin": {
        "claude-desktop": ["/h/Library/Application Support/Claude/claude_desktop_config.json"],
        "vscode": [
            "/h/Library/Application Support/Code/User/mcp.json",
            "/h/Library/Application Support/Code/User/settings.json",
        ],
        "zed": ["/h/.config/zed/settings.json"],
    },
    "win32": {
        "claude-desktop": ["/roaming/Claude/claude_desktop_config.json"],
        "vscode": ["/roaming/Code/User/mcp.json", "/roaming/Code/User/settings.json"],
        "cursor": ["/h/.cursor/mcp.json"],
        "goose": ["/roaming/Block/goose/config/config.yaml"],
    },
}


@pytest.mark.parametrize(
    ("platform", "slug"), [(system, slug) for system, each in OWN.items() for slug in each]
)
def test_each_client_has_its_file_on_each_platform(platform: str, slug: str) -> None:
    environ = {"HOME": "/h", "APPDATA": "/roaming"}
    found = places(platform, environ, WORK)
    own = [str(place.file) for place in found if place.client.slug == slug and place.folder is None]
    assert own == OWN[platform][slug]


def test_the_environment_moves_the_folders() -> None:
    environ = {"HOME": "/h", "XDG_CONFIG_HOME": "/x", "CLAUDE_CONFIG_DIR": "/c"}
    files = {str(place.file) for place in places("linux", environ, WORK)}
    assert {"/x/Code/User/mcp.json", "/c/.claude.json"} <= files
    relative = {"HOME": "/h", "XDG_CONFIG_HOME": "not/absolute"}
    assert place_of("vscode", "linux", relative) == place_of("vscode", "linux", {"HOME": "/h"})
