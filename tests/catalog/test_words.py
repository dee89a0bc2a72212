from __future__ import annotations

import pytest

from halflap.catalog.search.words import terms, words


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
