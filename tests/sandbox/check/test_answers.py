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


def answer(place: Any = (1, 2, 3, 4), rule: Any = "unknown-key") -> bytes:
    return json.dumps([[[place, [True, rule, "wrong", "", "key", ["a"]]]], [], [], ""]).encode()


def test_a_good_answer_is_read() -> None:
    assert [at for at, _ in read_answer(answer()).findings] == [(1, 2, 3, 4)]


@pytest.mark.parametrize(
    "body",
    [answer(place=at) for at in (None, [1, 2, 3], [1.5, 2, 3, 4], ["1", 2, 3, 4])] + [answer(rule=1), b"[[]]]", b"null"],
)  # fmt: skip
def test_an_answer_of_another_form_is_a_skipped_check(body: bytes) -> None:
    with pytest.raises(CheckSkipped):
        read_answer(body)


@given(JSON, JSON, st.binary(max_size=200))
def test_whatever_is_answered_is_read_or_skipped(calls: Any, findings: Any, body: bytes) -> None:
    for one in (b"", b"[" * 100_000, json.dumps([findings, calls]).encode(), body):
        with contextlib.suppress(CheckSkipped):
            read_answer(one)
