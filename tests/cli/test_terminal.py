"""What reaches a terminal: no control characters, no invisible text, no line wider than it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.program import configure, definitions, halflap
from halflap.cli.output import one_line, print_json, safe

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m[red]not red[/red] [/nothing] :smile: \u202etxet\u200b\r\b over"
LONG = "a_name_that_is_rather_longer_than_the_terminal_is_wide"
UNSEEN = "\xad\u061c\u180e\ufe0f\u3164\u2800\u200b\u202e\U000e0041"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("terminal")
    hostile = {"type": "object", "properties": {"\x1b[31mred\x9b": {"type": "string"}}}
    tools = (
        {"name": LONG, "description": "What it does, at some length.", "inputSchema": {"type": "object"}},
        {"name": "\x1b[2J" + "hostile", "description": HOSTILE, "inputSchema": hostile},
    )
    configure(home, definitions(home, *tools, name="odd"))
    return home


def test_a_narrow_terminal_gets_whole_names_and_nothing_hostile(place: Path) -> None:
    shown = halflap("list", "-c", "halflap-test.json", home=place, columns=40).out
    assert f"mcp__odd__{LONG}" in shown
    assert "[red]not red" in shown
    assert not any(bad in shown for bad in ("owned", "\x1b[2J", "\x9b", "\u202e", "\b"))
    assert "\x1b[36m" in shown
    assert "\x1b" not in halflap("list", "-c", "halflap-test.json", home=place).out


def test_a_hostile_name_and_schema_are_inspected_safely(place: Path) -> None:
    done = halflap("inspect", "-c", "halflap-test.json", "mcp__odd____2Jhostile", home=place, columns=80)
    assert done.code == 0
    assert not any(bad in done.out for bad in ("owned", "\x1b[31m", "\x1b[2J", "\x9b", "\u202e"))


@given(st.text())
def test_safe_text_has_no_control_characters_and_one_line_is_one_line(text: str) -> None:
    odd = [letter for letter in safe(text) if letter < " " or "\x7f" <= letter <= "\x9f"]
    assert {*odd} <= {"\t", "\n"}
    assert len(one_line(text).splitlines()) <= 1


def test_json_escapes_invisible_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"text": f"ä{UNSEEN}😀"})
    shown = capsys.readouterr().out
    assert not set(UNSEEN) & set(shown)
    assert "ä" in shown
    assert json.loads(shown) == {"text": f"ä{UNSEEN}😀"}
