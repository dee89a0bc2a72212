from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from cli.program import configure, definitions, halflap
from halflap.cli.app import app
from halflap.cli.command import Invocation
from halflap.cli.commands.lint import show_drafts
from halflap.lint import Draft
from lint.samples import TEXT, record, tool

if TYPE_CHECKING:
    from pathlib import Path

CLEAN = tool("text_length", record("text", text=TEXT), {"type": "integer"})


def text_of(folder: Path, *tools: Any, options: tuple[str, ...] = ()) -> str:
    (folder / "shop.json").write_text(json.dumps(tools))
    return CliRunner().invoke(app, ["lint", "--file", str(folder / "shop.json"), *options]).stdout


def test_control_characters_are_removed(tmp_path: Path) -> None:
    evil = "\x1b[2Jevil\x07\u202e[bold]x[/bold]\nline"
    fields: dict[str, Any] = {evil: {"type": "number"}, "amount": {"type": "number"}}
    one = {"name": evil, "description": evil, "inputSchema": record(**fields)}
    ignored = {**one, "name": evil + "2", "_meta": {"x-halflap-lint-ignore": {"no-output-schema": evil}}}
    text = text_of(tmp_path, one, ignored, options=("--all",))
    assert not set(text) & set("\x1b\x07\u202e")
    assert "[bold]" in text


def test_ignored_findings_are_shown_on_request(tmp_path: Path) -> None:
    one = {**tool("get_it"), "_meta": {"x-halflap-lint-ignore": {"no-output-schema": "It returns prose."}}}
    assert "It returns prose." not in text_of(tmp_path, one)
    assert "ignored by the author: no-output-schema" in text_of(tmp_path, one, options=("--all",))


@pytest.mark.parametrize(
    ("tools", "asked", "code"),
    [
        ([tool("get_it")], "", 0),
        ([tool("get it")], "--fail-on never", 0),
        ([tool("get it")], "--config strict.yaml", 1),
        ([CLEAN], "--config bad.json", 2),
        ([CLEAN], "--suggest", 2),
        ([], "", 2),
    ],
)
def test_exit_codes(tmp_path: Path, tools: list[Any], asked: str, code: int) -> None:
    (tmp_path / "tools.json").write_text(json.dumps(tools))
    lint = {"fail_on": "warning", "off": ["name-characters"]}
    (tmp_path / "strict.yaml").write_text(json.dumps({"lint": lint}))
    (tmp_path / "bad.json").write_text(json.dumps({"lint": {"off": ["nope"]}}))
    done = halflap("lint", "--file", "tools.json", *asked.split(), home=tmp_path)
    assert done.code == code, done.err


def test_definitions_come_from_stdin(tmp_path: Path) -> None:
    done = halflap("lint", "--file", "-", "--json", home=tmp_path, stdin=json.dumps([CLEAN]).encode())
    assert [(one["server"], one["score"]) for one in done.json["servers"]] == [("tools", 100.0)]


def test_a_server_that_cannot_be_reached_fails_the_lint_of_the_others(tmp_path: Path) -> None:
    shop = definitions(tmp_path, CLEAN, name="shop")
    config = configure(tmp_path, shop, {"name": "gone", "command": "/nowhere/at/all"})
    done = halflap("lint", "--json", "--config", config, home=tmp_path)
    assert (done.code, [one["server"] for one in done.json["servers"]]) == (1, ["shop"])
    assert (list(done.json["unavailable"]), "'gone'" in done.err) == (["gone"], True)


def test_drafts_go_to_stdout_and_reasons_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    good = Draft("shop", "mcp__shop__a", "a", 4, 0.5, schema, "class A(TypedDict):\n    name: str")
    show_drafts(
        Invocation(), [good, Draft("shop", "mcp__shop__b", "b", 0, 0.0, reason="Nothing was learned.")]
    )
    shown = capsys.readouterr()
    assert json.loads(shown.out.partition("\n{")[2].join(["{", ""])) == {"outputSchema": schema}
    assert "mcp__shop__b" in shown.err
