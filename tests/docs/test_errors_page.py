"""docs/errors.md: every code has its heading, and every problem of a configuration has its code."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from typing import TYPE_CHECKING, get_args

import pytest

import halflap
from halflap.cli.commands.doctor import explanations
from halflap.config import Config, load_config, preview, trust_project_file
from halflap.core.codes import CODES, ConfigCode, ErrorCode, RunCode
from halflap.core.errors import ConfigError, HalflapError
from halflap.learn.drift import What
from halflap.sandbox.run.report import Execution
from halflap.sandbox.sandbox import Ending
from halflap.store import MISTAKEN
from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PAGE = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
TEXTS = explanations()


def below(one: type[HalflapError]) -> Iterator[type[HalflapError]]:
    yield one
    for inner in one.__subclasses__():
        yield from below(inner)


def test_every_code_has_one_heading_and_every_heading_is_a_code() -> None:
    assert sorted(re.findall(r"^### (.+)$", PAGE, re.MULTILINE)) == sorted(CODES)
    assert len(set(CODES)) == len(CODES)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code) for code in CODES)


def test_every_exception_has_a_code_of_its_own() -> None:
    for module in pkgutil.walk_packages(halflap.__path__, "halflap."):
        if ".inside" not in module.name and "__main__" not in module.name:
            importlib.import_module(module.name)
    codes = [one.code for one in below(HalflapError) if one.__module__.startswith("halflap")]
    assert sorted(codes) == sorted(get_args(ErrorCode))


def test_every_outcome_of_a_run_has_a_code() -> None:
    outcome = Ending.__annotations__["outcome"]
    ends = {*ast.literal_eval(outcome.removeprefix("Literal")), "timeout", "cancelled", MISTAKEN} - {"ok"}
    assert {f"run-{one}" for one in ends} == set(get_args(RunCode))
    for one in ends:
        assert Execution("id", one, "", "").code == f"run-{one}"
    assert Execution("id", "ok", "", "").code is None


def test_every_kind_of_drift_is_named() -> None:
    for what in (*get_args(What), "breaks-declared-schema"):
        assert f"`{what}`" in PAGE


@pytest.mark.parametrize("code", CODES)
def test_each_code_has_one_short_paragraph(code: str) -> None:
    assert "\n\n" not in TEXTS[code].strip().partition("\n## ")[0]
    assert 20 <= len(TEXTS[code]) <= 500


FILES: dict[str, str] = {
    "config-duplicate-key": "roots: []\nroots: []\n",
    "config-unknown-key": "mcpServers:\n  time:\n    comand: uvx\n    command: uvx\n",
    "config-wrong-value": "tools:\n  pin: holt\n",
    "config-exclusive": "tools:\n  allow: []\n  block: []\n",
    "config-timeouts": "upstream: {call_timeout_seconds: 700}\n",
    "config-env-file": "mcpServers:\n  time:\n    command: uvx\n    envFile: time.env\n",
    "config-header": "mcpServers:\n  time:\n    url: https://example.com\n    headers:\n      X Token: a\n",
    "config-server-name": "mcpServers:\n  script:\n    command: uvx\n",
    "config-duplicate-server": "servers:\n  time:\n    command: uvx\nmcpServers:\n  time:\n    command: uvx\n",
    "config-server-incomplete": "mcpServers:\n  time: {}\n",
    "config-transport": "mcpServers:\n  time:\n    url: https://example.com\n    type: stdio\n",
    "config-not-utf8": "tools:\n  pin: warn\xff\n",
    "config-syntax": "{'a': 1}",
    "config-too-large": "#" * 1_100_000,
}


def codes(call: Callable[[], object]) -> list[str]:
    try:
        config = call()
    except ConfigError as error:
        return [one.code for one in error.problems]
    assert isinstance(config, Config)
    return [one.code for server in config.servers for one in server.problems]


@pytest.mark.parametrize("code", sorted(FILES))
def test_a_broken_configuration_has_its_code(code: str, tmp_path: Path) -> None:
    file = tmp_path / ("servers.json" if code == "config-syntax" else "servers.yaml")
    file.write_bytes(FILES[code].encode("latin-1"))
    (tmp_path / "time.env").write_text("nonsense\n")
    assert codes(lambda: load_config(file, environ={}, cwd=tmp_path)) == [code]


def test_files_that_cannot_be_used_have_their_codes(tmp_path: Path) -> None:
    def load(path: Path) -> list[str]:
        return codes(lambda: load_config(path, environ={}, cwd=tmp_path))

    assert load(tmp_path / "servers.yaml") == ["config-not-found"]
    assert load(tmp_path) == ["config-unreadable"]
    file = tmp_path / "halflap.yaml"
    file.write_text("tools: {}\n")
    (tmp_path / "data").write_text("")
    environ = {"HALFLAP_DATA_DIR": str(tmp_path / "data")}
    assert codes(lambda: preview(file)) == ["config-project-key"]
    assert codes(lambda: preview(file, digest="another")) == ["config-changed"]
    assert codes(lambda: trust_project_file(file, environ)) == ["config-trust"]


def test_every_code_of_a_configuration_is_provoked_here() -> None:
    others = {
        "config-not-found", "config-unreadable", "config-project-key", "config-changed", "config-trust",
        # It turns off one server; tests/gateway has it.
        "config-variable",
    }  # fmt: skip
    assert {*FILES, *others} == set(get_args(ConfigCode))
