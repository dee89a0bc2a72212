"""Where declarations were broken is kept and told to everybody: no data stands in it."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.learn import is_name
from halflap.schema import Validator, try_compile

NUMBER: dict[str, Any] = {"type": "number"}


def test_a_key_that_is_not_allowed_is_named_if_it_is_a_name() -> None:
    row = {"properties": {"total": NUMBER, "first name": NUMBER}, "additionalProperties": False}
    validator = try_compile({"properties": {"orders": {"items": row}}})
    assert isinstance(validator, Validator)
    value = {"orders": [{"total": "x"}, {"discount": 1}, {"j@x.de": 1}, {"first name": "y"}]}
    assert [one.path for one in validator.problems(value, is_name=is_name)] == [
        *("orders[].total", "orders[].discount", "orders[][key]", 'orders[]["first name"]')
    ]


@pytest.mark.parametrize(
    ("schema", "value", "place"),
    [
        ({"additionalProperties": NUMBER}, {"alice": "secret"}, "[key]"),
        (
            {"properties": {"by": {"patternProperties": {".": NUMBER}}}},
            {"by": {"alice": "secret"}},
            "by[key]",
        ),
        (
            {"properties": {"rows": {"items": {"required": ["id"]}}}},
            {"rows": [{"id": 1}, {"alice": 2}]},
            "rows[].id",
        ),
        ({"propertyNames": {"maxLength": 3}}, {"alice": 1}, "[key]"),
        (
            {"additionalProperties": {"anyOf": [NUMBER, {"additionalProperties": NUMBER}]}},
            {"alice": {"alice": "s"}},
            "[key][key]",
        ),
        (
            {"anyOf": [{"additionalProperties": NUMBER}, {"properties": {"n": NUMBER}, "required": ["n"]}]},
            {"alice": "secret"},
            None,
        ),
        (
            {"oneOf": [{"properties": {"a": NUMBER}, "additionalProperties": False}, {"type": "array"}]},
            {"a": 1, "alice": "secret"},
            None,
        ),
        ({"additionalProperties": {"format": "date", "pattern": "^q"}}, {"alice": "secret"}, "[key]"),
    ],
)
def test_no_data_stands_in_where_and_what_was_expected(
    schema: dict[str, Any], value: Any, place: str | None
) -> None:
    validator = try_compile(schema)
    assert isinstance(validator, Validator)
    problems = validator.problems(value, is_name=is_name)
    assert problems
    told = [(one.path, one.expected) for one in problems]
    assert place in {None, told[0][0]}
    if not any(one.what == "unknown" for one in problems):
        assert "alice" not in str(told)
    assert "secret" not in str(told)
