from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given

from catalog.tools import CATALOGUES, DOCUMENTS, document, first
from halflap.catalog.search.index import Found, Index
from support import little_work

if TYPE_CHECKING:
    from halflap.catalog.search.terms import Document

TREES = [
    document("oak", "oak_branch", "List the branches."),
    document("oak", "oak_leaf_pressed", "Show what is pressed."),
    document("oak", "oak_leaf_unpressed", "Show what is not pressed yet."),
    document("oak", "oak_health", "Show which changes there are, pressed or not, and which to use next."),
    document("web", "fetch", "Get a page from the web."),
    document("web", "echo", "Say it again."),
    document("sums", "add", "Add two numbers. It is a sum."),
    document("papers", "varnish_panel", "Make it shine."),
    document("papers", "unvarnish_panel", "Take the shine away."),
]


@given(CATALOGUES, DOCUMENTS)
def test_an_exact_name_is_first_whatever_else_there_is(others: list[Document], wanted: Document) -> None:
    index = Index([wanted, *(one for one in others if one.name != wanted.name)])
    assert index.search(wanted.name)[0] == Found(wanted.name, 1.0)


@given(CATALOGUES, DOCUMENTS)
def test_a_name_as_its_server_gave_it_is_first(others: list[Document], wanted: Document) -> None:
    index = Index([wanted, *(one for one in others if one.name != wanted.name)])
    original = {one.name: one.original_name for one in (*others, wanted)}
    assert original[index.search(wanted.original_name)[0].name].strip() == wanted.original_name.strip()


@pytest.mark.parametrize(
    "query",
    [
        "mcp__tracker__createIssue",
        "tracker.create_issue",
        "mcp tracker create issue",
        "  createissue  ",
    ],
)
def test_case_separators_and_prefix_of_a_name_do_not_matter(query: str) -> None:
    assert first(query) == "mcp__tracker__createIssue"


def test_a_name_is_looked_for_only_on_the_server_that_is_given() -> None:
    index = Index([*TREES, document("sums", "echo", "Echo a number.")])
    for query in ("echo", "mcp__web__echo", "web echo", "ehco"):
        assert "mcp__web__echo" not in {one.name for one in index.search(query, server="sums")}


@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("etch", "fetch"),
        ("oak_braanch", "oak_branch"),
        ("ehco", "echo"),
        ("ad", "add"),
        ("mcp__wb__echo", "echo"),
    ],
)
def test_a_name_may_be_mistyped(query: str, tool: str) -> None:
    assert first(query, TREES).endswith(f"__{tool}")


@pytest.mark.parametrize(
    "query",
    [
        'oak_leaf_unpressed(tree=".")',
        "The `oak_leaf_unpressed` tool.",
        "the oak_lef_unpressed tool",
        "Show the status, which changes there are, pressed or not: oak_leaf_unpressed.",
        "call oak.oak_leaf_unpressed to see which changes there are",
        "which status? (mcp__oak__oak_leaf_unpressed)",
    ],
)
def test_a_name_within_a_sentence_is_first(query: str) -> None:
    assert first(query, TREES) == "mcp__oak__oak_leaf_unpressed"


@pytest.mark.parametrize("query", ["fetch weather", "a sun in the web", "send an e-mail", "the GitHub page"])
def test_words_close_to_a_name_are_not_matched_as_a_name(query: str) -> None:
    more = [document(server, server) for server in ("sun", "feather", "email", "github")]
    assert all(one.score <= 0.9 for one in Index([*TREES, *more]).search(query))


@pytest.mark.parametrize("query", ["x" * 2_000, "get_" * 150, "(" * 600, "a" + " " * 590])
def test_a_query_that_matches_nothing_costs_little(query: str) -> None:
    index = Index(document(f"server_{number % 50}", f"get_thing_{number}") for number in range(3_000))
    with little_work(2):
        for _ in range(30):
            index.search(query)
