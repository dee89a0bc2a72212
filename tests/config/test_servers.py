"""Servers in a configuration."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from halflap.config import Config, ServerConfig, is_halflap
from halflap.core.errors import ConfigError

if TYPE_CHECKING:
    from config.conftest import Desk

SECRET = "hunter2-correct-horse"


def one(entry: dict[str, Any], **environ: str) -> ServerConfig:
    mapping = {"mcpServers": {"it": entry}}
    (server,) = Config.from_mapping(mapping, environ={"HOME": "/home/me", **environ}).servers
    return server


CLAUDE = '{"mcpServers": {"files": {"command": "npx", "args": ["-y", "x"], "env": {"A": "1"}}}}'
VSCODE = '{"inputs": [], "servers": {"files": {"type": "stdio", "gallery": true, "command": "npx", "args": ["-y", "x"], "env": {"A": "1"}}}}'
YAML = "servers:\n  files:\n    transport: stdio\n    command: npx\n    args: [-y, x]\n    env: {A: 1}\n"


@pytest.mark.parametrize("text", [CLAUDE, VSCODE, YAML])
def test_each_form_gives_the_same_server(desk: Desk, text: str) -> None:
    path = desk.user(text)
    assert desk.load().servers == (
        ServerConfig("files", "stdio", command="npx", args=("-y", "x"), env={"A": "1"}, source=path),
    )


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ({"type": "http", "transport": "sse", "url": "http://h"}, "unknown-key"),
        ({"command": "x", "env": {"A": None}}, "wrong-value"),
        ({"command": "x", "env": {"A=B": "1"}}, "wrong-value"),
        ({"command": "x", "inherit_env": "PATH"}, "wrong-value"),
        ({"command": "x", "env": {"VERSION": 1.1}}, "wrong-value"),
        ({"command": "x", "disabledTools": ["a"]}, "unknown-key"),
        ({"url": "https://x.example", "headers": {"A": "ü"}}, "header"),
        ({"url": "http://h/a b"}, "wrong-value"),
        ({"url": "http://h", "headers": {"A": "x\r\nB: y"}}, "header"),
    ],
)
def test_an_invalid_entry_makes_that_server_unusable_with_its_code(entry: dict[str, Any], code: str) -> None:
    (problem,) = one(entry).problems
    assert problem.code == f"config-{code}"


@pytest.mark.parametrize("name", ["  ", "a\nb", "x" * 65, "script", "dspy"])
def test_a_name_that_cannot_be_shown_or_is_ours_is_refused(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Config.from_mapping({"mcpServers": {name: {"command": "x"}}})
    assert [one.code for one in caught.value.problems] == ["config-server-name"]


def test_an_unset_variable_breaks_that_server_alone_and_is_named_with_file_and_line(desk: Desk) -> None:
    path = desk.user(
        "mcpServers:\n  a:\n    command: x\n    args:\n      - y\n      - ${NOT_SET}\n  b:\n    command: z\n"
    )
    broken, other = desk.load().servers
    assert broken.broken is not None
    assert broken.broken.startswith(f"{path}:6: ")
    assert "`NOT_SET`" in broken.broken
    assert other.broken is None


def test_unset_variables_of_a_disabled_server_are_no_problem() -> None:
    off = one({"command": "x", "env": {"TOKEN": "${NOT_SET}"}, "disabled": True})
    assert (off.disabled, off.problems) == (True, ())


def test_the_env_of_a_server_wins_over_its_env_file(desk: Desk) -> None:
    (desk.home / "more.env").write_text("A=file\nB=file\n")
    desk.user(f"mcpServers: {{it: {{command: x, envFile: '{desk.home}/more.env', env: {{A: entry}}}}}}")
    (server,) = desk.load().servers
    assert server.env == {"A": "entry", "B": "file"}


def test_defaults_of_upstream_hold_unless_the_server_says_otherwise(desk: Desk) -> None:
    desk.user(
        "upstream: {start_timeout_seconds: 5, max_concurrent_calls: 2}\n"
        "mcpServers: {a: {command: x}, b: {command: x, max_concurrent_calls: 3}}"
    )
    a, b = desk.load().servers
    assert (a.start_timeout_seconds, a.max_concurrent_calls, b.max_concurrent_calls) == (5, 2, 3)


SECRETIVE: list[dict[str, Any]] = [
    {"command": "x", "env": {"TOKEN": [SECRET]}},
    {"command": "x", "args": [{SECRET: 1}]},
    {"url": SECRET},
    {"url": "https://user:" + SECRET + "@h:x/"},
    {"url": "http://h", "headers": {"Authorization": SECRET + "\n"}},
    {"url": "http://h", "headers": {"Authorization": {"Bearer": SECRET}}},
    {"command": "x", "env": {"TOKEN": SECRET + "${"}},
    {"command": "x", "env": {"TOKEN": "${" + SECRET + " x}"}},
    {"url": "${U}", "headers": {"A": "${U}"}},
]


@pytest.mark.parametrize("entry", SECRETIVE)
def test_no_message_holds_a_secret(entry: dict[str, Any]) -> None:
    assert SECRET not in (one(entry, U=SECRET + "\n").broken or SECRET)


FULL = ServerConfig(
    "it", "http", url=f"https://me:{SECRET}@h/{SECRET}?key={SECRET}", headers={"Authorization": SECRET}
)
COMMAND = ServerConfig("it", "stdio", command="x", args=("--key", SECRET), env={"TOKEN": SECRET})


@pytest.mark.parametrize("server", [FULL, COMMAND])
def test_repr_shows_no_secret(server: ServerConfig) -> None:
    assert SECRET not in repr(Config(servers=(server,)))


@pytest.mark.parametrize(
    "changed",
    [
        replace(COMMAND, command="y"),
        replace(COMMAND, args=("--key",)),
        replace(COMMAND, env={}),
        replace(COMMAND, headers={"A": "1"}),
        replace(COMMAND, inherit_env=True),
    ],
)
def test_the_fingerprint_depends_on_everything_the_server_is(changed: ServerConfig) -> None:
    assert changed.fingerprint != COMMAND.fingerprint


@pytest.mark.parametrize(
    ("words", "is_ours"),
    [
        ("uvx --from halflap[all]==0.1 halflap serve", True),
        ("uv --directory /src/halflap run halflap serve", True),
        ("/bin/sh -c 'A=1 \"$HOME/.local/bin/halflap\" serve 2>>/x.log'", True),
        ("npx halflap-tools serve", False),
        ("docker exec -i halflap other serve", False),
    ],
)
def test_halflap_itself_is_recognised(words: str, is_ours: bool) -> None:
    command, *args = shlex.split(words)
    assert is_halflap(command, args) == is_ours
