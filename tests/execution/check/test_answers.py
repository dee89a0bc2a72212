"""The gateway reads an answer as if an attacker had written it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.execution.check.reading import CheckSkipped, Diagnostic, read_answer

GOOD = ["rule", 1, 2, 3, 4, "message"]

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=7) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


def answer(*diagnostics: Any, **more: Any) -> bytes:
    return json.dumps({"facts": {}, "diagnostics": list(diagnostics)} | more).encode()


def reason(body: bytes) -> str:
    with pytest.raises(CheckSkipped) as skipped:
        read_answer(body)
    return skipped.value.reason


def test_a_good_answer_is_read() -> None:
    assert read_answer(answer(GOOD)).diagnostics == (Diagnostic("rule", 1, 2, 3, 4, "message"),)


def test_an_empty_answer_is_a_crash() -> None:
    assert reason(b"") == "its process crashed"


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"[]", b"null", b"5", b"\xff\xfe", b"{}", b'{"facts": {}}', b'{"facts": [], "diagnostics": []}',
        b'{"facts": {}, "diagnostics": {}}', b"[" * 100_000, b'{"facts": ' + b"9" * 10_000 + b"}",
    ],
)  # fmt: skip
def test_what_is_no_answer_is_a_skipped_check(body: bytes) -> None:
    assert reason(body) == "its answer could not be read"


@pytest.mark.parametrize(
    "bad",
    [
        None, [], GOOD[:5], [*GOOD, 1], [1, 1, 2, 3, 4, "m"], ["r", 1, 2, 3, 4, None], ["r", 0, 2, 3, 4, "m"],
        ["r", 1, -2, 3, 4, "m"], ["r", True, 2, 3, 4, "m"], ["r", 1.5, 2, 3, 4, "m"], ["r", 1, 2, 3, 10**9, "m"],
        ["r", "1", 2, 3, 4, "m"],
    ],
)  # fmt: skip
def test_a_diagnostic_that_cannot_be_is_a_skipped_check(bad: Any) -> None:
    assert reason(answer(GOOD, bad)) == "its answer could not be read"


def test_no_more_is_kept_than_anybody_reads() -> None:
    examined = read_answer(answer(*[["r" * 1000, 1, 2, 3, 4, "m" * 10_000]] * 1000))
    assert len(examined.diagnostics) == 500
    assert (len(examined.diagnostics[0].rule), len(examined.diagnostics[0].message)) == (100, 2000)


def test_what_went_wrong_is_told_in_few_words() -> None:
    assert len(reason(json.dumps({"trouble": "x" * 10_000}).encode())) < 300


@given(JSON, JSON)
def test_whatever_is_answered_is_read_or_skipped(facts: Any, diagnostics: Any) -> None:
    with contextlib.suppress(CheckSkipped):
        read_answer(json.dumps({"facts": facts, "diagnostics": diagnostics}).encode())


@given(st.binary(max_size=200))
def test_whatever_bytes_come_are_read_or_skipped(body: bytes) -> None:
    with contextlib.suppress(CheckSkipped):
        read_answer(body)
