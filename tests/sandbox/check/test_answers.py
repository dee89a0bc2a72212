"""The gateway reads an answer of the check's process as if an attacker had written it."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.sandbox.check.answer import CheckSkipped, read_answer, read_failed

FACTS: dict[str, list[Any]] = {
    name: [] for name in ("bound", "ignored", "calls", "unbound", "unawaited", "wraps", "without")
}
GOOD = ["rule", [1, 2, 3, 4], "message"]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=7) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


def answer(*diagnostics: Any) -> bytes:
    return json.dumps({"facts": FACTS, "diagnostics": list(diagnostics)}).encode()


def test_a_good_answer_is_read() -> None:
    assert read_answer(answer(GOOD)).diagnostics == [("rule", (1, 2, 3, 4), "message")]


@pytest.mark.parametrize(
    "bad",
    [
        None, [], GOOD[:2], [*GOOD, 1], [1, [1, 2, 3, 4], "m"], ["r", [1, 2, 3, 4], None], ["r", [0, 2, 3, 4], "m"],
        ["r", [1, -2, 3, 4], "m"], ["r", [1.5, 2, 3, 4], "m"], ["r", [1, 2, 3, 10**9], "m"], ["r", [1, 2, 3], "m"],
    ],
)  # fmt: skip
def test_a_diagnostic_that_cannot_be_is_a_skipped_check(bad: Any) -> None:
    with pytest.raises(CheckSkipped):
        read_answer(answer(GOOD, bad))


@given(JSON, JSON, st.binary(max_size=200))
def test_whatever_is_answered_is_read_or_skipped(facts: Any, diagnostics: Any, body: bytes) -> None:
    for one in (b"", b"[" * 100_000, json.dumps({"facts": facts, "diagnostics": diagnostics}).encode(), body):
        for read in (read_answer, read_failed):
            with contextlib.suppress(CheckSkipped):
                read(one)
