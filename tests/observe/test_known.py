"""When what was learned is said as a type: where there is any confidence, or after three results."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.learn import Learned, infer
from halflap.observe import known_of
from halflap.store import ToolKey

KEY = ToolKey("s", "t", "h")
ALIKE: list[Any] = [{"a": 1}, {"a": 2}, {"a": 3}]


@pytest.mark.parametrize(
    ("values", "digests", "is_said"),
    [
        (ALIKE[:1], [1], False),
        # Of different arguments, and alike: there is some confidence.
        (ALIKE[:2], [1, 2], True),
        (ALIKE[:2], [1, 1], False),
        # Each brought something of its own: two say nothing of the next.
        ([{"a": 1}, {"b": 1}], [1, 2], False),
        (ALIKE, [1, 1, 1], True),
        ([{"a": 1}, {"b": 1}, {"c": 1}], [1, 2, 3], True),
    ],
)
def test_a_type_is_said_with_any_confidence_or_from_three_results_on(
    values: list[Any], digests: list[int], is_said: bool
) -> None:
    known = known_of(KEY, Learned(structured=infer(values, digests)))
    assert known is not None
    assert (known.type is not None) == is_said
    assert is_said == (known.confidence > 0 or len(values) >= 3)


@pytest.mark.parametrize(
    ("value", "has_media"),
    [
        ({"type": "image", "mimeType": "image/png"}, True),
        (["text", {"type": "resource", "uri": "file:///a"}], True),
        ({"type": "image", "width": 3}, False),
        ({"a": [1]}, False),
    ],
)
def test_blocks_that_are_not_text_are_told_apart_from_objects(value: Any, has_media: bool) -> None:
    known = known_of(KEY, Learned(structured=infer([value])))
    assert known is not None
    assert known.has_media == has_media
