"""Names of tools: what is refused, and what they could be called."""

from __future__ import annotations

import pytest

from halflap.config import LintConfig
from halflap.lint.sample import tool
from lint.making import found, report_of


@pytest.mark.parametrize(
    ("name", "told"),
    [("a.b c", "`.` a space"), ("a\n", "a line break"), ("a\tb", "a tab"), ("a\u3000b", "a space (U+3000)")],
)
def test_the_characters_that_are_refused_are_shown_as_such(name: str, told: str) -> None:
    (one,) = found("name-characters", tool(name))
    assert one.message.endswith(f"has characters that clients refuse: {told}.")


@pytest.mark.parametrize(
    ("name", "better"),
    [
        ("a.b", "a_b"),
        ("get order\n", "get_order"),
        ("größe", None),
        ("für_alle", "fur_alle"),
        ("订单", None),
        ("", None),
    ],
)
def test_a_name_is_offered_where_it_says_the_same(name: str, better: str | None) -> None:
    (one,) = found("name-characters", tool(name))
    assert one.patch == (None if better is None else {"name": better})
    assert (f"Rename it to `{better}`" if better else "Give it a name of its own") in one.fix


def test_no_two_tools_are_offered_one_name_nor_one_that_is_taken() -> None:
    names = ["a.b", "a b", "a/b", "ä", "ö", "a_b", "c.d"]
    offered = [one.patch and one.patch["name"] for one in found("name-characters", *map(tool, names))]
    assert offered == [None, None, None, "a", "o", "c_d"]
    (first, *_) = found("name-characters", *map(tool, names))
    assert "`a_b` would be more than one tool's" in first.fix


def test_one_of_anything_is_told_as_one() -> None:
    strict = LintConfig(max_name_length=20, max_description_bytes=50)
    long = {**tool("x" * 21), "description": "y" * 51}
    told = " ".join(one.fix for one in report_of(long, config=strict).findings)
    assert "by 1 character or more" in told
    assert "by 1 byte:" in told
