from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from cli.program import PLAIN, at_once, configure, halflap
from halflap.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

    from cli.program import Done


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose catalogue knows the servers already."""
    home = tmp_path_factory.mktemp("commands")
    configure(home, PLAIN, tools={"block": ["mcp__plain__secret"]}, ttl={"list_seconds": 100000})
    assert halflap("list", "-c", "halflap-test.json", home=home).code == 0
    return home


CALL = ("call", "-c", "halflap-test.json")
RUNS: dict[str, tuple[str, ...]] = {
    "list": ("list", "-c", "halflap-test.json"),
    "list --json --all": ("list", "-c", "halflap-test.json", "--json", "--all"),
    "list of one server": ("list", "-c", "halflap-test.json", "--server", "plane"),
    "inspect": ("inspect", "-c", "halflap-test.json", "mcp__plain__add"),
    "inspect --compact": ("inspect", "-c", "halflap-test.json", "mcp__plain__add", "--compact"),
    "inspect --json": ("inspect", "-c", "halflap-test.json", "mcp__plain__add", "--json"),
    "inspect what is not there": ("inspect", "-c", "halflap-test.json", "mcp__plain__ad", "--json"),
    "call": (*CALL, "mcp__plain__add", "--arg", "a=1", "--arg", "b=2"),
    "call --json": (*CALL, "mcp__plain__add", "--json-args", '{"a": 1, "b": 2}', "--json"),
    "call with text": (*CALL, "mcp__plain__echo", "-a", 'text={"a": 1} = [x]'),
    "call that fails": (*CALL, "mcp__plain__fail"),
    "call that fails --json": (*CALL, "mcp__plain__fail", "--json"),
    "call with an image": (*CALL, "mcp__plain__image"),
    "call without an argument": (*CALL, "mcp__plain__add", "-a", "a=1"),
    "call of nothing": (*CALL, "mcp__plain__ecko"),
    "call of what is blocked": (*CALL, "mcp__plain__secret"),
    "no equals sign": (*CALL, "mcp__plain__echo", "-a", "text"),
    "twice": (*CALL, "mcp__plain__echo", "-a", "text=1", "-a", "text=2"),
    "both": (*CALL, "mcp__plain__echo", "-a", "text=1", "--json-args", "{}"),
    "half JSON": (*CALL, "mcp__plain__echo", "--json-args", '{"text": '),
    "no object": (*CALL, "mcp__plain__echo", "--json-args", "[1]"),
    "too deep": (*CALL, "mcp__plain__echo", "--json-args", "[" * 100_000),
    "no name --json": ("call", "--json"),
    "no name": ("call",),
    "no command": (),
    "wrong command": ("lsit",),
    "wrong option": ("list", "--jsno"),
    "no such file": ("list", "-c", "nowhere.yaml"),
    "no such file --json": ("list", "-c", "nowhere.yaml", "--json"),
    "a folder": ("list", "-c", "."),
    "nothing configured": ("list",),
    "version": ("--version",),
}


@pytest.fixture(scope="module")
def done(place: Path) -> dict[str, Done]:
    return at_once(RUNS, place)


@pytest.mark.parametrize("name", RUNS)
def test_no_run_shows_a_traceback(done: dict[str, Done], name: str) -> None:
    assert "Traceback" not in done[name].err


@pytest.mark.parametrize(
    "name",
    [
        "list",
        "list --json --all",
        "inspect",
        "inspect --json",
        "call",
        "call --json",
        "call with text",
        "call with an image",
        "version",
        "nothing configured",
    ],
)
def test_what_was_done_exits_with_0(done: dict[str, Done], name: str) -> None:
    assert done[name].code == 0


@pytest.mark.parametrize("name", ["call that fails", "call that fails --json", "call of what is blocked"])
def test_what_failed_exits_with_1(done: dict[str, Done], name: str) -> None:
    assert done[name].code == 1


MISTAKES = {
    "list of one server": "There is no server named 'plane'. There are: plain.",
    "call without an argument": "b: missing; expected integer",
    "call of nothing": "Did you mean 'mcp__plain__echo'?",
    "no equals sign": "--arg 'text' is not of the form KEY=VALUE.",
    "twice": "--arg 'text' is given twice.",
    "both": "--arg or with --json-args, not both.",
    "half JSON": "--json-args is not JSON: Expecting value: line 1 column 10",
    "no object": "--json-args must be a JSON object, like",
    "too deep": "--json-args is nested too deeply to be read.",
    "no name": "Missing argument 'name'.",
    "no command": "Usage: halflap",
    "wrong command": "No such command 'lsit'. Did you mean 'list', 'lint'?",
    "wrong option": "No such option: --jsno",
    "no such file": "nowhere.yaml: there is no such file. Check its path.",
    "a folder": "Is a directory",
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_exits_with_2_and_says_on_stderr_what_was_wrong(done: dict[str, Done], name: str) -> None:
    assert done[name].code == 2
    assert MISTAKES[name] in done[name].err
    assert not done[name].out


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("inspect what is not there", "tool-not-found"),
        ("no such file --json", "config"),
        ("no name --json", "usage"),
    ],
)
def test_with_json_a_mistake_is_an_object_on_stdout(done: dict[str, Done], name: str, code: str) -> None:
    error = done[name].json
    assert error.keys() - {"problems"} == {"error", "code", "message"}
    assert [one["code"] for one in error.get("problems", [])] == ["config-not-found"] * (code == "config")
    assert (error["error"], error["code"], done[name].code, done[name].err) == (True, code, 2, "")


def test_a_list_away_from_a_terminal_is_a_line_for_each_callable_tool(done: dict[str, Done]) -> None:
    lines = done["list"].out.splitlines()
    assert len(lines) == 4
    assert lines == sorted(lines)
    assert lines[0] == "mcp__plain__add\tAdd two numbers."


def test_a_healthy_list_says_nothing_on_stderr(done: dict[str, Done]) -> None:
    assert not done["list"].err


def test_a_list_as_json_has_the_blocked_tools_too_when_asked(done: dict[str, Done]) -> None:
    rows = {row["name"]: row for row in done["list --json --all"].json}
    assert len(rows) == 5
    assert "tools.block" in rows["mcp__plain__secret"]["blocked"]
    assert rows["mcp__plain__add"] == {
        "name": "mcp__plain__add",
        "description": "Add two numbers.",
        "server": "plain",
        "originalName": "add",
        "available": True,
    }


def test_inspect_shows_what_a_tool_takes_and_returns(done: dict[str, Done]) -> None:
    out = done["inspect"].out
    assert out.startswith("mcp__plain__add\n  Add two numbers.\n")
    assert "Takes:\n  - a (integer, required)\n  - b (integer, required)\n" in out
    assert "Returns:\n  integer\n" in out


def test_inspect_in_one_line(done: dict[str, Done]) -> None:
    assert done["inspect --compact"].out == "mcp__plain__add(a: integer, b: integer) -> integer\n"


def test_inspect_as_json_has_both_schemas(done: dict[str, Done]) -> None:
    described = done["inspect --json"].json
    assert described["inputSchema"]["required"] == ["a", "b"]
    assert described["outputSchema"]["required"] == ["result"]


def test_call_prints_what_the_tool_said(done: dict[str, Done]) -> None:
    assert (done["call"].out, done["call"].err) == ('{"result": 3}\n', "")


def test_call_as_json_prints_the_whole_result(done: dict[str, Done]) -> None:
    result = done["call --json"].json
    assert result["structuredContent"] == {"result": 3}
    assert result["isError"] is False
    assert result["content"][0]["type"] == "text"


def test_text_that_looks_like_json_stays_text_where_text_is_wanted(done: dict[str, Done]) -> None:
    assert done["call with text"].out == '{"a": 1} = [x]\n'


def test_an_image_is_told_of_with_its_size(done: dict[str, Done]) -> None:
    assert done["call with an image"].out == "[image image/png, 1 bytes]\none pixel\n"


def test_what_a_failed_tool_said_is_not_data(done: dict[str, Done]) -> None:
    assert not done["call that fails"].out
    assert (
        done["call that fails"].err
        == "Error [tool-error]: The tool says that it failed:\nthis tool always fails\n"
    )


def test_a_failed_tools_result_is_data_as_json(done: dict[str, Done]) -> None:
    assert done["call that fails --json"].json["isError"] is True


def test_a_blocked_tool_is_said_to_be_with_the_rule(done: dict[str, Done]) -> None:
    assert "`tools.block: mcp__plain__secret`" in done["call of what is blocked"].err


def test_without_any_server_it_says_what_to_do(done: dict[str, Done]) -> None:
    assert "No server is configured yet. `halflap init` takes in" in done["nothing configured"].err


@pytest.mark.parametrize("asked", [("search", "mail"), ("call", "x"), ("inspect", "x"), ("lint",)])
def test_every_command_that_finds_no_server_names_the_one_that_helps(asked: tuple[str, ...]) -> None:
    assert "`halflap init` takes in" in CliRunner().invoke(app, asked).output


@pytest.mark.parametrize("asked", [(), ("schema",), ("scripts",), ("graph",)])
def test_help_says_what_each_command_does_and_cuts_nothing(asked: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*asked, "--help"])
    commands = done.output.partition("\nCommands:\n")[2]
    assert done.exit_code == 0
    assert commands.count("\n") >= 2
    assert "..." not in commands
    assert max(map(len, commands.splitlines())) <= 80
