from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.program import configure, definitions, halflap, in_terminal
from halflap.cli.output import harmless, note, one_line, print_json, visible

if TYPE_CHECKING:
    from pathlib import Path

    from cli.program import Done

pytestmark = pytest.mark.slow
"""What holds in odd circumstances runs with `make test-all`."""

ANYTHING = {"type": "object", "properties": {"\x1b[31mred\x9b": {"type": "string"}}}
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m[red]not red[/red] [/nothing] :smile: \u202etxet\u200b\r\b over"
LONG = "a_name_that_is_rather_longer_than_the_terminal_is_wide"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("terminal")
    tools = (
        {"name": LONG, "description": "What it does, at some length.", "inputSchema": {"type": "object"}},
        {"name": "\x1b[2J" + "hostile", "description": HOSTILE, "inputSchema": ANYTHING},
    )
    configure(home, definitions(home, *tools, name="odd"))
    assert halflap("list", "-c", "halflap-test.json", home=home).code == 0
    return home


@pytest.fixture(scope="module")
def narrow(place: Path) -> Done:
    return in_terminal("list", "-c", "halflap-test.json", home=place, columns=40)


def test_a_narrow_terminal_gets_whole_names_with_descriptions_below(narrow: Done) -> None:
    lines = [line.strip() for line in harmless(narrow.out).splitlines()]
    assert f"mcp__odd__{LONG}" in lines
    assert "What it does, at some length." in lines


def test_colours_are_for_terminals(narrow: Done, place: Path) -> None:
    assert "\x1b[36m" in narrow.out
    assert "\x1b" not in halflap("list", "-c", "halflap-test.json", home=place).out


def test_no_color_is_heeded(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[36m" not in in_terminal("list", "-c", "halflap-test.json", home=place).out


def test_a_hostile_description_is_shown_harmlessly(narrow: Done) -> None:
    assert "[red]not red[/red] [/nothing] :smi" in narrow.out
    assert not any(bad in narrow.out for bad in ("owned", "\x1b[2J", "\x9b", "\u202e", "\b"))


def test_a_hostile_name_and_schema_are_inspected_harmlessly(place: Path) -> None:
    done = in_terminal("inspect", "-c", "halflap-test.json", "mcp__odd____2Jhostile", home=place)
    assert done.code == 0
    assert "mcp__odd____2Jhostile" in done.out
    assert r"there it is '\u001b[2Jhostile'" in done.out
    assert not any(bad in done.out for bad in ("owned", "\x1b[31m", "\x1b[2J", "\x9b", "\u202e"))


def test_a_name_that_looks_like_markup_can_be_asked_for(place: Path) -> None:
    done = in_terminal("call", "-c", "halflap-test.json", "[/red]", home=place)
    assert done.code == 2
    assert "There is no tool named '[/red]'." in done.out


def test_help_says_what_each_command_is_for(place: Path) -> None:
    done = in_terminal("--help", home=place, columns=100)
    assert done.code == 0
    for command in ("call", "demo", "doctor", "inspect", "list", "serve", "trust"):
        assert f"  {command} " in done.out


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_left_in_harmless_text(text: str) -> None:
    assert not [
        letter
        for letter in harmless(text)
        if letter not in "\t\n" and (letter < " " or "\x7f" <= letter <= "\x9f")
    ]


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126)))
def test_plain_text_is_visible_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_what_cannot_be_seen_is_made_visible() -> None:
    assert visible("a\nb\x1b[2J\u202e") == "a\\nb\\u001b[2J\\u202e"


UNSEEN = "\xad\u061c\u180e\ufe0f\u3164\u2800\u200b\u202e\U000e0041"


@pytest.mark.parametrize("letter", UNSEEN)
def test_nothing_that_cannot_be_seen_is_in_one_line_or_left_as_it_is(letter: str) -> None:
    assert one_line(f"a{letter}b") == "ab"
    assert visible(f"a{letter}b") in {f"a\\u{ord(letter):04x}b", f"a\\U{ord(letter):08x}b"}


def test_json_has_what_cannot_be_seen_as_an_escape(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"text": f"ä{UNSEEN}😀"})
    shown = capsys.readouterr().out
    assert not set(UNSEEN) & set(shown)
    assert "ä" in shown
    assert json.loads(shown) == {"text": f"ä{UNSEEN}😀"}


def test_notes_are_cleaned(capsys: pytest.CaptureFixture[str]) -> None:
    note(f"a{UNSEEN}\n\tb")
    assert capsys.readouterr().err == "a\n\tb\n"


def test_an_error_shows_what_cannot_be_seen(place: Path) -> None:
    done = halflap("call", "-c", "halflap-test.json", "mcp__odd__a\u200b\u3164", home=place)
    assert r"a\u200b\u3164" in done.err


@pytest.mark.parametrize(
    "asked", [("explain", "not-reached"), ("call", "nothing", "--config", "no-such-file.yaml")]
)
def test_what_is_told_stays_within_the_terminal(place: Path, asked: tuple[str, ...]) -> None:
    told = in_terminal(*asked, home=place, columns=40).out.splitlines()
    assert len(told) > 3
    assert all(len(line) <= 40 or " " not in line.strip() for line in told)
