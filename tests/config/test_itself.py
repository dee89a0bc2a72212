"""Recognising Halflap among servers."""

from __future__ import annotations

import shlex

import pytest

from halflap.config.itself import is_halflap


@pytest.mark.parametrize(
    "words",
    [
        "halflap serve",
        "/opt/halflap/bin/halflap serve --config /x.yaml",
        r"'C:\tools\halflap.exe' serve",
        "/usr/bin/python3 -m halflap serve",
        "uvx halflap@latest serve",
        "uvx --from halflap[all]==0.1 halflap serve",
        "pipx run halflap serve --http 127.0.0.1:1",
        "pipx run --spec halflap==0.1 halflap serve",
        "uvx --with httpx --python 3.12 halflap serve",
        "uv tool run --from git+https://example.com/halflap.git halflap serve",
        "uv --directory /src/halflap run halflap serve",
        "uv run --with halflap python -m halflap serve",
        "uv run -m halflap serve",
        "python3.12 -X dev -Im halflap serve",
        "env -u A B=1 halflap serve",
        "bash -lc 'cd / && exec halflap serve'",
        "/bin/sh -e -c 'A=1 \"$HOME/.local/bin/halflap\" serve 2>>/x.log'",
        "zsh -c 'if true; then uvx halflap serve; fi'",
        "bash -c \"sh -c 'halflap serve'\"",
        r"cmd /c 'C:\tools\halflap.exe' serve",
        r"""powershell.exe -NoProfile -Command '& "C:\my tools\halflap.exe" serve'""",
        "'halflap serve'",
    ],
)
def test_halflap_is_recognised_by_its_command(words: str) -> None:
    command, *args = shlex.split(words)
    assert is_halflap(command, args)


@pytest.mark.parametrize(
    "words",
    [
        "npx halflap-tools serve",
        "node /home/me/halflap/index.js",
        "git -C halflap log",
        "serve halflap",
        "halflap",
        "halflap demo-server",
        "uvx mcp-server-git --repository /src/halflap serve",
        "npx -y my-server --name halflap serve",
        "uvx --with halflap other-server serve",
        "uvx --from halflap other serve",
        "uv run --directory /src/halflap other halflap serve",
        "uv add halflap serve",
        "pipx install halflap serve",
        "git -C halflap serve",
        "docker exec -i halflap other serve",
        "python3 /src/halflap serve",
        "python3 -m halflap.demo.sales serve",
        "python3 -m mine halflap serve",
        "/opt/halflap/bin/python -m mine serve",
        "bash -c 'echo halflap serve; exec my-mcp'",
        "bash -c 'my-mcp --log /tmp/halflap serve'",
        "bash run.sh -c 'halflap serve'",
        'bash -c "halflap serve \'"',
        "env A=halflap other serve",
        "'my-mcp halflap serve'",
    ],
)
def test_other_commands_are_not(words: str) -> None:
    command, *args = shlex.split(words)
    assert not is_halflap(command, args)
