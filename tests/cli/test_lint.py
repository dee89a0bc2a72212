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
TOOLS: dict[str, Any] = {"clean": [CLEAN], "warned": [tool("get_it")], "wrong": [tool("get it")]}


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


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files of every kind, to work in."""
    for name, tools in TOOLS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(tools))
    (tmp_path / "several.json").write_text(
        json.dumps({name: {"tools": tools} for name, tools in TOOLS.items()})
    )
    (tmp_path / "empty.json").write_text("[]")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe")
    (tmp_path / "strict.yaml").write_text(
        json.dumps({"lint": {"fail_on": "warning", "off": ["name-characters"]}})
    )
    (tmp_path / "bad.json").write_text(json.dumps({"lint": {"off": ["nope"]}}))
    monkeypatch.chdir(tmp_path)
    # Otherwise the logs of later tests would go to this one's output.
    monkeypatch.setattr("halflap.cli.command.set_up_logging", lambda **_: None)
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ("--file warned.json", 0),
        ("--file wrong.json --json", 1),
        ("--file wrong.json --fail-on never", 0),
        ("--file several.json clean", 2),
        ("--file wrong.json --config strict.yaml", 1),
        ("--file clean.json --config bad.json", 2),
        ("--file binary.json --json", 2),
        ("--file empty.json", 2),
        ("--file clean.json --suggest", 2),
        ("", 2),
    ],
)
@pytest.mark.usefixtures("place")
def test_exit_codes(asked: str, code: int) -> None:
    done = CliRunner().invoke(app, ["lint", *asked.split()])
    assert done.exit_code == code, done.output


def test_definitions_come_from_stdin_or_from_live_servers(tmp_path: Path) -> None:
    shop = definitions(tmp_path, tool("get_it"), tool("get_it"), name="shop")
    config = configure(tmp_path, shop, {"name": "gone", "command": "/nowhere/at/all"})
    tools = json.dumps(TOOLS["clean"]).encode()
    done = {
        "stdin": halflap("lint", "--file", "-", "--json", home=tmp_path, stdin=tools),
        "live": halflap("lint", "--json", "--config", config, home=tmp_path),
    }
    assert done["stdin"].code == 0
    assert [(one["server"], one["score"]) for one in done["stdin"].json["servers"]] == [("tools", 100.0)]
    live = done["live"]
    assert live.code == 1
    assert [one["server"] for one in live.json["servers"]] == ["shop"]
    assert list(live.json["unavailable"]) == ["gone"]
    assert any(one["rule"] == "duplicate-name" for one in live.json["servers"][0]["findings"])
    assert live.json["servers"][0]["fixes"]
    assert "'gone'" in live.err


def test_drafts_go_to_stdout_and_reasons_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    good = Draft("shop", "mcp__shop__a", "a", 4, 0.5, schema, "class A(TypedDict):\n    name: str")
    show_drafts(
        Invocation(), [good, Draft("shop", "mcp__shop__b", "b", 0, 0.0, reason="Nothing was learned.")]
    )
    shown = capsys.readouterr()
    assert json.loads(shown.out.partition("\n{")[2].join(["{", ""])) == {"outputSchema": schema}
    assert "mcp__shop__b" in shown.err
