"""Shapes without kept values."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from halflap.learn import Learned, infer, render
from halflap.learn.unvalued import has_values, without_values
from learn.anything import OBSERVED


@given(OBSERVED)
def test_removing_values_equals_learning_without_them(
    observed: list[tuple[Any, int]],
) -> None:
    values, digests = [value for value, _ in observed], [digest for _, digest in observed]
    kept, plain = infer(values, digests, keep_values=True), infer(values, digests)
    assert without_values(kept) == plain
    assert not has_values(plain)
    assert has_values(kept) == (kept != plain)


def test_words_under_tag_keys_stay_and_other_texts_go() -> None:
    value = {
        "type": "card",
        "status": "in the post",
        "colour": "crimson",
        "rows": [{"note": "abc"}],
        "words": ["x"],
    }
    shape = infer([value] * 3, [1, 2, 3], keep_values=True)
    told = str(render(without_values(shape)))
    assert "card" in told
    assert not any(text in told for text in ("in the post", "crimson", "abc", "'x'"))
    learned = Learned(structured=shape)
    assert learned.has_values
    assert not learned.without_values().has_values
