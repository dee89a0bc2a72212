from __future__ import annotations

import json
from typing import Any

import pytest

from halflap.learn import infer, render, to_json
from halflap.learn.names import TAG_KEYS, is_name, is_tag_value

NAMES = [
    *(
        "id",
        "first_name",
        "address1",
        "addressLine2",
        "@type",
        "@id",
        "$ref",
        "#text",
        "i18n",
        "k8s",
        "_links",
    ),
    *(
        "sha256",
        "SHA256",
        "iso8601",
        "base64_data",
        "utf-8",
        "oauth2_token",
        "x86_64",
        "h264",
        "p95",
        "top10",
    ),
    *(
        "USD",
        "SFO",
        "last_30_days",
        "52WeekHigh",
        "strIngredient12",
        "Market Cap",
        "1. open",
        "größe",
        "名前",
        "",
    ),
]
DATA = [
    *(
        "credit_card_4421486",
        "NO6JO3",
        "HKEG34",
        "HAT069",
        "user_123",
        "cus_Nff0a9b2c3",
        "9f8e7d6c",
        "deadbeef01",
    ),
    *(
        "2024-05-01",
        "05/2024",
        "12:30",
        "7",
        "1.5",
        "-3",
        "1e5",
        "#1234",
        "+1 555 123 4567",
        "192.168.0.1",
        "fe80::1",
        "00:1a:2b:3c:4d:5e",
        "a1b2c3d",
        "١٢٣",
    ),
    *("ada@example.com", "/etc/passwd", "C:\\Users\\ada", "https://example.com", "dQw4w9WgXcQ"),
    *("550e8400-e29b-41d4-a716-446655440000", "x" * 65, "a\x00b", "tab\t", "\ud800"),
    *("how old is the man next door",),
]


@pytest.mark.parametrize("key", NAMES)
def test_names_are_kept(key: str) -> None:
    assert is_name(key)
    assert key in render(infer([{key: 1}]))["properties"]


@pytest.mark.parametrize("key", DATA)
def test_keys_shaped_like_data_are_not_kept(key: str) -> None:
    assert not is_name(key)
    shape = infer([{key: "x", "name": 1}])
    assert json.dumps(key) not in json.dumps([to_json(shape), render(shape)])
    assert "additionalProperties" in render(shape)


@pytest.mark.parametrize("key", [1, None, 1.5, True, (1, 2), b"x"])
def test_keys_that_are_no_text_are_data(key: Any) -> None:
    assert "additionalProperties" in render(infer([{key: "x"}]))


def test_no_values_are_kept() -> None:
    secret = {
        "name": "Ada Lovelace",
        "mail": "ada@example.com",
        "age": 36.25,
        "n": 987654321,
        "tags": ["s3cret"],
    }
    written = json.dumps([to_json(infer([secret] * 9)), render(infer([secret] * 9))])
    for value in ("Ada", "ada@", "36.25", "987654321", "s3cret"):
        assert value not in written


@pytest.mark.parametrize(
    "value", ["paid", "not_found", "application.started", "GREEN", "in-progress", True, False]
)
def test_words_and_truth_values_under_tag_keys_are_kept(value: Any) -> None:
    assert is_tag_value(value)
    assert all(
        value in (render(infer([{key: value}]))["properties"][key]["x-halflap"]["values"]) for key in TAG_KEYS
    )


@pytest.mark.parametrize(
    "value",
    [
        "Ada Lovelace",
        "ada@example.com",
        "user_12345",
        "2024-01-01",
        "",
        "x" * 41,
        "/home/ada",
        "a\nb",
        5,
        None,
        ["x"],
    ],
)
def test_nothing_else_is_kept_under_tag_keys(value: Any) -> None:
    assert not is_tag_value(value)
    written = json.dumps(to_json(infer([{"status": value}])))
    assert "tag" not in written
    assert not value or type(value) is not str or value not in written


def test_too_many_values_under_a_tag_key_and_none_is_kept() -> None:
    words = [f"word{letter}" for letter in "abcdefghijklmnopqrst"]
    written = json.dumps(to_json(infer([{"status": word} for word in words])))
    assert not any(word in written for word in words)


def test_under_a_key_that_is_data_no_values_are_kept() -> None:
    written = json.dumps(to_json(infer([{"a@b.de": "short"}], keep_values=True)))
    assert "short" not in written


def test_long_strings_are_not_kept_where_values_are() -> None:
    written = json.dumps(to_json(infer([{"text": "x" * 65}, {"line": "a\nb"}], keep_values=True)))
    assert "xxx" not in written
    assert "a\\nb" not in written
