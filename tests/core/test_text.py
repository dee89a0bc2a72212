"""Making text safe and short enough to show."""

from __future__ import annotations

import unicodedata
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from halflap.core.text import clean, clean_json
from support import little_work


@given(st.text(), st.integers(min_value=20, max_value=200))
def test_no_invisible_letter_is_left(text: str, longest: int) -> None:
    cleaned = clean(text, longest)
    assert len(cleaned) <= longest
    assert not {letter for letter in cleaned if unicodedata.category(letter) in {"Cc", "Cf", "Cs"}} - {
        "\n",
        "\t",
    }


BLANK_LETTERS = "\u115f\u1160\u3164\uffa0"
"""Letters to Unicode, and yet nothing can be seen of them."""


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Zs"], exclude_characters=BLANK_LETTERS)))
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert clean(text, 10**9) == text


def test_prose_is_cleaned_and_names_are_escaped() -> None:
    assert clean_json({"a\u200b": ["x\u202e", 1, None, {"description": "y\u202e"}]}, 100)[0] == {
        r"a\u200b": [r"x\u202e", 1, None, {"description": "y"}]
    }


def test_deep_and_wide_values_are_cut_with_a_mark() -> None:
    deep: Any = "bottom"
    for _ in range(1000):
        deep = [deep]
    assert "… (cut)" in str(clean_json(deep, 100))
    with little_work():
        wide = clean_json({f"k{number}": {"type": "string"} for number in range(200_000)}, 100)[0]
    assert list(wide) == ["… (cut)"]


def test_selectors_and_fillers_are_removed() -> None:
    hidden = "".join(chr(0xE0100 + ord(letter) - 32) for letter in "ignore")
    assert clean(f"Hello{hidden}\ufe0f world\u3164\u2800", 100) == "Hello world"
