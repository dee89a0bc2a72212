"""The parts of a JSON text are counted without parsing it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halflap.core.json_bounds import TooManyPartsError, check_parts
from support import examples, little_work

TEXTS = st.text(st.sampled_from('a,[{"\\é'), max_size=8)
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS, lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner)
)


def parts(value: Any) -> int:
    """Count commas and opening brackets as the grammar has them."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else max(len(inner), 1) + sum(map(parts, inner))


@given(VALUES, st.booleans())
@settings(max_examples=examples(500))
def test_exactly_the_parts_outside_texts_count(value: Any, is_ascii: bool) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii)
    count = parts(value)
    for data in (text, text.encode()):
        check_parts(data, count)
        if count:
            with pytest.raises(TooManyPartsError):
                check_parts(data, count - 1)


@pytest.mark.parametrize("part", [b"[],", b'"",', b"{},", b"1,", b'"\\"",'])
def test_many_parts_are_refused_with_little_work(part: bytes) -> None:
    data = b"[" + part * (8_000_000 // len(part)) + b"1]"
    with little_work(2.0), pytest.raises(TooManyPartsError):
        check_parts(data)
