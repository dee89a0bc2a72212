from __future__ import annotations

import pytest

from halflap.config.itself import is_halflap


@pytest.mark.parametrize(
    "words",
    [
        "halflap serve",
        "/opt/halflap/bin/halflap serve --config /x.yaml",
        r"C:\tools\halflap.exe serve",
        "/usr/bin/python3 -m halflap serve",
        "uvx halflap@latest serve",
        "uvx --from halflap[all]==0.1 halflap serve",
        "pipx run halflap serve --http 127.0.0.1:1",
    ],
)
def test_halflap_is_known_by_its_command(words: str) -> None:
    command, *args = words.split()
    assert is_halflap(command, args)


@pytest.mark.parametrize(
    "words",
    [
        "npx halflap-tools serve",
        "node /home/me/halflap/index.js",
        "git -C halflap log",
        "serve halflap",
        "halflap",
    ],
)
def test_others_are_not_halflap(words: str) -> None:
    command, *args = words.split()
    assert not is_halflap(command, args)
