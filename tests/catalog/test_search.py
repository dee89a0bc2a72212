from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.tools import CATALOGUES, OFFICE, PHRASES, document, names
from halflap.catalog.search.index import MAX_FOUND, Index
from halflap.catalog.search.terms import Document, document_of
from halflap.core.values import Tool
from support import little_work

TEXTS = st.text(st.characters(codec=None), max_size=30)


@given(CATALOGUES, PHRASES, st.randoms())
def test_the_order_of_documents_does_not_matter(documents: list[Document], query: str, chance: Any) -> None:
    mixed = documents[:]
    chance.shuffle(mixed)
    assert Index(documents).search(query) == Index(mixed).search(query)


@given(CATALOGUES, PHRASES)
def test_results_are_unique_and_sorted_by_score_and_then_by_name(
    documents: list[Document], query: str
) -> None:
    found = Index(documents).search(query)
    assert found == sorted(found, key=lambda one: (-one.score, one.name))
    assert len({one.name for one in found}) == len(found)
    assert all(0 <= one.score <= 1 for one in found)


@given(CATALOGUES, PHRASES, st.integers(1, 20))
def test_a_smaller_limit_gives_the_beginning_of_the_answer(
    documents: list[Document], query: str, limit: int
) -> None:
    index = Index(documents)
    assert names(index.search(query, limit)) == names(index.search(query, MAX_FOUND))[:limit]


@given(st.lists(st.builds(Document, *[TEXTS] * 8)), TEXTS)
def test_search_never_raises(documents: list[Document], query: str) -> None:
    Index(documents).search(query)


@pytest.mark.parametrize("typed", ["is", "iss", "Open a new is", "createI"])
def test_an_unfinished_word_finds_what_it_may_become(typed: str) -> None:
    assert "mcp__tracker__createIssue" in names(Index(OFFICE).search(typed))


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("what is in the folders", "list_directory"),
        ("city", "forecast"),
        ("a bug", "createIssue"),
        ("wether", "forecast"),
        ("How can I do it?", None),
    ],
)
def test_a_tool_is_found_by_the_words_of_any_field(query: str, tool: str | None) -> None:
    found = names(Index(OFFICE).search(query))
    assert found[0].endswith(f"__{tool}") if tool else found == []


def test_neighbours_of_a_good_tool_come_before_strangers() -> None:
    documents = [
        document("maps", "route", "Find the way between two places by bicycle."),
        document("maps", "geocode", "Find where places are."),
        document("aaa", "other", "Find what places are."),
    ]
    found = names(Index(documents).search("a bicycle way between places"))
    assert found == ["mcp__maps__route", "mcp__maps__geocode", "mcp__aaa__other"]


@pytest.mark.parametrize("text", ["word " * 200_000, "\ufdfa" * 1_000_000])
def test_hostile_texts_cost_little(text: str) -> None:
    schema = {"properties": {text: {"description": text}}}
    hostile = document_of(Tool(text, text, text, text, schema, title=text), text)
    with little_work(5):
        index = Index([*OFFICE, hostile])
        for query in ("read a file", "猫犬" * 200_000, "mcp__" * 100_000):
            index.search(query)
