"""Where clients keep their files."""

from __future__ import annotations

from pathlib import Path

from halflap.clients.places import user_places


def file_of(slug: str, platform: str, **environ: str) -> Path:
    found = {place.client.slug: place.file for place in user_places(platform, {"HOME": "/h", **environ})}
    return found[slug]


def test_each_client_has_its_file_on_each_platform_and_the_environment_moves_it() -> None:
    for file, found in {
        "/h/.claude.json": file_of("claude-code", "linux"),
        "/h/.config/Claude/claude_desktop_config.json": file_of("claude-desktop", "linux"),
        "/h/Library/Application Support/Claude/claude_desktop_config.json": file_of(
            "claude-desktop", "darwin"
        ),
        "/h/.config/zed/settings.json": file_of("zed", "darwin", XDG_CONFIG_HOME="not/absolute"),
        "/x/Code/User/mcp.json": file_of("vscode", "linux", XDG_CONFIG_HOME="/x"),
        "/c/.claude.json": file_of("claude-code", "linux", CLAUDE_CONFIG_DIR="/c"),
    }.items():
        assert found == Path(file)
