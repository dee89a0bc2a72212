"""What is known of a tool, as a type and as a schema."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest

from halflap.learn import Learned, infer
from halflap.observe import known_of, observed_json, usage_note

ALIKE: list[Any] = [{"a": 1}, {"a": 2}, {"a": 3}]


@pytest.mark.parametrize(
    ("values", "digests", "has_type"),
    [
        (ALIKE[:1], [1], False),
        # Equal shapes for different arguments give some confidence.
        (ALIKE[:2], [1, 2], True),
        (ALIKE[:2], [1, 1], False),
        # Each has a key that the other lacks, so the next may have another.
        ([{"a": 1}, {"b": 1}], [1, 2], False),
        (ALIKE, [1, 1, 1], True),
        ([{"a": 1}, {"b": 1}, {"c": 1}], [1, 2, 3], True),
    ],
)
def test_a_type_is_shown_with_any_confidence_or_from_three_results_on(
    values: list[Any], digests: list[int], has_type: bool
) -> None:
    known = known_of(Learned(infer(values, digests)))
    assert known is not None
    assert (known.type is not None) == has_type
    assert has_type == (known.confidence > 0 or len(values) >= 3)


@pytest.mark.parametrize(
    ("value", "has_media"),
    [
        ({"type": "image", "mimeType": "image/png"}, True),
        (["text", {"type": "resource", "uri": "file:///a"}], True),
        ({"type": "image", "width": 3}, False),
        ({"a": [1]}, False),
    ],
)
def test_media_blocks_are_distinguished_from_objects(value: Any, has_media: bool) -> None:
    known = known_of(Learned(infer([value])))
    assert known is not None
    assert known.has_media == has_media


NAMES = [f"{one}{two}ing" for one in "abcdefghijkl" for two in "aeiouymnr"]


def test_a_very_large_schema_is_shown_shortened_and_kept_whole() -> None:
    deep = {name: {inner: {"kept": 1, "note": "x"} for inner in NAMES[:30]} for name in NAMES[:60]}
    known = known_of(Learned(infer([deep] * 2, range(2))))
    assert known is not None
    shown = observed_json(known)
    assert len(json.dumps(shown["observedSchema"])) <= 20_000 < len(json.dumps(known.schema))
    assert shown["observedSchema"]["properties"][NAMES[0]] == {
        "type": "object",
        "x-halflap": {"cut": ["depth"]},
    }
    assert jsonschema_rs.validator_for(shown["observedSchema"]).is_valid(deep)
    assert "deeper levels were left out" in usage_note(known)
