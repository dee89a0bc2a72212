from __future__ import annotations

import pytest

from catalog.tools import OFFICE, document, names
from halflap.catalog.search.index import Index
from halflap.catalog.search.words import terms, words

# Tools in each language, and for each of them a question.
ASKED = {
    "German": {
        "Wettervorhersage für eine Stadt abrufen": "Wie wird das Wetter morgen?",
        "Kalendereintrag löschen": "lösche einen Eintrag im Kalender",
    },
    "French": {
        "Obtenir les prévisions météo": "la meteo de Paris",
        "Liste les factures d'un fournisseur": "la facture du fournisseur",
    },
    "Japanese": {
        "天気予報を取得する": "明日の天気",
        "カレンダーに予定を追加する": "予定を追加",
    },
    "Korean": {"날씨를 조회합니다": "오늘 날씨가 어때", "파일을 검색합니다": "파일 검색"},
    "Arabic": {
        "إرسال رسالة إلى عميل": "أرسل الرسالة",
        "كِتَاب جديد": "كتاب",
    },
    "Russian": {
        "Отправить письмо клиенту": "отправка письма",
        "Удалить событие из календаря": "удаление событий, календарь",
    },
}


@pytest.mark.parametrize("language", ASKED)
def test_a_question_finds_the_tool_that_is_described_in_its_language(language: str) -> None:
    asked = ASKED[language]
    tools = [*OFFICE, *(document("x", text, text) for text in asked)]
    for description, question in asked.items():
        found = Index(tools).search(question)[0].name
        assert found == document("x", description).name


def test_small_words_of_other_languages_do_not_count() -> None:
    tools = [document("a", "one", "Die Datei in der Cloud für das Team"), document("b", "two", "Die Dateien")]
    assert names(Index([*OFFICE, *tools]).search("das für der und ein mit zu")) == []


def test_an_english_word_that_is_known_finds_no_other_with_the_same_beginning() -> None:
    tools = [document("a", "contact", "Contact a person."), document("b", "contain", "Contain a fire.")]
    assert names(Index(tools).search("my contacts")) == ["mcp__a__contact"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("snake_case-and.dots", ["snake", "case", "and", "dots"]),
        ("getHTTPResponse", ["get", "http", "response", "gethttpresponse"]),
        ("base64", ["base", "64"]),
        ("Excel文件", ["excel", "文件"]),
        ("猫", ["猫"]),
        ("東京都", ["東京", "京都"]),
    ],
)
def test_words_are_split(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    "same",
    [
        "query queries querying",
        "generate generates generating generated generation generator",
        "process processes processing",
        "box boxes",
    ],
)
def test_inflections_are_one_term(same: str) -> None:
    assert len(set(terms(same))) == 1
