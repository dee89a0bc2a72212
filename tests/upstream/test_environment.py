"""Which environment variables a server process gets."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from halflap.config import ServerConfig
from halflap.upstream.stdio import server_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

PASSED = {
    "HOME": "/home/me",
    "PATH": "/usr/bin",
    "LC_TIME": "C",
    "XDG_RUNTIME_DIR": "/run/user/1000",
    "https_proxy": "http://proxy:3128",
    "NODE_EXTRA_CA_CERTS": "/etc/company.pem",
    "WAYLAND_DISPLAY": "wayland-0",
}
SECRETS = {
    "AWS_SECRET_ACCESS_KEY": "1",
    "GITHUB_TOKEN": "2",
    "OPENAI_API_KEY": "3",
    "HALFLAP_TOKEN": "4",
    "SSH_AUTH_SOCK": "5",
    "LD_PRELOAD": "6",
    "NODE_OPTIONS": "7",
    "PYTHONPATH": "8",
    "MY_PATH": "9",
    "xdg_lower": "10",
}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        monkeypatch.delenv(name)
    for name, value in {**PASSED, **SECRETS}.items():
        monkeypatch.setenv(name, value)


def passed(inherit_env: bool | tuple[str, ...], env: Mapping[str, str] = {}) -> dict[str, str]:
    server = ServerConfig(name="x", transport="stdio", command="x", inherit_env=inherit_env, env=env)
    found = server_environment(server)
    # Set by pytest itself while a test runs.
    found.pop("PYTEST_CURRENT_TEST", None)
    return found


def test_a_server_gets_what_programs_need_its_own_variables_and_what_the_user_names() -> None:
    assert passed(inherit_env=False) == PASSED
    assert passed(("GITHUB_TOKEN", "NOT_SET")) == {**PASSED, "GITHUB_TOKEN": "2"}
    assert passed(inherit_env=True) == {**PASSED, **SECRETS}
    assert passed(False, {"PATH": "/opt/bin", "KEY": "k"}) == {**PASSED, "PATH": "/opt/bin", "KEY": "k"}
