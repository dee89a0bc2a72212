"""Where declarations were broken is kept and told to everybody: no data stands in it."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.calls import breached_place
from halflap.core.errors import ArgumentProblem
from halflap.schema import Validator, declared_names, general_path, try_compile

NAMES = frozenset({"orders", "total", "prices", "first name", "result", "by_id", "x", "a"})
NUMBER: dict[str, Any] = {"type": "number"}


@pytest.mark.parametrize(
    ("path", "general"),
    [
        ("", ""),
        ("orders[12].total", "orders[].total"),
        ('prices["john.secret@example.com"]', "prices[key]"),
        ("prices.alice", "prices[key]"),
        ('["+49 170 5551234"].x', "[key].x"),
        ('a["first name"]', 'a["first name"]'),
        ("result[0][1]", "result[][]"),
        ("by_id.550e8400-e29b-41d4-a716-446655440000.x", "by_id[key].x"),
        ('prices["a\\"]b[0].c"].x', "prices[key].x"),
        (f'prices["{"y" * 200}…].x', "prices[key].x"),
        ('prices["John Smith of 12 Elm', "prices[key]"),
    ],
)
def test_a_place_is_written_without_the_data_in_it(path: str, general: str) -> None:
    assert general_path(path, NAMES) == general


def test_a_key_that_is_not_allowed_is_named_if_it_is_a_name() -> None:
    for name, place in (("discount", "orders[].discount"), ('["j@x.de"]', "orders[][key]")):
        path = f"orders[3]{name}" if name.startswith("[") else f"orders[3].{name}"
        assert breached_place(ArgumentProblem(path, "", "", "unknown"), NAMES) == place
    assert breached_place(ArgumentProblem("orders[3].discount", "", ""), NAMES) == "orders[][key]"


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
    problems = validator.problems(value, without_data=True)
    assert problems
    told = [(breached_place(one, declared_names(schema)), one.expected) for one in problems]
    assert place in {None, told[0][0]}
    if not any(one.what == "unknown" for one in problems):
        assert "alice" not in str(told)
    assert "secret" not in str(told)
