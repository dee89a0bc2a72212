"""The gateway reads an answer of the check's process as if an attacker had written it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.sandbox.check.process import CheckSkipped, read_answer

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=7) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)
FINDING = [[1, 2, 3, 4], [True, "unknown-key", "wrong", "", "key", ["a"]]]


def test_an_answer_is_read_and_one_of_another_form_is_a_skipped_check() -> None:
    assert read_answer(json.dumps([[FINDING], [], [], ""]).encode()).findings[0][0] == (1, 2, 3, 4)
    for place in (None, [1, 2, 3], [1.5, 2, 3, 4], ["1", 2, 3, 4]):
        with pytest.raises(CheckSkipped):
            read_answer(json.dumps([[[place, FINDING[1]]], [], [], ""]).encode())


@given(JSON, JSON, st.binary(max_size=200))
def test_any_answer_is_read_or_skipped(calls: Any, findings: Any, body: bytes) -> None:
    for one in (b"", b"[" * 100_000, json.dumps([findings, calls]).encode(), body):
        with contextlib.suppress(CheckSkipped):
            read_answer(one)
