"""The gateway reads an answer of the check's process as if an attacker had written it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.sandbox.check.reading import CheckSkipped, Diagnostic, read_answer

GOOD = ["rule", 1, 2, 3, 4, "message"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=7) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


def answer(*diagnostics: Any) -> bytes:
    return json.dumps({"facts": {}, "diagnostics": list(diagnostics)}).encode()


def test_a_good_answer_is_read() -> None:
    assert read_answer(answer(GOOD)).diagnostics == (Diagnostic("rule", 1, 2, 3, 4, "message"),)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}", b'{"facts": {}}', b'{"facts": [], "diagnostics": []}',
        b'{"facts": {}, "diagnostics": {}}', b"[" * 100_000, b'{"facts": ' + b"9" * 10_000 + b"}",
    ],
    ids=range(11),
)  # fmt: skip
def test_what_is_no_answer_is_a_skipped_check(body: bytes) -> None:
    with pytest.raises(CheckSkipped):
        read_answer(body)


@pytest.mark.parametrize(
    "bad",
    [
        None, [], GOOD[:5], [*GOOD, 1], [1, 1, 2, 3, 4, "m"], ["r", 1, 2, 3, 4, None], ["r", 0, 2, 3, 4, "m"],
        ["r", 1, -2, 3, 4, "m"], ["r", True, 2, 3, 4, "m"], ["r", 1.5, 2, 3, 4, "m"], ["r", 1, 2, 3, 10**9, "m"],
    ],
)  # fmt: skip
def test_a_diagnostic_that_cannot_be_is_a_skipped_check(bad: Any) -> None:
    with pytest.raises(CheckSkipped):
        read_answer(answer(GOOD, bad))


def test_no_more_is_kept_than_anybody_reads() -> None:
    examined = read_answer(answer(*[["r" * 1000, 1, 2, 3, 4, "m" * 10_000]] * 1000))
    assert len(examined.diagnostics) == 500
    assert (len(examined.diagnostics[0].rule), len(examined.diagnostics[0].message)) == (100, 2000)
    with pytest.raises(CheckSkipped) as skipped:
        read_answer(json.dumps({"trouble": "x" * 10_000}).encode())
    assert len(skipped.value.reason) < 300


@given(JSON, JSON, st.binary(max_size=200))
def test_whatever_is_answered_is_read_or_skipped(facts: Any, diagnostics: Any, body: bytes) -> None:
    for one in (json.dumps({"facts": facts, "diagnostics": diagnostics}).encode(), body):
        with contextlib.suppress(CheckSkipped):
            read_answer(one)
