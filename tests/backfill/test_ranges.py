"""Any cut into ranges gives exactly what one pass gives."""

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
def test_any_cut_into_ranges_gives_exactly_what_one_pass_gives(data: bytes, step: int) -> None:
    parts = in_ranges(data, step)
    whole = found_in(data, document=False)
    assert reduce(Found.merge, parts, NOTHING_FOUND) == whole
    tree = Tree()
    for part in parts:
        tree.add(part)
    assert tree.whole() == whole
    assert tree.whole() == whole


@given(LOGS, st.integers(1, 400), st.data())
@settings(max_examples=examples(60))
def test_ranges_are_put_together_in_any_grouping(data: bytes, step: int, chosen: st.DataObject) -> None:
    parts = in_ranges(data, step)
    while len(parts) > 1:
        at = chosen.draw(st.integers(0, len(parts) - 2))
        parts[at : at + 2] = [parts[at].merge(parts[at + 1])]
    assert parts == [found_in(data, document=False)] or not data


def test_a_range_in_which_lines_belong_together_says_so_instead_of_guessing() -> None:
    answer = {"role": "tool", "tool_call_id": "c", "content": "{}"}
    [found] = in_ranges(lines(trace(1), answer), 10_000)
    assert found.needs_order


def test_a_line_longer_than_the_range_belongs_to_the_one_in_which_it_begins() -> None:
    data = lines(trace(1), trace(2, "x" * 5_000), trace(3))
    assert [found.observations for found in in_ranges(data, 150)] == [2, 1]
