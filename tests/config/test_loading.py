from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import halflap.config
from halflap.config import Config, load_config, user_config_dir, user_data_dir
from halflap.config.table import SETTINGS
from halflap.errors import ConfigError

if TYPE_CHECKING:
    from config.conftest import Desk


def test_without_a_file_the_configuration_is_empty(desk: Desk) -> None:
    assert desk.load() == Config(data_dir=desk.home / "data")


def test_an_empty_configuration_needs_no_argument() -> None:
    assert Config().servers == ()


def test_the_path_wins_over_the_environment_and_the_folder(desk: Desk, tmp_path: Path) -> None:
    desk.user("tools: {pin: off}")
    (tmp_path / "env.yaml").write_text("tools: {pin: warn}")
    (tmp_path / "flag.yaml").write_text("tools: {pin: hold}")
    assert desk.load(tmp_path / "flag.yaml", HALFLAP_CONFIG=str(tmp_path / "env.yaml")).tools.pin == "hold"


def test_the_environment_wins_over_the_folder(desk: Desk, tmp_path: Path) -> None:
    desk.user("tools: {pin: off}")
    (tmp_path / "env.yaml").write_text("tools: {pin: hold}")
    assert desk.load(HALFLAP_CONFIG=str(tmp_path / "env.yaml")).tools.pin == "hold"


def test_an_empty_variable_names_no_file(desk: Desk) -> None:
    desk.user("tools: {pin: off}")
    assert desk.load(HALFLAP_CONFIG="").tools.pin == "off"


@pytest.mark.parametrize("name", ["config.yaml", "config.yml", "config.json"])
def test_the_file_in_the_folder_may_be_yaml_or_json(desk: Desk, name: str) -> None:
    path = desk.user('{"tools": {"pin": "off"}}', name)
    config = desk.load()
    assert (config.tools.pin, config.sources) == ("off", (path,))


def test_of_several_files_in_the_folder_the_first_counts_with_a_warning(desk: Desk) -> None:
    desk.user("tools: {pin: off}")
    desk.user("broken: [", "config.json")
    config = desk.load()
    assert config.tools.pin == "off"
    assert "config.json is left out" in config.warnings[0]


def test_a_file_that_was_asked_for_must_exist(desk: Desk) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: there is no such file"):
        desk.load("none.yaml")


def test_a_missing_file_named_by_the_environment_says_who_named_it(desk: Desk) -> None:
    assert desk.problem(HALFLAP_CONFIG="none.yaml").suggestion == "`HALFLAP_CONFIG` names this file."


def test_a_folder_is_no_configuration(desk: Desk) -> None:
    with pytest.raises(ConfigError):
        desk.load(desk.work)


def test_a_relative_path_starts_at_the_working_folder(desk: Desk) -> None:
    (desk.work / "own.yaml").write_text("tools: {pin: off}")
    assert desk.load("own.yaml").tools.pin == "off"


def test_an_oversized_file_is_a_problem(desk: Desk) -> None:
    assert "larger than 1 MiB" in desk.problem("#" * (1024 * 1024 + 1)).message


FULL = """
tools: {allow: [mcp__a__b], read_only: ["mcp__a__get_*"], destructive: ["*delete*"], pin: hold}
execution: {timeout_seconds: 5, max_output_bytes: 100}
ttl: {list_seconds: 0, schema_seconds: 1.5, per_tool: {"mcp__a__*": 7}}
store: {path: data/x.db}
graph: {lineage: false}
http: {allowed_hosts: [h:1], allowed_origins: ["https://o"]}
upstream: {start_timeout_seconds: 1, call_timeout_seconds: 2, max_call_timeout_seconds: 3, max_concurrent_calls: 4}
roots: [., "~/x", "/a b", "file:///c", "${workspaceFolder}"]
"""


def test_every_section_arrives_where_it_belongs(desk: Desk) -> None:
    desk.user(FULL)
    config = desk.load()
    assert config.tools == halflap.config.ToolsConfig(
        ("mcp__a__b",), (), ("mcp__a__get_*",), ("*delete*",), pin="hold"
    )
    assert config.execution == halflap.config.ExecutionConfig(timeout_seconds=5.0, max_output_bytes=100)
    assert config.ttl == halflap.config.TtlConfig(0.0, 1.5, {"mcp__a__*": 7.0})
    assert config.store == halflap.config.StoreConfig(desk.home / "conf" / "data" / "x.db")
    assert config.graph == halflap.config.GraphConfig(lineage=False)
    assert config.http == halflap.config.HttpConfig(("h:1",), ("https://o",))
    assert config.upstream == halflap.config.UpstreamDefaults(1.0, 2.0, 3.0, 4)


def test_roots_become_file_uris(desk: Desk) -> None:
    desk.user(FULL)
    home = desk.home.as_uri()
    assert desk.load().roots == (f"{home}/conf", f"{home}/x", "file:///a%20b", "file:///c", f"{home}/work")


@pytest.mark.parametrize(
    "setting", [setting for setting in SETTINGS if setting.name != "roots"], ids=lambda s: s.name
)
def test_the_default_in_the_table_is_the_default_of_the_configuration(setting: Any) -> None:
    section, key = setting.name.split(".")
    assert getattr(getattr(Config(), section), key) == setting.default


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tool: {}", "unknown key `tool`. Did you mean `tools`?"),
        ("zzzzzz: {}", "unknown key `zzzzzz`. Known keys: `mcpServers`, `servers`,"),
        ("execution: {timeout: 1}", "unknown key `timeout` in `execution`. Did you mean `timeout_seconds`?"),
        (
            'execution: {timeout_seconds: "fast"}',
            'execution.timeout_seconds must be a number greater than 0, not "fast".',
        ),
        (
            "execution: {timeout_seconds: '5'}",
            'execution.timeout_seconds must be a number greater than 0, not "5".',
        ),
        ("execution: {timeout_seconds: true}", "must be a number greater than 0, not true."),
        (
            "http: {tokens: {ann: short}}",
            "http.tokens.ann must have 16 characters or more, all of them ASCII",
        ),
        (
            "http: {tokens: {ann: 'blanks are in this one'}}",
            "http.tokens.ann must have 16 characters or more",
        ),
        ("http: {tokens: {ann: '${NO_SUCH_TOKEN}'}}", "http.tokens.ann: the environment variable"),
        (
            "http: {tokens: {ann: the-same-for-both, bob: the-same-for-both}}",
            "http.tokens.bob is the token of somebody else. Give each person their own.",
        ),
        ("execution: {timeout_seconds: 0}", "must be a number greater than 0, not 0."),
        ("execution: {timeout_seconds: 1e400}", "must be at most 1,000,000,000,000."),
        ("execution: {timeout_seconds: .nan}", 'must be a number greater than 0, not ".nan".'),
        ("execution: {max_output_bytes: 1.0}", "must be a whole number greater than 0, not 1.0."),
        ("execution: []", "execution must be a mapping of keys to values, not a list."),
        ("ttl: {list_seconds: -1}", "ttl.list_seconds must be a number of at least 0, not -1."),
        ("ttl: {per_tool: {a: b}}", 'ttl.per_tool.a must be a number of at least 0, not "b".'),
        ("tools: {block: mcp__a}", 'tools.block must be a list of names or globs, not "mcp__a".'),
        ("tools: {block: [1]}", "tools.block[0] must be a name or glob, not 1. Put it in quotes."),
        ("tools: {block: ['']}", "tools.block[0] must not be empty."),
        ("tools: {allow: [mcp__a], block: [mcp__b]}", "tools.allow and tools.block exclude each other."),
        ("tools: {pin: maybe}", 'tools.pin must be off, warn or hold, not "maybe".'),
        ("tools: {pin: false}", "tools.pin must be off, warn or hold, not false."),
        ("store: {path: x, url: 'postgresql://h/d'}", "store.path and store.url exclude each other."),
        ("store: {url: 'sqlite:///x'}", "store.url must be the URL of a PostgreSQL database."),
        ("store: {path: '${UNSET}'}", "store.path: the environment variable `UNSET` is not set."),
        ("roots: ['https://x']", "roots[0] must be a path or start with file:///."),
        ("roots: x", 'roots must be a list of paths or file:// URIs, not "x".'),
        ("upstream: {call_timeout_seconds: 700}", "is greater than upstream.max_call_timeout_seconds."),
        ("mcpServers: []", "mcpServers must be a mapping, not a list."),
        ("servers: x", "servers must be a mapping of names to servers, not a string."),
        ("<<: {a: 1}", "unknown key `<<`."),
    ],
)
def test_what_is_wrong_is_said_with_what_would_be_right(desk: Desk, text: str, said: str) -> None:
    assert said in str(desk.problem(text))


def test_all_problems_of_a_file_are_said_at_once_in_order(desk: Desk) -> None:
    problems = desk.problems(
        "tool: {}\nexecution:\n  timeout_seconds: x\nservers:\n  a: {}\nexecution: 1\nttl: 1\n"
    )
    assert [problem.line for problem in problems] == [1, 3, 5, 6, 6, 7]


def test_an_empty_section_is_as_good_as_none(desk: Desk) -> None:
    desk.user("tools:\nexecution:\nmcpServers:\nroots:\n")
    assert desk.load() == replace(
        Config(data_dir=desk.home / "data"), sources=(desk.home / "conf" / "config.yaml",)
    )


def test_an_empty_list_allows_no_tool(desk: Desk) -> None:
    desk.user("tools: {allow: []}")
    assert desk.load().tools.allow == ()


@pytest.mark.parametrize("pattern", ["delete_*", "github", "mcp_x", "mcp", "scripts__a"])
def test_a_pattern_that_can_match_no_tool_is_a_warning(pattern: str) -> None:
    (warning,) = Config.from_mapping({"tools": {"block": [pattern]}}).warnings
    assert f"`{pattern}` matches no tool" in warning


@pytest.mark.parametrize(
    "pattern",
    [
        "*",
        "mcp__a__b",
        "mcp*",
        "*delete*",
        "m?p__x",
        "[m]cp__x",
        "mcp__*__drop",
        "script__a",
        "scr*",
        "dspy__a",
    ],
)
def test_a_pattern_that_can_match_a_tool_is_no_warning(pattern: str) -> None:
    assert Config.from_mapping({"tools": {"block": [pattern]}}).warnings == ()


def test_the_password_of_the_store_is_not_shown() -> None:
    config = Config.from_mapping(
        {"store": {"url": "postgresql+psycopg://me:${P}@h/d"}}, environ={"P": "hunter2"}
    )
    assert config.store.url == "postgresql+psycopg://me:hunter2@h/d"
    assert "hunter2" not in repr(config)


def test_a_wrong_url_of_the_store_is_not_shown(desk: Desk) -> None:
    assert "hunter2" not in str(desk.problem("store: {url: 'mysql://me:hunter2@h/d'}"))


def test_a_mapping_is_validated_like_a_file_without_positions() -> None:
    with pytest.raises(ConfigError) as caught:
        Config.from_mapping({"tool": {}, "execution": {"timeout_seconds": "fast"}})
    assert [(problem.file, problem.line) for problem in caught.value.problems] == [(None, None), (None, None)]


def test_a_mapping_may_hold_tuples_and_paths(tmp_path: Path) -> None:
    config = Config.from_mapping({"tools": {"block": ("mcp__a",)}, "store": {"path": tmp_path / "x"}})
    assert (config.tools.block, config.store.path) == (("mcp__a",), tmp_path / "x")


def test_a_relative_path_in_a_mapping_starts_at_its_base(tmp_path: Path) -> None:
    assert Config.from_mapping({"store": {"path": "x"}}, tmp_path).store.path == tmp_path / "x"


def test_a_configuration_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Config().servers = ()  # type: ignore[misc]


def test_folders_follow_the_xdg_variables_of_the_given_environment() -> None:
    environ = {"XDG_CONFIG_HOME": "/c", "XDG_DATA_HOME": "/d"}
    assert (user_config_dir(environ), user_data_dir(environ)) == (Path("/c/halflap"), Path("/d/halflap"))


def test_a_relative_xdg_variable_is_ignored() -> None:
    assert user_data_dir({"XDG_DATA_HOME": "d", "HOME": "/h"}) == Path("/h/.local/share/halflap")


def test_the_own_variables_win_over_xdg() -> None:
    environ = {"XDG_CONFIG_HOME": "/c", "HALFLAP_CONFIG_DIR": "/own", "HALFLAP_DATA_DIR": "~/d", "HOME": "/h"}
    assert (user_config_dir(environ), user_data_dir(environ)) == (Path("/own"), Path("/h/d"))


def test_without_an_environment_that_of_the_process_counts() -> None:
    assert user_data_dir() == load_config(project=False, path="/dev/null").data_dir


def test_the_exported_names_are_sorted_and_exist() -> None:
    assert halflap.config.__all__ == sorted(halflap.config.__all__)
    assert all(hasattr(halflap.config, name) for name in halflap.config.__all__)


def test_control_characters_of_a_key_do_not_reach_the_terminal(desk: Desk) -> None:
    assert "\x1b" not in str(desk.problem('"\\e[2Jx": 1'))


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("servers: [{name: a, command: [npx]}]", "what follows a command goes into `args`"),
        ("servers: [{name: a, command: x, args: -y foo}]", "Write them within `[` and `]`"),
        ("servers: [{name: a, command: x, env: [A=1]}]", "Write `key: value` for each."),
        ("tools: {pin: holds}", "Did you mean `hold`?"),
        ('execution: {max_output_bytes: "12"}', "Write it without quotes, as digits."),
        ("servers: [{name: a, command: x, disabled: 'yes'}]", "Write it without quotes."),
    ],
)
def test_a_wrong_type_is_said_with_how_to_write_it(desk: Desk, text: str, advice: str) -> None:
    assert advice in (desk.problem(text).suggestion or "")
