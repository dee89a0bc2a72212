"""The gateway reads an answer of the check's process as if an attacker had written it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.sandbox.check.answer import CheckSkipped, read_answer

FOUND = {
    "at": [1, 2, 3, 4], "certain": True, "rule": "unknown-key", "wrong": "w", "right": "", "name": "k", "keys": ["a"],
}  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=7) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


def answer(**found: Any) -> bytes:
    return json.dumps({"findings": [FOUND, FOUND | found]}).encode()


def test_a_good_answer_is_read() -> None:
    assert [one.at for one in read_answer(answer()).findings] == [(1, 2, 3, 4)] * 2


@pytest.mark.parametrize(
    "bad",
    [
        *({"at": at} for at in (None, [1, 2, 3], [0, 2, 3, 4], [1, -2, 3, 4], [1.5, 2, 3, 4], [1, 2, 3, 10**9])),
        {"rule": 1}, {"wrong": "x" * 10_000}, {"keys": "a"}, {"more": 1},
    ],
)  # fmt: skip
def test_a_finding_that_cannot_be_is_a_skipped_check(bad: dict[str, Any]) -> None:
    with pytest.raises(CheckSkipped):
        read_answer(answer(**bad))


@given(JSON, JSON, st.binary(max_size=200))
def test_whatever_is_answered_is_read_or_skipped(calls: Any, findings: Any, body: bytes) -> None:
    for one in (b"", b"[" * 100_000, json.dumps({"calls": calls, "findings": findings}).encode(), body):
        with contextlib.suppress(CheckSkipped):
            read_answer(one)
