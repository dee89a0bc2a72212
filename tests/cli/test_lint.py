from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from cli.program import configure, halflap, side_by_side
from gateway.test_linting import GONE, SHOP
from halflap.cli.app import app
from halflap.cli.lint_text import show_drafts, show_report
from halflap.lint import Draft, Report
from halflap.lint.sample import TEXT, record, tool
from lint.making import report_of

if TYPE_CHECKING:
    from pathlib import Path

CLEAN = tool("text_length", record("text", text=TEXT), {"type": "integer"})
TOOLS: dict[str, Any] = {"clean": [CLEAN], "warned": [tool("get_it")], "wrong": [tool("get it")]}


def text_of(
    *tools: Any, width: int = 100, everything: bool = False, ignored: bool = False, name: str = "shop"
) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, markup=False, emoji=False)
    show_report(Report((report_of(*tools, name=name),)), console, everything=everything, ignored=ignored)
    return out.getvalue()


def test_of_many_findings_three_are_shown_and_how_to_see_all() -> None:
    tools = [tool(f"get_{number}") for number in range(9)]
    short = text_of(*tools)
    assert short.count("does not declare what it returns") == 3
    assert "and 6 more, in get_3, get_4, get_5 and 3 other tools; --all" in " ".join(short.split())
    assert "and 4 more, in get_3, get_4, get_5 and 1 other tool;" in " ".join(text_of(*tools[:7]).split())
    long = text_of(*tools, everything=True)
    assert long.count("does not declare what it returns") == 9
    assert long.count("Add `outputSchema` to get_") == 9
    assert "--all" not in long


def test_the_score_and_the_best_fixes_are_told() -> None:
    text = text_of(tool("get_it"))
    assert re.search(r"shop  █+░+  [\d.]+ of 100   1 tool; 1 warning, 1 info", text)
    assert re.search(r"rise most by mending: no-output-schema in 1 tool up to \+\d", text)
    assert "No tool could be judged by" in text


@pytest.mark.parametrize("width", [1, 12, 20, 40, 80])
def test_a_narrow_terminal_gets_every_word(width: int) -> None:
    text = text_of(tool("get_it"), width=width)
    assert all(len(line) <= max(width, 8) for line in text.splitlines())
    assert "nooutputschema" in re.sub(r"[^a-z]", "", text)


def test_hostile_names_and_texts_do_nothing_to_a_terminal() -> None:
    evil = "\x1b[2Jevil\x07\u202e[bold]x[/bold]\nline"
    fields: dict[str, Any] = {evil: {"type": "number"}, "amount": {"type": "number"}}
    one = {"name": evil, "description": evil, "inputSchema": record(**fields)}
    ignored = {**one, "name": evil + "2", "_meta": {"x-halflap-lint-ignore": {"no-output-schema": evil}}}
    text = text_of(one, ignored, everything=True, ignored=True, name=evil)
    assert not set(text) & set("\x1b\x07\u202e")
    assert "[bold]" in text


def test_ignored_findings_are_counted_and_shown_when_asked_for() -> None:
    one = {**tool("get_it"), "_meta": {"x-halflap-lint-ignore": {"no-output-schema": "It returns prose."}}}
    assert "1 ignored" in text_of(one)
    assert "It returns prose." not in text_of(one)
    assert "ignored by the author: no-output-schema" in text_of(one, ignored=True)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files of every kind, to work in."""
    for name, tools in TOOLS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(tools))
    (tmp_path / "several.json").write_text(
        json.dumps({name: {"tools": tools} for name, tools in TOOLS.items()})
    )
    (tmp_path / "empty.json").write_text("[]")
    (tmp_path / "none.json").write_text('{"tools": []}')
    (tmp_path / "partly.json").write_text(json.dumps({"none": {"tools": []}, "clean": {"tools": [CLEAN]}}))
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe")
    (tmp_path / "strict.yaml").write_text(
        json.dumps({"lint": {"fail_on": "warning", "off": ["name-characters"]}})
    )
    (tmp_path / "bad.json").write_text(json.dumps({"lint": {"off": ["nope"]}}))
    monkeypatch.chdir(tmp_path)
    # It would have the logs of all tests after this one go to where this one's output went.
    monkeypatch.setattr("halflap.cli.linting.set_up_logging", lambda **_: None)
    return tmp_path


@pytest.mark.parametrize(
    ("asked", "code", "told"),
    [
        ("--file clean.json", 0, "100 of 100"),
        ("--file warned.json", 0, "no-output-schema"),
        ("--file warned.json --fail-on warning", 1, "no-output-schema"),
        ("--file wrong.json --json", 1, '"name-characters"'),
        ("--file wrong.json --fail-on never", 0, "name-characters"),
        ("--file several.json clean", 0, "clean  ████████████████████  100 of 100"),
        (
            "--file several.json cleen",
            2,
            "several.json has no server named 'cleen'. It has: clean, warned, wrong.",
        ),
        ("--file wrong.json --config strict.yaml", 1, "no-output-schema"),
        ("--file clean.json --config bad.json", 2, "there is no lint rule `nope`"),
        ("--file nowhere.json", 2, "nowhere.json cannot be read: No such file or directory."),
        ("--file .", 2, "cannot be read: Is a directory."),
        ("--file binary.json --json", 2, "is not UTF-8: byte 1"),
        ("--file empty.json", 2, "There are no tools in empty, so nothing was looked at."),
        ("--file none.json --json", 2, "There are no tools in none, so nothing was looked at."),
        ("--file partly.json none", 2, "There are no tools in none, so nothing was looked at."),
        ("--file partly.json", 0, "none: it has no tools."),
        ("--file clean.json --suggest", 2, "--suggest and --file exclude each other"),
        ("--file clean.json --fail-on fatal", 2, "fatal"),
        ("", 2, "No server is configured and enabled, so nothing was looked at."),
        ("--json", 2, "`halflap init`"),
        ("nobody", 2, "There is no server named 'nobody'. There are: none."),
    ],
)
@pytest.mark.usefixtures("place")
def test_exit_codes_tell_how_it_went_and_mistakes_are_told(asked: str, code: int, told: str) -> None:
    done = CliRunner().invoke(app, ["lint", *asked.split()])
    assert (done.exit_code, told in done.output) == (code, True), done.output


@pytest.mark.usefixtures("place")
def test_a_rule_that_is_off_and_another_limit_count() -> None:
    done = CliRunner().invoke(app, ["lint", "--file", "wrong.json", "--config", "strict.yaml"])
    assert "name-characters" not in done.output


def test_the_program_reads_a_pipe_and_tells_of_servers_that_cannot_be_asked(tmp_path: Path) -> None:
    config = configure(tmp_path, SHOP, GONE)
    tools = json.dumps(TOOLS["clean"]).encode()
    done = side_by_side(
        {
            "stdin": lambda: halflap("lint", "--file", "-", "--json", home=tmp_path, stdin=tools),
            "live": lambda: halflap("lint", "--json", "--config", config, home=tmp_path),
        }
    )
    assert done["stdin"].code == 0
    assert [(one["server"], one["score"]) for one in done["stdin"].json["servers"]] == [("tools", 100.0)]
    live = done["live"]
    assert live.code == 1
    assert [one["server"] for one in live.json["servers"]] == ["shop"]
    assert list(live.json["unavailable"]) == ["gone"]
    assert any(one["rule"] == "duplicate-name" for one in live.json["servers"][0]["findings"])
    assert set(live.json["servers"][0]["findings"][0]["gain"]) == {"tool", "server"}
    assert "Server 'gone' is not available" in live.err
    assert "is listed twice" in live.err


def test_drafts_are_data_and_why_there_is_none_goes_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    good = Draft("shop", "mcp__shop__a", "a", 4, 0.5, schema, "class A(TypedDict):\n    name: str")
    show_drafts([good, Draft("shop", "mcp__shop__b", "b", 0, 0.0, why="Nothing was learned.")])
    shown = capsys.readouterr()
    assert shown.out.startswith("# mcp__shop__a: from 4 results, confidence 0.50\n\nclass A(TypedDict):")
    assert json.loads(shown.out.partition("\n{")[2].join(["{", ""])) == {"outputSchema": schema}
    assert shown.err == "mcp__shop__b: Nothing was learned.\n"
    show_drafts([replace(good, left_out="1 result", unnamed=("the result → rows",))])
    shown = capsys.readouterr()
    assert "\n# Left out: 1 result\n# Add the names of further keys" in shown.out
    assert "in the result → rows." in shown.out
    show_drafts([])
    assert capsys.readouterr().err == "Every tool declares what it returns.\n"
