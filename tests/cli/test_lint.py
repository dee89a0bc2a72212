from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from cli.program import configure, definitions, halflap
from halflap.cli.app import app
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


def test_a_server_that_cannot_be_reached_fails_the_lint_of_the_others(tmp_path: Path) -> None:
    shop = definitions(tmp_path, CLEAN, name="shop")
    config = configure(tmp_path, shop, {"name": "gone", "command": "/nowhere/at/all"})
    done = halflap("lint", "--json", "--config", config, home=tmp_path)
    assert (done.code, [one["server"] for one in done.json["servers"]]) == (1, ["shop"])
    assert (list(done.json["unavailable"]), "'gone'" in done.err) == (["gone"], True)
