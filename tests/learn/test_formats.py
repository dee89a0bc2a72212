"""Recognising formats of texts."""

from __future__ import annotations

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.learn.formats import FORMATS, PATTERNS, format_of
from support import examples

STANDARD = [name for name in FORMATS if not name.endswith("-local")]
"""Those that JSON Schema knows; the others are OpenAPI's."""


@pytest.mark.parametrize("name", STANDARD)
def test_a_recognised_format_is_accepted_by_the_validator(name: str) -> None:
    fits = jsonschema_rs.validator_for({"type": "string", "format": name}, validate_formats=True)

    @settings(max_examples=examples(60))
    @given(st.from_regex(PATTERNS[name], fullmatch=True))
    def holds(text: str) -> None:
        assert fits.is_valid(text)

    holds()


@settings(max_examples=examples(150))
@given(st.one_of(*(st.from_regex(PATTERNS[name], fullmatch=True) for name in FORMATS)))
def test_a_text_has_at_most_one_format(text: str) -> None:
    fitting = [name for name in FORMATS if PATTERNS[name].fullmatch(text)]
    assert len(fitting) <= 1
    assert format_of(text) == "".join(fitting)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024-1-1",
        "25:00:00",
        "a@b",
        "http:///x",
        "1.2.3.256",
        "PT",
        "\ud800",
        "2024-01-01\n",
        "https://a.b/%zz",
    ],
)
def test_other_texts_have_no_format(text: str) -> None:
    assert format_of(text) == ""
