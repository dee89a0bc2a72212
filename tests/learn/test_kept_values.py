"""Values that are kept with `learning.values` only, and secrets among them."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from halflap.calls import Redactor
from halflap.learn import Learned, infer, merge, to_json
from learn.anything import OBSERVED

SECRETS = ("a@b.de", "x y", "2024-01-01")
REDACT = Redactor(SECRETS)


@given(OBSERVED)
def test_removing_values_equals_learning_without_them(
    observed: list[tuple[Any, int]],
) -> None:
    values, digests = [value for value, _ in observed], [digest for _, digest in observed]
    kept = Learned(infer(values, digests, keep_values=True))
    plain = Learned(infer(values, digests))
    assert kept.without_values() == plain
    assert not plain.has_values
    assert kept.has_values == (kept != plain)


def test_one_secret_keeps_all_values_of_a_field_out_in_any_order() -> None:
    values = [REDACT.value({"by": who}) for who in ("ann", "it is x y", "ann")]
    whole = infer(values, keep_values=True)
    assert whole.root.records[None].keys["by"].place.values is None
    apart = [infer([value], keep_values=True) for value in values]
    assert to_json(merge(*apart)) == to_json(merge(*reversed(apart))) == to_json(whole)


def test_a_key_with_a_secret_is_data() -> None:
    shape = infer([REDACT.value({"a x y": {"a": 1}, "other": 2})], keep_values=True)
    assert shape.root.records[None].keys.keys() == {"other"}
