"""Finding and validating the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from halflap.config import models

if TYPE_CHECKING:
    from config.conftest import Desk


def test_the_path_wins_over_the_environment_and_the_folder(desk: Desk, tmp_path: Path) -> None:
    desk.user("tools: {pin: off}")
    (tmp_path / "env.yaml").write_text("tools: {pin: warn}")
    (tmp_path / "flag.yaml").write_text("tools: {pin: hold}")
    assert desk.load(tmp_path / "flag.yaml", HALFLAP_CONFIG=str(tmp_path / "env.yaml")).tools.pin == "hold"


FULL = """
tools: {allow: [mcp__a__b], pin: hold}
ttl: {list_seconds: 0, per_tool: {"mcp__a__*": 7}}
store: {url: "postgresql+psycopg://me:s3cret@h/d"}
lint: {ignore: [{rule: date-*, tools: mcp__my-shop__*, reason: Old.}], fail_on: warning}
programs: {root: ~/dspy, cache: off, lm: {model: openai/x, api_base: "http://${HOST}:80/v1", api_key: s3cret}}
roots: [., "~/x", "/a b", "file:///c", "${workspaceFolder}"]
"""


def test_sections_are_read_with_paths_globs_and_variables_resolved(desk: Desk) -> None:
    desk.user(FULL)
    config = desk.load(HOST="h")
    assert config.tools == models.ToolsConfig(allow=("mcp__a__b",), pin="hold")
    assert config.ttl == models.TtlConfig(list_seconds=0.0, per_tool={"mcp__a__*": 7.0})
    assert config.store == models.StoreConfig(url="postgresql+psycopg://me:s3cret@h/d")
    assert config.lint.ignore[0].tools == "mcp__my_shop__*"
    assert (config.programs.root, config.programs.cache) == (desk.home / "dspy", "off")
    assert config.programs.lm is not None
    assert config.programs.lm.api_base == "http://h:80/v1"
    assert "s3cret" not in repr(config)
    home = desk.home.as_uri()
    assert config.roots == (f"{home}/conf", f"{home}/x", "file:///a%20b", "file:///c", f"{home}/work")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("http: {tokens: {ann: short}}", "wrong-value"),
        ("http: {tokens: {ann: the-same-for-both, bob: the-same-for-both}}", "wrong-value"),
        ("tools: {allow: }", "wrong-value"),
        ("store: {url: 'mysql://me:h4nter2@h/d'}", "wrong-value"),
        ("roots: ['https://x']", "wrong-value"),
        ("programs: {lm: {model: openai/x, api_base: 'http://a:b@host/'}}", "wrong-value"),
        ("lint: {ignore: [{rule: number-without-unit}]}", "wrong-value"),
    ],
)
def test_a_wrong_setting_has_its_code_and_line(desk: Desk, text: str, code: str) -> None:
    problem = desk.problem(text)
    assert (problem.code, problem.line) == (f"config-{code}", 1)
    assert "h4nter2" not in str(problem)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("execution: {timeout_second: 1}", "timeout_seconds"),
        ("tools: {pin: holds}", "hold"),
    ],
)
def test_a_similar_key_or_value_is_suggested(desk: Desk, text: str, meant: str) -> None:
    assert f"'{meant}'" in (desk.problem(text).suggestion or "")


@pytest.mark.parametrize("pattern", ["delete_*", "github", "mcp", "scripts__a"])
def test_a_pattern_that_can_match_no_tool_is_a_mistake(desk: Desk, pattern: str) -> None:
    assert desk.problem(f"tools:\n  block: ['{pattern}']\n").line == 2


def test_control_characters_of_a_key_do_not_reach_the_terminal(desk: Desk) -> None:
    assert "\x1b" not in str(desk.problem('"\\e[2Jx": 1'))
