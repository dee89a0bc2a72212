"""Where clients keep their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from halflap.clients import place_of, places

WORK = Path("/projects/here")


@pytest.mark.parametrize(
    ("platform", "slug", "file"),
    [
        ("linux", "claude-code", "/h/.claude.json"),
        ("linux", "claude-desktop", "/h/.config/Claude/claude_desktop_config.json"),
        ("linux", "cursor", "/h/.cursor/mcp.json"),
        ("linux", "vscode", "/h/.config/Code/User/mcp.json"),
        ("linux", "windsurf", "/h/.codeium/windsurf/mcp_config.json"),
        ("linux", "codex", "/h/.codex/config.toml"),
        ("linux", "gemini", "/h/.gemini/settings.json"),
        ("linux", "goose", "/h/.config/goose/config.yaml"),
        ("darwin", "claude-desktop", "/h/Library/Application Support/Claude/claude_desktop_config.json"),
        ("darwin", "zed", "/h/.config/zed/settings.json"),
        ("win32", "vscode", "/roaming/Code/User/mcp.json"),
        ("win32", "goose", "/roaming/Block/goose/config/config.yaml"),
    ],
)
def test_each_client_has_its_file_on_each_platform(platform: str, slug: str, file: str) -> None:
    place = place_of(slug, platform, {"HOME": "/h", "APPDATA": "/roaming"})
    assert place is not None
    assert place.file == Path(file)


def test_the_environment_moves_the_folders() -> None:
    environ = {"HOME": "/h", "XDG_CONFIG_HOME": "/x", "CLAUDE_CONFIG_DIR": "/c"}
    files = {str(place.file) for place in places("linux", environ, WORK)}
    assert {"/x/Code/User/mcp.json", "/c/.claude.json"} <= files
    relative = {"HOME": "/h", "XDG_CONFIG_HOME": "not/absolute"}
    assert place_of("vscode", "linux", relative) == place_of("vscode", "linux", {"HOME": "/h"})
