"""Values that are kept with `learning.values` only, and secrets among them."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
from hypothesis import given, settings

from halflap.calls import Redactor
from halflap.learn import Learned, Unkept, infer, merge, schema_of, to_json, with_unkept
from learn.anything import OBSERVED
from support import examples

SECRETS = ("a@b.de", "x y", "2024-01-01")
REDACT = Redactor(SECRETS)


@given(OBSERVED)
def test_removing_values_equals_learning_without_them(
    observed: list[tuple[Any, int]],
) -> None:
    values, digests = [value for value, _ in observed], [digest for _, digest in observed]
    kept = Learned(structured=infer(values, digests, keep_values=True))
    plain = Learned(structured=infer(values, digests))
    assert kept.without_values() == plain
    assert not plain.has_values
    assert kept.has_values == (kept != plain)


@settings(max_examples=examples(150))
@given(OBSERVED)
def test_secrets_change_nothing_but_the_kept_values(observed: list[tuple[Any, int]]) -> None:
    values, digests = [value for value, _ in observed], [digest for _, digest in observed]
    kept = infer([with_unkept(value, _hidden(value)) for value in values], digests, keep_values=True)
    assert Learned(structured=kept).without_values().structured == infer(values, digests)


def _hidden(value: Any) -> Any:
    """Take every text out, and no key."""
    if isinstance(value, str):
        return "[redacted]"
    if isinstance(value, dict):
        return {key: _hidden(member) for key, member in value.items()}
    return [_hidden(one) for one in value] if isinstance(value, list) else value


def test_one_secret_keeps_all_values_of_a_field_out_in_any_order() -> None:
    values = [{"by": "ann"}, {"by": Unkept("bob")}, {"by": "ann"}]
    whole = infer(values, keep_values=True)
    assert whole.root.records[None].keys["by"].place.values is None
    apart = [infer([value], keep_values=True) for value in values]
    assert to_json(merge(*apart)) == to_json(merge(*reversed(apart))) == to_json(whole)


def test_a_key_with_a_secret_is_data() -> None:
    value = {"hunterkey": {"a": 1}, "other": 2}
    shape = infer([with_unkept(value, Redactor(["hunterkey"]).value(value))], keep_values=True)
    assert "hunterkey" not in str(to_json(shape))
    assert jsonschema_rs.validator_for(schema_of(shape, enums=True)).is_valid(value)
