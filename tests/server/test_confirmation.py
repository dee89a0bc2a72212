"""What the person is shown before they confirm."""

from __future__ import annotations

import re

import pytest

from halflap.core.values import Tool
from halflap.server.confirm import question
from support import little_work

DELETE = Tool("mcp__crm__delete", "crm", "delete", "Delete a customer.\n\nFor ever.", {"type": "object"})
PADDING = "# nothing to see here, move along\n" * 400


def shown(code: str) -> str:
    return question([DELETE], code, "")


def places(code: str) -> list[str]:
    return [line for line in shown(code).splitlines() if re.match(r"\d+:", line)]


def test_a_short_program_is_shown_whole() -> None:
    assert "x = 1\nawait mcp__crm__delete(id=1)" in shown("x = 1\nawait mcp__crm__delete(id=1)")


def test_of_a_long_program_the_lines_are_shown_that_name_the_tools() -> None:
    text = shown(f"{PADDING}await mcp__crm__delete(id=7)\n{PADDING}")
    assert "401: await mcp__crm__delete(id=7)" in text
    assert len(text) < 5000


def test_a_description_cannot_add_lines_to_the_question() -> None:
    assert "- mcp__crm__delete: Delete a customer. For ever." in shown("pass")


def test_comments_that_name_the_tool_do_not_hide_where_it_may_be_called() -> None:
    decoys = "# mcp__crm__delete is never called below\n" * 30
    seen = places(f"{decoys}{PADDING}await call_tool('mcp__crm__' + 'del' + 'ete')")
    assert seen[0] == "431: await call_tool('mcp__crm__' + 'del' + 'ete')"
    assert len(seen) == 20
    assert "… and 11 more" in shown(f"{decoys}{PADDING}mcp__crm__delete")


def test_a_long_line_is_shown_around_each_name() -> None:
    apart = f"; x = '{'a' * 300}'; "
    seen = places(PADDING + apart.join(f"await mcp__crm__delete(id={number})" for number in range(8)))
    assert ["await mcp__crm__delete(id=3)" in place for place in seen].count(True) == 1
    assert all(len(place) < 300 for place in seen)


def test_letters_that_cannot_be_seen_are_written_out() -> None:
    (place,) = places(f"{PADDING}await mcp__crm__delete(id='\u202eecno')")
    assert "id='\\u202eecno'" in place


def test_a_carriage_return_ends_a_comment() -> None:
    (place,) = places(f"{PADDING}# a line that ends\rawait mcp__crm__delete(id=1)")
    assert place == "402: await mcp__crm__delete(id=1)"


@pytest.mark.parametrize("piece", ["'", "mcp__crm__delete ", "call_tool;\n"])
def test_no_program_takes_long_to_show(piece: str) -> None:
    with little_work(20):
        shown((piece * (1_000_000 // len(piece)))[:1_000_000])
