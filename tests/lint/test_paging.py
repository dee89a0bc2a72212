"""The rules about paging."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.lint.sample import TEXT, field, listed, record, tool
from lint.making import report_of

INDEX, MANY = field("integer", "Which."), field("integer", "How many.")
ITEMS = record(items=listed(TEXT))
PAGING = {"paging-without-cursor", "cursor-not-given", "paging-without-has-more"}


def rules(one: Any) -> set[str]:
    return {each.rule for each in report_of(one).findings} & PAGING


@pytest.mark.parametrize(
    ("takes", "rules"),
    [
        (
            record(page=field("integer", "Which."), limit=field("integer", "How many.")),
            {"paging-without-cursor"},
        ),
        (
            record(offset=field("integer", "Which."), pageSize=field("integer", "How many.")),
            {"paging-without-cursor"},
        ),
        (record(offset=field("integer", "The first byte.")), set()),
        (record(limit=field("integer", "How many.")), set()),
        (record(page=TEXT, limit=field("integer", "How many.")), set()),
        (record(cursor=TEXT, page=field("integer", "Which."), limit=field("integer", "How many.")), set()),
    ],
)
def test_offset_paging_is_recognised(takes: Any, rules: set[str]) -> None:
    paging = {one.rule for one in report_of(tool("list_notes", takes)).findings if "cursor" in one.rule}
    assert paging == rules


def test_a_page_inside_an_envelope_is_recognised() -> None:
    page = record(
        results=listed(TEXT), pagination=record(has_more=field("boolean", "Whether."), next_cursor=TEXT)
    )
    envelope = record("success", success=field("boolean", "Whether."), data=page)
    for gives in (page, envelope):
        rules = {one.rule for one in report_of(tool("list_notes", record(cursor=TEXT), gives)).findings}
        assert not rules & {"cursor-not-given", "paging-without-has-more"}


BY_NUMBER = {"paging-without-cursor", "paging-without-has-more"}


@pytest.mark.parametrize(
    ("takes", "expected"),
    [
        (record(page=field("integer", "Page number, from 1.")), BY_NUMBER),
        (record(page=field("string", "Page number")), BY_NUMBER),
        (record(skip=INDEX, take=MANY), BY_NUMBER),
        ({"type": "object", "properties": {"from": INDEX, "size": MANY}}, BY_NUMBER),
    ],
)
def test_common_paging_parameters_are_recognised(takes: Any, expected: set[str]) -> None:
    assert rules(tool("list_orders", takes, ITEMS)) == expected
