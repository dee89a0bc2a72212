from __future__ import annotations

import pytest

from halflap.graph.naming import words_of


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("customerId", "customer id"),
        ("Customer-ID", "customer id"),
        ("customer_ids", "customer id"),
        ("categories", "category"),
        ("status", "status"),
        ("HTTPServerURL", "http server url"),
        ("userid", "user id"),
        ("paid", "paid"),
        ("", ""),
        ("город_id", "город id"),
    ],
)
def test_names_are_split_into_singular_words(name: str, words: str) -> None:
    assert " ".join(words_of(name)) == words


def test_a_name_of_any_length_is_bounded() -> None:
    assert len(words_of("aB" * 100_000)) < 200
