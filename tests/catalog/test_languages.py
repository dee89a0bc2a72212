from __future__ import annotations

import pytest

from catalog.tools import OFFICE, document, first, names
from halflap.catalog.search.index import Index
from halflap.catalog.search.words import terms


@pytest.mark.parametrize(
    ("description", "query"),
    [
        ("查询天气预报", "明天的天气"),
        ("ファイルを読み取る", "ファイルの読み取り"),
        ("날씨를 조회합니다", "오늘 날씨"),
        ("ค้นหาเที่ยวบิน", "เที่ยวบินถูก"),
        ("Отправить письмо", "письмо"),
        ("Στείλε ΜΉΝΥΜΑ", "μηνυμα"),
        ("Größe der Datei", "GRÖSSE"),
        ("Créer un événement", "evenement"),
        ("हिन्दी अनुवाद", "अनुवाद"),
        ("إرسال رسالة", "رسالة"),
        ("\uff26\uff49\uff4c\uff45", "file"),
    ],
)
def test_any_language_finds_its_own(description: str, query: str) -> None:
    assert first(query, [OFFICE[-1], document("a", "x", description)]) == "mcp__a__x"


# Five or so tools in each language, and for each of them what somebody may ask.
ASKED = {
    "German": {
        "Wettervorhersage für eine Stadt abrufen": "Wie wird das Wetter morgen?",
        "Rechnungen eines Kunden auflisten": "die Rechnung für den Kunden anzeigen",
        "Kalendereintrag löschen": "lösche einen Eintrag im Kalender",
    },
    "French": {
        "Obtenir les prévisions météo": "la meteo de Paris",
        "Envoyer un courriel à un client": "envoie des courriels",
        "Liste les factures d'un fournisseur": "la facture du fournisseur",
    },
    "Spanish": {
        "Enviar un correo electrónico": "envía correos electronicos",
        "Traducción de textos": "traducir el texto",
    },
    "Japanese": {
        "天気予報を取得する": "明日の天気",
        "メールを送信する": "メール送信",
        "カレンダーに予定を追加する": "予定を追加",
    },
    "Chinese": {
        "查询航班信息": "我想查航班",
        "发送电子邮件": "发邮件",
        "翻译文本": "把文本翻译成英文",
    },
    "Korean": {"날씨를 조회합니다": "오늘 날씨가 어때", "파일을 검색합니다": "파일 검색"},
    "Arabic": {
        "إرسال رسالة إلى عميل": "أرسل الرسالة",
        "عرض حالة الطقس في مدينة": "الطقس في المدينة",
        "ترجمة النصوص": "ترجم النص",
        "كِتَاب جديد": "كتاب",
    },
    "Russian": {
        "Отправить письмо клиенту": "отправка письма",
        "Прогноз погоды для города": "погода в городе",
        "Удалить событие из календаря": "удаление событий, календарь",
    },
}


@pytest.mark.parametrize(
    ("language", "description"),
    [(language, description) for language, asked in ASKED.items() for description in asked],
)
def test_a_question_finds_the_tool_that_is_described_in_its_language(language: str, description: str) -> None:
    tools = [document("x", f"x{number}", text) for number, text in enumerate(ASKED[language])]
    query = ASKED[language][description]
    wanted = list(ASKED[language]).index(description)
    assert first(query, [*OFFICE, *tools]) == f"mcp__x__x{wanted}"


def test_small_words_of_other_languages_do_not_count() -> None:
    tools = [document("a", "one", "Die Datei in der Cloud für das Team"), document("b", "two", "Die Dateien")]
    assert names(Index([*OFFICE, *tools]).search("das für der und ein mit zu")) == []


def test_an_english_word_that_is_known_finds_no_other_with_the_same_beginning() -> None:
    tools = [document("a", "contact", "Contact a person."), document("b", "contain", "Contain a fire.")]
    assert names(Index(tools).search("my contacts")) == ["mcp__a__contact"]


def test_accents_and_arabic_vowels_do_not_count() -> None:
    assert terms("événement كِتَاب أكل") == terms("evenement كتاب اكل")
