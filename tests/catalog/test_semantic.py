from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.catalog.search.document import Document
from halflap.catalog.search.index import Index
from halflap.catalog.search.semantic import Embedding

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = st.text(st.characters(codec=None), max_size=30)

SHOP = [
    Document(
        "mcp__shop__fetch_invoice", "shop", "fetch_invoice", "", "Retrieve a bill that was sent to a client."
    ),
    Document("mcp__shop__ship", "shop", "ship", "", "Send a parcel by mail."),
    Document("mcp__zoo__feed", "zoo", "feed", "", "Give food to an animal."),
    Document("mcp__zoo__clean", "zoo", "clean", "", "Wash the cage of an animal."),
]


@pytest.fixture(scope="module")
def embedding() -> Embedding:
    loaded = Embedding.load()
    if loaded is None:
        pytest.skip("needs halflap[semantic]")
    return loaded


def test_without_the_extra_there_is_no_meaning_and_no_complaint(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    assert Embedding.load() is None
    assert caplog.text == ""


def test_unreadable_files_are_logged_and_search_still_works(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    package = tmp_path / "wordllama"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('is not to be imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert Embedding.load() is None
    assert "Search uses words alone" in caplog.text


def test_texts_encoded_together_are_what_they_are_alone(embedding: Embedding) -> None:
    texts = ["Send a letter.", "", "Feed the lion."]
    together = embedding.encode(texts)
    assert "wordllama" not in sys.modules  # its own loader reaches for the network
    assert all((together[at] == embedding.encode([text])[0]).all() for at, text in enumerate(texts))


def test_a_tool_is_found_that_has_no_word_of_the_query(embedding: Embedding) -> None:
    query = "postal packages"
    assert Index(SHOP).search(query) == []
    assert Index(SHOP, embedding).search(query)[0].name == "mcp__shop__ship"


@given(query=TEXTS, description=TEXTS)
def test_search_never_raises(embedding: Embedding, query: str, description: str) -> None:
    strange = Document("mcp__s__t", "s", "t", "", description)
    Index([*SHOP, strange], embedding).search(query)
