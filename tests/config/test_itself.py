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
        "/usr/bin/python3 -m halflap serve",
        "uvx halflap@latest serve",
        "uvx --from halflap[all]==0.1 halflap serve",
        "uvx --with httpx --python 3.12 halflap serve",
        "bash -lc 'cd / && exec halflap serve'",
    ],
)
def test_halflap_is_recognised_by_its_command(words: str) -> None:
    command, *args = shlex.split(words)
    assert is_halflap(command, args)


@pytest.mark.parametrize(
    "words",
    [
        "npx halflap-tools serve",
        "git -C halflap log",
        "serve halflap",
        "halflap",
        "uvx mcp-server-git --repository /src/halflap serve",
        "uvx --with halflap other-server serve",
        "python3 -m halflap.demo.sales serve",
        "bash -c 'echo halflap serve; exec my-mcp'",
    ],
)
def test_other_commands_are_not(words: str) -> None:
    command, *args = shlex.split(words)
    assert not is_halflap(command, args)
