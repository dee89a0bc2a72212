"""`halflap list`, `inspect`, `call` and `explain`, and how mistakes are reported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from cli.program import PLAIN, Done, configure, halflap
from halflap.cli.app import app
from halflap.gateway.findings import rules
from support import CODES

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = ("-c", "halflap-test.json")
ADD = "mcp__plain__add"
ECHO = "mcp__plain__echo"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("commands")
    configure(home, PLAIN, tools={"block": ["mcp__plain__env"]}, ttl={"list_seconds": 100_000})
    return home


def test_an_error_goes_to_stderr_with_its_code(place: Path) -> None:
    unknown = halflap("call", *CONFIG, "mcp__plain__ecko", home=place)
    assert (unknown.code, unknown.out) == (2, "")
    assert "Error [tool-not-found]" in unknown.err
    assert ECHO in unknown.err
    deep = halflap("call", *CONFIG, ECHO, "--json-args", "[" * 100_000, home=place)
    assert (deep.code, "Error [usage]" in deep.err) == (2, True)


def test_a_mistake_in_a_command_line_suggests_the_right_one_and_comes_as_json(place: Path) -> None:
    wrong = halflap("lsit", home=place)
    assert (wrong.code, "Error [usage]" in wrong.err, "list" in wrong.err) == (2, True, True)
    asked = halflap("call", "--json", home=place)
    assert (asked.code, asked.json["error"], asked.json["code"], asked.err) == (2, True, "usage", "")


def test_a_list_in_a_pipe_is_a_line_for_each_callable_tool(place: Path) -> None:
    lines = halflap("list", *CONFIG, home=place).out.splitlines()
    assert len(lines) == 13
    assert lines == sorted(lines)
    assert lines[0] == f"{ADD}\tAdd two numbers."


def test_call_prints_the_result(place: Path) -> None:
    def call(*words: str, stdin: bytes = b"") -> Done:
        return halflap("call", *CONFIG, *words, home=place, stdin=stdin)

    assert call(ADD, "--arg", "a=1", "--arg", "b=2").out == '{"result": 3}\n'
    assert call(ECHO, "-a", 'text={"a": 1} = [x]').out == '{"a": 1} = [x]\n'
    assert call(ECHO, "--json-args", "-", stdin=b'{"text": "from stdin"}').out == "from stdin\n"
    assert call(ECHO, "--json-args", "-", stdin=b"\xff\xfe\x80").code == 2
    assert "[image image/png" in call("mcp__plain__image").out


def test_without_any_server_init_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print(1)")
    for words in (("list",), ("run", "a.py", "--check-only")):
        assert "halflap init" in halflap(*words, home=tmp_path).err


@pytest.mark.parametrize("asked", [(), ("schema",), ("scripts",)])
def test_help_lists_the_commands_within_80_columns(asked: tuple[str, ...]) -> None:
    done = CliRunner().invoke(app, [*asked, "--help"])
    commands = done.output.partition("\nCommands:\n")[2]
    assert done.exit_code == 0
    assert commands.count("\n") >= 2
    assert "..." not in commands
    assert max(map(len, commands.splitlines())) <= 80


def test_every_code_and_page_is_shown_as_plain_text() -> None:
    listed = json.loads(CliRunner().invoke(app, ["explain", "--json"]).stdout)
    assert sorted(one["code"] for one in listed) == sorted({*CODES, *rules()})
    out = CliRunner().invoke(app, ["explain", "[Usage]"]).stdout
    assert out.startswith("usage\n")
    assert "](" not in out
    page = CliRunner().invoke(app, ["explain", "nets"]).stdout
    assert page == CliRunner().invoke(app, ["explain", "nets.md"]).stdout
    assert page.startswith("# ")
