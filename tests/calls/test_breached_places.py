from __future__ import annotations

import pytest

from halflap.calls.breaches import _general


@pytest.mark.parametrize(
    ("path", "general"),
    [
        ("", ""),
        ("orders[12].total", "orders[].total"),
        ('prices["john.secret@example.com"]', "prices[key]"),
        ('["+49 170 5551234"].v', "[key].v"),
        ('a["first name"]', 'a["first name"]'),
        ("result[0][1]", "result[][]"),
        ("by_id.550e8400-e29b-41d4-a716-446655440000.x", "by_id.[key].x"),
    ],
)
def test_a_place_is_written_without_the_data_in_it(path: str, general: str) -> None:
    assert _general(path) == general
