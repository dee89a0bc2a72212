"""From shapes to JSON Schema."""

from __future__ import annotations

import json
import random
import string
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halflap.learn import infer, schema_of
from learn.anything import OBSERVED, VARIED
from support import examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from halflap.learn import Shape

EXAMPLES = settings(
    max_examples=examples(100),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def validator(shape: Shape) -> jsonschema_rs.Validator:
    schema = schema_of(shape)
    jsonschema_rs.meta.validate(schema)
    json.dumps(schema)
    return jsonschema_rs.validator_for(schema, validate_formats=True)


def plain(values: list[Any]) -> dict[str, Any]:
    schema = schema_of(infer(values))
    del schema["$schema"], schema["x-halflap"]
    return schema


@pytest.mark.usefixtures("small_bounds")
@EXAMPLES
@given(OBSERVED)
def test_every_observed_value_fits_at_every_bound(observed: list[tuple[Any, int]]) -> None:
    shape = infer(*zip(*observed, strict=True), keep_values=True) if observed else infer([])
    fits = validator(shape)
    assert all(fits.is_valid(value) for value, _ in observed)


@pytest.mark.usefixtures("crowds")
@settings(EXAMPLES, max_examples=examples(400))
@given(VARIED, st.sampled_from([1, 3]))
def test_every_observed_value_fits_a_crowded_variant(observed: list[Any], times: int) -> None:
    fits = validator(infer(observed * times))
    assert all(fits.is_valid(value) for value in observed)


@pytest.mark.parametrize(
    ("values", "schema"),
    [
        ([255], {"type": "integer"}),
        ([255, 255.0], {"type": "number"}),
        ([None], {"type": "null"}),
        (["x", None], {"type": ["null", "string"]}),
        ([[1], ["x"]], {"type": "array", "items": {"type": ["integer", "string"]}}),
        (["2024-02-29"], {"type": "string", "format": "date"}),
        (["2024-02-29", "2023-02-29"], {"type": "string"}),
        ([], {}),
    ],
)
def test_types_and_formats(values: list[Any], schema: dict[str, Any]) -> None:
    assert plain(values) == schema


def some_of(fields: dict[str, Any], presence: float, count: int, seed: int = 1) -> list[dict[str, Any]]:
    """Make records in which each field is there or not."""
    chance = random.Random(seed)
    return [
        {"id": number, **{name: value for name, value in fields.items() if chance.random() < presence}}
        for number in range(count)
    ]


LETTERS = "abcdefghijklmnopqrstuvwxyz"
WIDE = [f"{one}_{other}" for one in LETTERS[:12] for other in LETTERS[:12]]
PERSON = {"id": 1, "name": "Ada", "email": "ada@example.com"}
RECORDS: dict[str, dict[str, Any]] = {
    "objects that share one key": {
        name: {"id": 1, f"of_{name}": "x"} for name in ("billing", "shipping", "owner", "buyer")
    },
    "many objects that are all alike": dict.fromkeys((f"{letter}_by" for letter in LETTERS), PERSON),
    "a hundred fields of several types": {
        name: "x" if number % 9 else number for number, name in enumerate(WIDE)
    },
}


@pytest.mark.parametrize("fields", RECORDS.values(), ids=RECORDS)
@pytest.mark.parametrize(("presence", "count"), [(0.5, 12), (0.1, 60)])
def test_records_with_optional_fields_stay_records(
    fields: dict[str, Any], presence: float, count: int
) -> None:
    values = some_of(fields, presence, count)
    shape = infer(values, range(count))
    schema = schema_of(shape)
    assert "additionalProperties" not in schema
    assert schema["properties"].keys() == {name for value in values for name in value}
    assert all(map(validator(shape).is_valid, values))


KEYS_OF_MAPS: dict[str, Callable[[random.Random], str]] = {
    "ids": lambda chance: f"wallet_{chance.randrange(10**6, 10**7)}",
    "random ids": lambda chance: f"cus_{''.join(chance.choices(string.ascii_letters + string.digits, k=14))}",
    "addresses": lambda chance: f"{''.join(chance.choices(LETTERS, k=5))}@example.com",
}


@pytest.mark.parametrize("make", KEYS_OF_MAPS.values(), ids=KEYS_OF_MAPS)
def test_maps_keyed_by_data_are_maps(make: Callable[[random.Random], str]) -> None:
    chance = random.Random(2)
    values = [
        {"methods": {make(chance): {"brand": "visa", "last": "7447"} for _ in range(3)}} for _ in range(60)
    ]
    shape = infer(values, range(60))
    methods = schema_of(shape)["properties"]["methods"]
    # Of random codes a few look like names.
    assert len(methods.get("properties", {})) == 0
    assert methods["additionalProperties"]["required"] == ["brand", "last"]
    assert all(map(validator(shape).is_valid, values))


def test_very_many_alike_keys_are_a_map_except_plain_values_that_are_always_there() -> None:
    optional = plain(some_of(dict.fromkeys(WIDE, 1.5), 0.5, 12))
    assert optional["properties"].keys() == {"id"}
    assert optional["additionalProperties"] == {"type": "number"}
    assert plain([dict.fromkeys(WIDE, PERSON)])["additionalProperties"]["required"] == sorted(PERSON)
    assert plain([dict.fromkeys(WIDE, 1.5)] * 3)["required"] == sorted(WIDE)


def test_variants_are_told_apart_by_a_tag() -> None:
    values = [{"type": "a", "x": 1}, {"type": "b", "y": "z"}] * 5
    schema = plain(values)
    assert [branch["properties"]["type"] for branch in schema["anyOf"]][:2] == [
        {"const": "a"},
        {"const": "b"},
    ]
    fits = validator(infer(values))
    assert all(fits.is_valid(value) for value in values)
    assert not fits.is_valid({"type": "a", "y": "z"})


def test_a_tag_value_not_seen_yet_leaves_open_what_else_there_is() -> None:
    fits = validator(infer([{"type": "a", "id": 1, "x": 1}, {"type": "b", "id": 2, "y": "z"}]))
    assert fits.is_valid({"type": "c", "id": 3, "new": {}})
    assert not fits.is_valid({"type": "c", "id": "3"})
    assert not fits.is_valid({"type": "c"})
    assert not fits.is_valid({"type": 7, "id": 3})
    closed = validator(infer([{"ok": True, "id": 1, "x": 1}, {"ok": False, "id": 2, "y": "z"}]))
    assert not closed.is_valid({"ok": "maybe", "id": 3})


def test_a_rare_variant_shares_what_is_known_of_the_others() -> None:
    paid = [{"status": "paid", "id": n, "note": "x" if n % 3 else None} for n in range(30)]
    failed = [{"status": "failed", "id": n, "note": None, "error": {"code": n}} for n in range(4)]
    fits = validator(infer(paid + failed, range(34)))
    assert fits.is_valid({"status": "failed", "id": 1, "note": "y", "error": {"code": 2}})
    assert not fits.is_valid({"status": "failed", "id": "1", "note": "y", "error": {"code": 2}})
    assert not fits.is_valid({"status": "failed", "id": 1, "note": "y"})


def test_chance_makes_no_variants() -> None:
    for seed in range(20):
        chance = random.Random(seed)
        values = [
            {"state": chance.choice(["CA", "NY"]), **{key: chance.choice([None, "x"]) for key in LETTERS}}
            for _ in range(8)
        ]
        assert "anyOf" not in plain(values)


def test_a_tag_that_is_missing_in_some_objects_keeps_variants_apart() -> None:
    person = {"object": "user", "id": "a", "type": "person", "person": {"email": "x"}}
    fits = validator(infer([person, {"object": "user", "id": "b"}] * 6))
    assert not fits.is_valid({**person, "person": {}})
    fits = validator(infer([{"type": "a", "x": 1}, {"type": "b", "x": "z"}, {"x": True, "y": 1}]))
    assert not fits.is_valid({"x": "z"})


def test_a_status_that_changes_nothing_else_makes_no_variants() -> None:
    values = [{"status": status, "id": 1} for status in ("open", "paid", "shipped")]
    assert plain(values)["properties"]["status"] == {"type": "string"}


def test_repeated_strings_are_enumerated_only_where_values_are_kept() -> None:
    values = [{"seat": seat} for seat in ("aisle", "window") * 8]
    kept = schema_of(infer(values, range(16), keep_values=True))
    assert kept["properties"]["seat"]["enum"] == ["aisle", "window"]
    assert "aisle" not in json.dumps(schema_of(infer(values, range(16))))


def test_a_few_strings_are_enumerated_only_if_they_repeat_often_for_different_arguments() -> None:
    values = [{"login": login, "url": f"https://example.com/{login}"} for login in ("ann", "bob") * 8]
    of_few_calls = schema_of(infer(values[:10], range(10), keep_values=True))
    of_two_arguments = schema_of(infer(values, [1, 2] * 8, keep_values=True))
    assert "enum" not in json.dumps([of_few_calls, of_two_arguments])
    of_many = schema_of(infer(values, range(16), keep_values=True))
    assert [name for name, one in of_many["properties"].items() if "enum" in one] == ["login"]
