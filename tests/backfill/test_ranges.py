"""A large file is split at line breaks."""

from __future__ import annotations

import tempfile
from functools import reduce
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from backfill.logs import SHOP, found_in, lines, trace
from halflap.backfill.found import NOTHING_FOUND, Found, Tree
from halflap.backfill.kernel import learn_range
from halflap.backfill.opening import ranges
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


def in_ranges(data: bytes, step: int) -> list[Found]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        cuts = list(ranges(file.name, 0, len(data), step))
        assert [start for start, _ in cuts[1:]] == [end for _, end in cuts[:-1]]
        assert all(data[start - 1 : start] == b"\n" for start, _ in cuts[1:])
        return [learn_range(file.name, start, end, SHOP) for start, end in cuts]


@given(LOGS, st.integers(1, 400))
@settings(max_examples=examples(150))
def test_splitting_at_line_breaks_gives_exactly_one_pass(data: bytes, step: int) -> None:
    parts = in_ranges(data, step)
    whole = found_in(data, document=False)
    assert reduce(Found.merge, parts, NOTHING_FOUND) == whole
    tree = Tree()
    for part in parts:
        tree.add(part)
    assert tree.whole() == whole
    assert tree.whole() == whole
