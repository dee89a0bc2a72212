"""`halflap list`, `inspect` and `call`, and how mistakes are reported."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from cli.program import PLAIN, at_once, configure, halflap
from halflap.cli.app import app

if TYPE_CHECKING:
    from cli.program import Done

CONFIG = ("-c", "halflap-test.json")
ADD = "mcp__plain__add"
ECHO = "mcp__plain__echo"
RUNS: dict[str, tuple[str, ...]] = {
    "list": ("list", *CONFIG),
    "list --json --all": ("list", *CONFIG, "--json", "--all"),
    "inspect": ("inspect", *CONFIG, ADD),
    "inspect --compact": ("inspect", *CONFIG, ADD, "--compact"),
    "inspect --json": ("inspect", *CONFIG, ADD, "--json"),
    "call": ("call", *CONFIG, ADD, "--arg", "a=1", "--arg", "b=2"),
    "call --json": ("call", *CONFIG, ADD, "--json-args", '{"a": 1, "b": 2}', "--json"),
    "call with text": ("call", *CONFIG, ECHO, "-a", 'text={"a": 1} = [x]'),
    "call with an image": ("call", *CONFIG, "mcp__plain__image"),
    "nothing configured": ("list",),
    "version": ("--version",),
}
FAILURES: dict[str, tuple[tuple[str, ...], str]] = {
    "failing tool": (("call", *CONFIG, "mcp__plain__fail"), "tool-error"),
    "blocked tool": (("call", *CONFIG, "mcp__plain__secret"), "tool-blocked"),
}
MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "unknown server": (("list", *CONFIG, "--server", "plane"), "server-not-found"),
    "unknown tool": (("call", *CONFIG, "mcp__plain__ecko"), "tool-not-found"),
    "missing argument": (("call", *CONFIG, ADD, "-a", "a=1"), "invalid-arguments"),
    "no equals sign": (("call", *CONFIG, ECHO, "-a", "text"), "usage"),
    "half of JSON": (("call", *CONFIG, ECHO, "--json-args", '{"text": '), "usage"),
    "deeply nested JSON": (("call", *CONFIG, ECHO, "--json-args", "[" * 100_000), "usage"),
    "no tool": (("call",), "usage"),
    "unknown command": (("lsit",), "usage"),
    "no such file": (("list", "-c", "nowhere.yaml"), "config"),
}
WITH_JSON: dict[str, tuple[tuple[str, ...], str]] = {
    "unknown tool --json": (("inspect", *CONFIG, "mcp__plain__ad", "--json"), "tool-not-found"),
    "no such file --json": (("list", "-c", "nowhere.yaml", "--json"), "config"),
    "no tool --json": (("call", "--json"), "usage"),
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Done]:
    home = tmp_path_factory.mktemp("commands")
    configure(home, PLAIN, tools={"block": ["mcp__plain__secret"]}, ttl={"list_seconds": 100_000})
    assert halflap("list", *CONFIG, home=home).code == 0
    wrong = {**FAILURES, **MISTAKES, **WITH_JSON}
    return at_once({**RUNS, **{name: words for name, (words, _) in wrong.items()}}, home)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_success_exits_with_0(done: dict[str, Done], name: str) -> None:
    assert done[name].code == 0
    assert bool(done[name].err) == (name == "nothing configured")


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_exits_with_1_and_leaves_stdout_empty(done: dict[str, Done], name: str) -> None:
    assert (done[name].code, done[name].out) == (1, "")
    assert f"Error [{FAILURES[name][1]}]" in done[name].err


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_exits_with_2_and_leaves_stdout_empty(done: dict[str, Done], name: str) -> None:
    assert (done[name].code, done[name].out) == (2, "")
    assert f"Error [{MISTAKES[name][1]}]" in done[name].err
    assert "Traceback" not in done[name].err


@pytest.mark.parametrize("name", WITH_JSON)
def test_with_json_a_mistake_is_an_object_on_stdout(done: dict[str, Done], name: str) -> None:
    error = done[name].json
    assert error.keys() - {"problems"} == {"error", "code", "message"}
    assert (error["error"], error["code"], done[name].code, done[name].err) == (
        True,
        WITH_JSON[name][1],
        2,
        "",
    )


def test_a_similar_name_is_suggested(done: dict[str, Done]) -> None:
    assert ECHO in done["unknown tool"].err
    assert re.search(r"\blist\b", done["unknown command"].err)


def test_a_list_in_a_pipe_is_a_line_for_each_callable_tool(done: dict[str, Done]) -> None:
    lines = done["list"].out.splitlines()
    assert len(lines) == 4
    assert lines == sorted(lines)
    assert lines[0] == f"{ADD}\tAdd two numbers."


def test_a_list_as_json_can_include_blocked_tools(done: dict[str, Done]) -> None:
    rows = {row["name"]: row for row in done["list --json --all"].json}
    assert len(rows) == 5
    assert "tools.block" in rows["mcp__plain__secret"]["blocked"]
    assert rows[ADD] == {
        "name": ADD,
        "description": "Add two numbers.",
        "server": "plain",
        "originalName": "add",
        "available": True,
    }


def test_inspect_shows_both_schemas(done: dict[str, Done]) -> None:
    assert "- a (integer, required)" in done["inspect"].out
    assert done["inspect --compact"].out == f"{ADD}(a: integer, b: integer) -> integer\n"
    described = done["inspect --json"].json
    assert described["inputSchema"]["required"] == ["a", "b"]
    assert described["outputSchema"]["required"] == ["result"]


def test_call_prints_the_result(done: dict[str, Done]) -> None:
    assert done["call"].out == '{"result": 3}\n'
    result = done["call --json"].json
    assert (result["structuredContent"], result["isError"]) == ({"result": 3}, False)
    assert done["call with text"].out == '{"a": 1} = [x]\n'
    assert "[image image/png" in done["call with an image"].out


def test_without_any_server_init_is_named(done: dict[str, Done]) -> None:
    assert "halflap init" in done["nothing configured"].err


@pytest.mark.parametrize("asked", [(), ("schema",), ("scripts",)])
def test_help_lists_the_commands_within_80_columns(asked: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*asked, "--help"])
    commands = done.output.partition("\nCommands:\n")[2]
    assert done.exit_code == 0
    assert commands.count("\n") >= 2
    assert "..." not in commands
    assert max(map(len, commands.splitlines())) <= 80
