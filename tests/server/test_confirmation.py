"""What the person is shown before they confirm."""

from __future__ import annotations

import asyncio
import re

import pytest

from halflap.core.values import Tool
from halflap.server.confirm import _request
from halflap.server.excerpt import excerpt
from support import little_work, some

DELETE = Tool("mcp__crm__delete", "crm", "delete", "Delete a customer.\n\nFor ever.", {"type": "object"})
PADDING = "# nothing to see here, move along\n" * 400


def shown(code: str) -> str:
    request = asyncio.run(_request([DELETE], code, ""))
    return str(request["params"]["message"])


def parts(code: str) -> list[str]:
    return [line for line in shown(code).splitlines() if re.match(r"\d+[ :]", line)]


def test_a_short_program_is_shown_whole() -> None:
    assert "x = 1\nawait mcp__crm__delete(id=1)" in shown("x = 1\nawait mcp__crm__delete(id=1)")


def test_of_a_long_program_the_lines_are_shown_that_name_the_tools() -> None:
    text = shown(f"{PADDING}await mcp__crm__delete(id=7)\n{PADDING}")
    assert "401: await mcp__crm__delete(id=7)" in text
    assert "only excerpts are shown" in text
    assert len(text) < 5000


def test_a_description_cannot_add_lines_to_the_question() -> None:
    assert "- mcp__crm__delete: Delete a customer. For ever." in shown("pass")


@pytest.mark.parametrize("code", ["pass", PADDING])
def test_the_question_says_what_a_yes_is_a_yes_to_before_the_program_speaks(code: str) -> None:
    before, _, _ = shown(code).partition("Allow this once?")
    assert "any number of times in this run, with any arguments" in before
    assert "through `call_tool` with a computed name" in before


def test_a_comment_that_names_the_tool_does_not_hide_where_it_may_be_called() -> None:
    code = f"# mcp__crm__delete is never called below\n{PADDING}await call_tool('mcp__crm__' + 'del' + 'ete')"
    assert parts(code) == [
        "402: await call_tool('mcp__crm__' + 'del' + 'ete')",
        "1 (in a comment): # mcp__crm__delete is never called below",
    ]


def test_names_in_code_come_first_whatever_stands_before_them() -> None:
    loud = "# mcp__crm__delete\nx = '''mcp__crm__delete\nmcp__crm__delete'''\n" * 30
    seen = parts(f"{loud}{PADDING}y = 'it''s' + '\\'' ; await mcp__crm__delete(id=1)")
    assert seen[0] == "491: y = 'it''s' + '\\'' ; await mcp__crm__delete(id=1)"
    assert len(seen) == 20
    assert "… and 71 more such places" in shown(f"{loud}{PADDING}mcp__crm__delete")


def test_a_long_line_is_shown_around_the_name() -> None:
    code = f"{PADDING}x = '{'a' * 500}'; await mcp__crm__delete(id=7); y = '{'b' * 500}'"
    (part,) = parts(code)
    assert "'; await mcp__crm__delete(id=7); y = '" in part
    assert part.startswith("401: …aaa")
    assert part.endswith("bbb…")
    assert len(part) < 300


def test_each_place_of_one_long_line_is_shown() -> None:
    apart = f"; x = '{'a' * 300}'; "
    assert len(parts(apart.join(f"await mcp__crm__delete(id={number})" for number in range(8)))) == 8


@pytest.mark.parametrize(
    "line",
    [
        "print(f'{await mcp__crm__delete(id=1)}')",
        "print(f'{\"# \"}' + str(await mcp__crm__delete(id=1)))",
        "print(f'{'# '}' + str(await mcp__crm__delete(id=1)))",
        "x = '# '; await mcp__crm__delete(id=1)",
        "# a line that ends\rawait mcp__crm__delete(id=1)",
        "x = rb'\\'; # '; await mcp__crm__delete(id=1)\nawait mcp__crm__delete(id=2)",
    ],
)
def test_what_is_called_is_taken_for_code(line: str) -> None:
    (first, *_) = parts(f"{PADDING}{line}")
    assert "in a" not in first.partition(":")[0]
    assert "await mcp__crm__delete(id=" in first


def test_letters_that_cannot_be_seen_are_written_out() -> None:
    (part,) = parts(f"{PADDING}await mcp__crm__delete(id='\u202eecno')")
    assert "id='\\u202eecno'" in part


def test_a_tool_that_only_a_script_names_is_marked_as_such() -> None:
    assert "(no line of it names them; a script that it calls does)" in shown(PADDING)


@pytest.mark.parametrize(
    "piece",
    some(
        ['\\"""', "'", '"""', "f'{", "mcp__crm__delete ", "# ", "r'\\", "\\", "call_tool;'", "a\n", "('"],
        every=11,
    ),
)
def test_no_program_takes_long_to_show(piece: str) -> None:
    code = (piece * (1_000_000 // len(piece)))[:1_000_000]
    with little_work(20):
        excerpt(code, frozenset({"mcp__crm__delete"}))
