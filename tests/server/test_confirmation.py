"""What the person is shown before they confirm."""

from __future__ import annotations

from halflap.server.confirmation import _request
from halflap.values import Tool

DELETE = Tool("mcp__crm__delete", "crm", "delete", "Delete a customer.\n\nFor ever.", {"type": "object"})


def shown(code: str) -> str:
    return str(_request([DELETE], code).params.message)


def test_a_short_program_is_shown_whole() -> None:
    assert "x = 1\nawait mcp__crm__delete(id=1)" in shown("x = 1\nawait mcp__crm__delete(id=1)")


def test_of_a_long_program_the_lines_are_shown_that_name_the_tools() -> None:
    padding = "# nothing to see here, move along\n" * 400
    text = shown(f"{padding}await mcp__crm__delete(id=7)\n{padding}")
    assert "401: await mcp__crm__delete(id=7)" in text
    assert len(text) < 5000


def test_a_description_cannot_add_lines_to_the_question() -> None:
    assert "- mcp__crm__delete: Delete a customer. For ever." in shown("pass")
