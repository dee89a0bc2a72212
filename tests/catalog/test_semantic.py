from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.catalog.search.document import Document
from halflap.catalog.search.index import Found, Index
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


@pytest.mark.usefixtures("embedding")
def test_the_package_itself_is_not_imported() -> None:
    assert "wordllama" not in sys.modules


def test_every_text_is_a_unit_vector(embedding: Embedding) -> None:
    rows = embedding.encode(["Send a letter.", "发送信件", "x"])
    assert (abs((rows**2).sum(axis=1) - 1) < 1e-5).all()


def test_a_text_that_says_nothing_is_zero(embedding: Embedding) -> None:
    assert not embedding.encode([""]).any()


def test_texts_encoded_together_are_what_they_are_alone(embedding: Embedding) -> None:
    texts = ["Send a letter.", "", "Feed the lion."]
    together = embedding.encode(texts)
    assert all((together[at] == embedding.encode([text])[0]).all() for at, text in enumerate(texts))


def test_line_breaks_punctuation_and_capitals_say_nothing(embedding: Embedding) -> None:
    plain, decorated = embedding.encode(["send a letter", "Send\n\n  a LETTER!"])
    assert (plain == decorated).all()


def test_a_tool_is_found_that_has_no_word_of_the_query(embedding: Embedding) -> None:
    query = "postal packages"
    assert Index(SHOP).search(query) == []
    assert Index(SHOP, embedding).search(query)[0].name == "mcp__shop__ship"


def test_nonsense_finds_nothing(embedding: Embedding) -> None:
    assert Index(SHOP, embedding).search("zxqv blorp") == []


def test_an_exact_name_is_first_all_the_same(embedding: Embedding) -> None:
    assert Index(SHOP, embedding).search("mcp__zoo__clean")[0] == Found("mcp__zoo__clean", 1.0)


def test_only_tools_of_the_wanted_server_are_found(embedding: Embedding) -> None:
    found = Index(SHOP, embedding).search("send an animal by mail", server="zoo")
    assert {one.name for one in found} <= {"mcp__zoo__feed", "mcp__zoo__clean"}


def test_a_query_of_stop_words_finds_nothing(embedding: Embedding) -> None:
    assert Index(SHOP, embedding).search("how can I do it") == []


def test_an_empty_catalogue_has_nothing(embedding: Embedding) -> None:
    assert Index([], embedding).search("animal") == []


@given(query=TEXTS, description=TEXTS)
def test_search_never_raises(embedding: Embedding, query: str, description: str) -> None:
    strange = Document("mcp__s__t", "s", "t", "", description)
    Index([*SHOP, strange], embedding).search(query)


@given(query=st.sampled_from(["animal", "send food", "bill mail", "wash"]), limit=st.integers(1, 4))
def test_a_smaller_limit_gives_the_beginning_of_the_answer(
    embedding: Embedding, query: str, limit: int
) -> None:
    index = Index(SHOP, embedding)
    assert [one.name for one in index.search(query, limit)] == [one.name for one in index.search(query)][
        :limit
    ]
