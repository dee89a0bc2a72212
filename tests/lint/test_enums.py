"""Values that a description lists: which are all that there are, and can be an enum."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.lint.sample import record, tool
from lint.making import found, taking


@pytest.mark.parametrize(
    ("said", "values"),
    [
        ("One of: 'open', 'done' or 'all'.", ["open", "done", "all"]),
        ('Valid intervals: "1d", "5d", "1wk"', ["1d", "5d", "1wk"]),
        ("Either `asc` or `desc`.", ["asc", "desc"]),
        ("One of: fast, slow, auto.", ["fast", "slow", "auto"]),
        ("Must be one of fast, slow, auto", ["fast", "slow", "auto"]),
        ("Mode (fast|slow|auto)", ["fast", "slow", "auto"]),
        ("How to sort. One of: asc or desc (default: asc).", ["asc", "desc"]),
        ("Sort order (one of 'asc', 'desc')", ["asc", "desc"]),
        ('The order. Defaults to "asc". Valid orders: "asc", "desc"', ["asc", "desc"]),
        ("One of 'asc' or 'desc', and defaults to 'asc'.", ["asc", "desc"]),
    ],
)
def test_values_that_a_description_lists_can_be_an_enum(said: str, values: list[str]) -> None:
    (one,) = found("enum-in-prose", taking("mode", "string", said))
    assert one.patch == {"enum": values}


@pytest.mark.parametrize(
    "said",
    [
        "Whether to list local branches ('local') or remote ones ('remote').",
        "Do not leave it empty: one of 'asc', 'desc'.",
        "Allowed values: 'a', 'b', 'c:<number>'",
        "Possible values: 1-10, auto",
        "One of 'a' or 'b' (case-insensitive)",
        "Valid values are 'a' and 'b', optionally prefixed with '-'",
        "one of 'json', 'csv' — or null for none",
        "One of: a, b, null.",
        "One of: a, b. Defaults to c.",
        "Usually one of 'a', 'b'.",
        "The order. Defaults to 'c'. One of: 'a', 'b'.",
    ],
)
def test_where_a_description_says_more_than_the_values_nothing_is_to_be_put_into_the_schema(
    said: str,
) -> None:
    (one,) = found("enum-in-prose", taking("mode", "string", said))
    assert one.patch is None
    assert "if that is so few" in one.fix


@pytest.mark.parametrize(
    ("more", "is_sure"),
    [
        ({"examples": ["z"]}, False),
        ({"examples": ["fast", None]}, True),
        ({"example": "z"}, False),
        ({"maxLength": 3}, False),
        ({"minLength": 5}, False),
        ({"minLength": 1, "maxLength": 4}, True),
        ({"format": "uri"}, False),
    ],
)
def test_values_that_the_schema_does_not_allow_or_has_others_beside_are_no_enum(
    more: Any, is_sure: bool
) -> None:
    (one,) = found("enum-in-prose", taking("mode", "string", "One of: fast, slow.", **more))
    assert (one.patch is not None) is is_sure


@pytest.mark.parametrize(
    "said",
    [
        "At least one of 'a' or 'b'",
        "The key (e.g. 'Enter', 'a').",
        "One of the tables, such as 'orders' or 'customers'.",
        "Options include 'cafe', 'bar', etc.",
        "Language code.",
        "Must be 'x'.",
        "One of the tables, views or indexes.",
        "One of name, email or phone number.",
        "One of our shops.",
        "The value (string|null).",
        "One of: orders, customers, etc.",
        "Not one of 'a' or 'b'.",
        "Must not be one of: admin, root.",
        "Anything except one of 'a', 'b'.",
        "Can't be either 'a' or 'b'.",
        "Possible values: 'a', 'b', or any URL",
        "One of 'a' or 'b' (short) or a name of your own.",
        "One of: fast, slow (or a number).",
        "One of: 'a', 'b'. Other values are taken as they are.",
        "Comma-separated, possible values: 'a', 'b'.",
        "One or more of these. Options: a, b, c.",
    ],
)
def test_examples_of_values_are_no_list_of_them(said: str) -> None:
    assert found("enum-in-prose", taking("mode", "string", said)) == []


def test_a_default_that_is_not_among_the_values_says_that_they_are_not_all() -> None:
    said = "One of: fast, slow."
    assert found("enum-in-prose", taking("mode", "string", said, default="fast"))
    assert not found("enum-in-prose", taking("mode", "string", said, default="auto"))


def test_a_parameter_that_may_be_null_may_be_so_after_the_enum() -> None:
    mode = {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "One of: fast, slow."}
    (one,) = found("enum-in-prose", tool("do_it", record(mode=mode)))
    assert one.patch == {"enum": ["fast", "slow", None]}
