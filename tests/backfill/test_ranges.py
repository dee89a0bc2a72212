"""A large file is split at line breaks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from backfill.logs import SHOP, found_in, lines, trace
from support import examples

VALUES: Any = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(0, 1), st.text("ab{[", max_size=4)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "type", "x1y2z3"]), inner, max_size=3),
    ),
    max_leaves=6,
)
RECORDS: Any = st.builds(
    lambda number, value, tool, is_error: lines(trace(number, value, tool, is_error=is_error)),
    st.integers(0, 4),
    VALUES,
    st.sampled_from(["mcp__shop__a", "b", "mcp__other__a"]),
    st.booleans(),
)
ODD: Any = st.sampled_from(
    [b"\n", b"{\n", b"\xff\n", b'{"some": 1}\n', b"7\n", b"[[\n", b'{"tool": 3, "result": 1}\n']
)
LOGS: Any = st.builds(
    lambda parts, last: b"".join(parts) + last,
    st.lists(st.one_of(RECORDS, RECORDS, ODD), max_size=12),
    st.sampled_from([b"", b"", b'{"tool": "a", "res', lines(trace(9)).strip()]),
)


@given(LOGS, st.integers(1, 400))
@settings(max_examples=examples(150))
def test_splitting_at_line_breaks_gives_exactly_one_pass(data: bytes, step: int) -> None:
    rules = replace(SHOP, lineage=False)  # values are not followed across a split
    assert found_in(data, rules, step=step) == found_in(data, rules)
