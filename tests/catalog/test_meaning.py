from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.tools import live_documents
from halflap.catalog.document import Document
from halflap.catalog.meaning import Meaning
from halflap.catalog.search import Found, Index
from support import shared_data

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
def meaning() -> Meaning:
    loaded = Meaning.load()
    if loaded is None:
        pytest.skip("needs halflap[semantic]")
    return loaded


def test_without_the_extra_there_is_no_meaning_and_no_complaint(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    assert Meaning.load() is None
    assert caplog.text == ""


def test_unreadable_files_are_logged_and_search_still_works(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    package = tmp_path / "wordllama"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('is not to be imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert Meaning.load() is None
    assert "Search goes by words alone" in caplog.text


@pytest.mark.usefixtures("meaning")
def test_the_package_itself_is_not_imported() -> None:
    assert "wordllama" not in sys.modules


def test_every_text_is_a_unit_vector(meaning: Meaning) -> None:
    rows = meaning.encode(["Send a letter.", "发送信件", "x"])
    assert (abs((rows**2).sum(axis=1) - 1) < 1e-5).all()


def test_a_text_that_says_nothing_is_zero(meaning: Meaning) -> None:
    assert not meaning.encode([""]).any()


def test_texts_encoded_together_are_what_they_are_alone(meaning: Meaning) -> None:
    texts = ["Send a letter.", "", "Feed the lion."]
    together = meaning.encode(texts)
    assert all((together[at] == meaning.encode([text])[0]).all() for at, text in enumerate(texts))


def test_line_breaks_punctuation_and_capitals_say_nothing(meaning: Meaning) -> None:
    plain, decorated = meaning.encode(["send a letter", "Send\n\n  a LETTER!"])
    assert (plain == decorated).all()


def test_a_word_that_texts_share_is_taken_into_pieces_once(meaning: Meaning) -> None:
    class Counting:
        asked = 0

        def encode(self, text: str, **options: Any) -> Any:
            self.asked += 1
            return meaning._tokenizer.encode(text, **options)

    counting = Counting()
    Meaning(meaning.numpy, meaning._vectors, counting).encode(["Feed the lion."] * 50 + ["the lion"] * 50)
    assert counting.asked == 3


def test_a_tool_is_found_that_has_no_word_of_the_query(meaning: Meaning) -> None:
    query = "postal packages"
    assert Index(SHOP).search(query) == []
    assert Index(SHOP, meaning).search(query)[0].name == "mcp__shop__ship"


def test_nonsense_finds_nothing(meaning: Meaning) -> None:
    assert Index(SHOP, meaning).search("zxqv blorp") == []


def test_an_exact_name_is_first_all_the_same(meaning: Meaning) -> None:
    assert Index(SHOP, meaning).search("mcp__zoo__clean")[0] == Found("mcp__zoo__clean", 1.0)


def test_only_tools_of_the_wanted_server_are_found(meaning: Meaning) -> None:
    found = Index(SHOP, meaning).search("send an animal by mail", server="zoo")
    assert {one.name for one in found} <= {"mcp__zoo__feed", "mcp__zoo__clean"}


def test_a_query_of_stop_words_finds_nothing(meaning: Meaning) -> None:
    assert Index(SHOP, meaning).search("how can I do it") == []


def test_an_empty_catalogue_has_nothing(meaning: Meaning) -> None:
    assert Index([], meaning).search("animal") == []


@given(query=TEXTS, description=TEXTS)
def test_search_never_raises(meaning: Meaning, query: str, description: str) -> None:
    strange = Document("mcp__s__t", "s", "t", "", description)
    Index([*SHOP, strange], meaning).search(query)


@given(query=st.sampled_from(["animal", "send food", "bill mail", "wash"]), limit=st.integers(1, 4))
def test_a_smaller_limit_gives_the_beginning_of_the_answer(meaning: Meaning, query: str, limit: int) -> None:
    index = Index(SHOP, meaning)
    assert [one.name for one in index.search(query, limit)] == [one.name for one in index.search(query)][
        :limit
    ]


def test_questions_find_their_tools(meaning: Meaning) -> None:
    tasks = json.loads(shared_data("live_tasks.json").read_text())
    documents = live_documents()
    index = Index(documents, meaning)
    original = {one.name: one.original_name for one in documents}
    found = sum(
        len({original[one.name] for one in index.search(task["question"], 10)}.intersection(task["tools"]))
        for task in tasks
    )
    assert found / sum(len(set(task["tools"])) for task in tasks) >= 0.48
