"""Which tools are named where none fits a goal."""

from __future__ import annotations

from graph.made import ports
from halflap.gateway.nearest import nearest

TOOLS = {
    one.tool: one for one in (ports("list_barges"), ports("barge_tonnage", "barge_id"), ports("harbour_news"))
}


def test_what_search_found_comes_first() -> None:
    found = ["mcp__shop__harbour_news", "mcp__shop__gone"]
    assert nearest("barjes", TOOLS, found) == ["mcp__shop__harbour_news"]


def test_else_what_is_spelt_like_a_word_of_the_goal() -> None:
    assert nearest("the barjes", TOOLS, []) == ["mcp__shop__barge_tonnage", "mcp__shop__list_barges"]
    assert nearest("harbor", TOOLS, []) == ["mcp__shop__harbour_news"]


def test_what_is_spelt_like_nothing_has_none() -> None:
    assert nearest("what is the capital of France", TOOLS, []) == []
    assert nearest("", TOOLS, []) == []
