"""Project files and their trust."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from halflap.config import load_config, preview, read_project_file, trust_project_file
from halflap.core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from config.conftest import Desk

ADDS_ONE = "servers: {local: {command: '${TOOL:-tool}'}}\n"


def trust(desk: Desk, path: Path) -> None:
    trust_project_file(read_project_file(path, desk.environ), desk.environ)


@pytest.mark.parametrize("name", ["halflap.yaml", ".mcp.json"])
def test_a_new_project_file_is_pending_and_adds_nothing(desk: Desk, name: str) -> None:
    path = desk.project("servers: {local: {command: '${UNSET}'}}\nbroken: [\n", name)  # not even parsed
    config = desk.load()
    assert config.servers == ()
    assert [(each.path, each.state) for each in config.pending] == [(path, "new")]


def test_a_trusted_file_adds_its_servers(desk: Desk) -> None:
    path = desk.project(ADDS_ONE)
    trust(desk, path)
    config = desk.load()
    assert [(server.name, server.command, server.source) for server in config.servers] == [
        ("local", "tool", path)
    ]
    assert (config.pending, config.sources) == ((), (path,))
    (record,) = (desk.home / "data").iterdir()
    assert record.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("key", ["tools", "execution", "other"])
def test_a_project_file_can_only_add_servers(desk: Desk, key: str) -> None:
    trust(desk, desk.project(f"servers: {{}}\n{key}: {{}}\n"))
    problem = desk.problem()
    assert (problem.line, problem.code) == (2, "config-project-key")


def test_the_users_server_stays_when_a_project_file_has_one_of_that_name(desk: Desk) -> None:
    desk.user("servers: {local: {command: mine}}")
    trust(desk, desk.project(ADDS_ONE))
    config = desk.load()
    assert [server.command for server in config.servers] == ["mine"]
    assert "`local`" in config.warnings[0]


def test_trust_does_not_extend_to_another_folder_that_links_to_the_file(desk: Desk) -> None:
    trusted = desk.project("servers: {local: {command: ./run}}")
    trust(desk, trusted)
    elsewhere = desk.home / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "halflap.yaml").symlink_to(trusted)
    assert load_config(environ=desk.environ, cwd=elsewhere).servers == ()


def test_what_is_trusted_is_what_was_read(desk: Desk) -> None:
    path = desk.project(ADDS_ONE)
    file = read_project_file(path, desk.environ)
    desk.project("servers: {local: {command: evil}}")
    trust_project_file(file, desk.environ)
    assert [server.command for server in preview(file)] == ["${TOOL:-tool}"]
    config = desk.load()
    assert (config.servers, config.pending[0].state) == ((), "changed")
    desk.project(ADDS_ONE)
    assert [server.command for server in desk.load().servers] == ["tool"]


@pytest.mark.parametrize("text", ['{"files": {"a": 1}}', "\xff"])
def test_a_damaged_record_trusts_nothing_and_is_a_warning(desk: Desk, text: str) -> None:
    path = desk.project(ADDS_ONE)
    trust(desk, path)
    (desk.home / "data" / "trust.json").write_text(text, encoding="latin-1")
    config = desk.load()
    assert (config.servers, config.pending[0].state) == ((), "new")
    assert "trust" in config.warnings[0]


def test_nothing_is_trusted_while_the_record_cannot_be_written(desk: Desk) -> None:
    path = desk.project(ADDS_ONE)
    (desk.home / "data" / "trust.json").mkdir(parents=True)
    with pytest.raises(ConfigError) as raised:
        trust(desk, path)
    assert [one.code for one in raised.value.problems] == ["config-trust"]
    assert desk.load().servers == ()


def test_a_project_file_that_is_a_pipe_or_folder_or_dangling_link_does_not_stop_anything(desk: Desk) -> None:
    os.mkfifo(desk.work / "halflap.yaml")
    (desk.work / "halflap.yml").mkdir()
    (desk.work / ".mcp.json").symlink_to("nowhere")
    assert len(desk.load().warnings) == 3


def test_halflap_itself_is_left_out_of_a_project_file(desk: Desk) -> None:
    servers = {"gate": {"command": "/opt/halflap", "args": ["serve"]}, "time": {"command": "time"}}
    file = desk.project(json.dumps({"mcpServers": servers}), ".mcp.json")
    trust(desk, file)
    config = desk.load()
    assert [server.name for server in config.servers] == ["time"]
    assert any("`gate`" in warning for warning in config.warnings)
