"""Where clients keep their files."""

from __future__ import annotations

from pathlib import Path

import pytest

from halflap.clients.places import user_places


def file_of(slug: str, platform: str, **environ: str) -> Path:
    found = {place.client.slug: place.file for place in user_places(platform, {"HOME": "/h", **environ})}
    return found[slug]


@pytest.mark.parametrize(
    ("platform", "slug", "file"),
    [
        ("linux", "claude-code", "/h/.claude.json"),
        ("linux", "claude-desktop", "/h/.config/Claude/claude_desktop_config.json"),
        ("darwin", "claude-desktop", "/h/Library/Application Support/Claude/claude_desktop_config.json"),
        ("darwin", "zed", "/h/.config/zed/settings.json"),
    ],
)
def test_each_client_has_its_file_on_each_platform(platform: str, slug: str, file: str) -> None:
    assert file_of(slug, platform) == Path(file)


def test_the_environment_moves_the_folders() -> None:
    assert file_of("vscode", "linux", XDG_CONFIG_HOME="/x") == Path("/x/Code/User/mcp.json")
    assert file_of("claude-code", "linux", CLAUDE_CONFIG_DIR="/c") == Path("/c/.claude.json")
    assert file_of("zed", "linux", XDG_CONFIG_HOME="not/absolute") == Path("/h/.config/zed/settings.json")
