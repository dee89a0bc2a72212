"""Long lists: which tools are paged, and whether their results lead on."""

from __future__ import annotations

from typing import Any

import pytest

from halflap.lint import Seen
from halflap.lint.sample import TEXT, field, listed, record, tool
from halflap.schema.types import read_type
from lint.making import found, report_of

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
def test_only_what_goes_through_a_list_by_number_is_paged(takes: Any, rules: set[str]) -> None:
    paging = {one.rule for one in report_of(tool("list_notes", takes)).findings if "cursor" in one.rule}
    assert paging == rules


def test_a_page_in_an_envelope_or_under_pagination_is_seen() -> None:
    page = record(
        results=listed(TEXT), pagination=record(has_more=field("boolean", "Whether."), next_cursor=TEXT)
    )
    envelope = record("success", success=field("boolean", "Whether."), data=page)
    for gives in (page, envelope):
        rules = {one.rule for one in report_of(tool("list_notes", record(cursor=TEXT), gives)).findings}
        assert not rules & {"cursor-not-given", "paging-without-has-more"}


BY_NUMBER = {"paging-without-cursor", "paging-without-has-more"}
BY_CURSOR = {"cursor-not-given", "paging-without-has-more"}


@pytest.mark.parametrize(
    ("takes", "expected"),
    [
        (record(page=field("integer", "Page number, from 1.")), BY_NUMBER),
        (record(page=field("string", "Page number")), BY_NUMBER),
        (record(skip=INDEX, take=MANY), BY_NUMBER),
        ({"type": "object", "properties": {"from": INDEX, "size": MANY}}, BY_NUMBER),
        (record(start=INDEX, count=MANY), BY_NUMBER),
        (record(pagination=record(page=INDEX, limit=MANY)), BY_NUMBER),
        (record(params=record(pagination=record(page=INDEX, limit=MANY))), BY_NUMBER),
        (record(options=record(cursor=TEXT)), BY_CURSOR),
        (record(page=field("integer", "Which page of the PDF.")), set()),
        (record(start=INDEX), set()),
        (record(count=MANY), set()),
        (record(orders=listed(record(page=INDEX, limit=MANY))), set()),
    ],
)
def test_a_tool_that_returns_a_list_is_paged_in_many_ways(takes: Any, expected: set[str]) -> None:
    assert rules(tool("list_orders", takes, ITEMS)) == expected


@pytest.mark.parametrize(
    ("name", "takes", "gives"),
    [
        (
            "move_cursor",
            record(cursor=field("string", "Where the cursor is on the screen.")),
            record(ok=TEXT),
        ),
        ("list_windows", record(cursor=field("string", "Where the mouse cursor is.")), ITEMS),
        ("add_marker", record(marker=TEXT), record(ok=TEXT)),
        ("move_cursor", record(cursor=TEXT), None),
        ("read_pdf", record(page=INDEX), record(lines=listed(TEXT))),
        ("make_range", record(start=INDEX, count=MANY), record(sum=field("integer", "Of all."))),
        ("open_book", record(page=INDEX), None),
        ("read_file", record(offset=INDEX, limit=MANY), record(text=TEXT)),
        ("read_file", record(offset=INDEX, limit=MANY), None),
    ],
)
def test_a_place_on_a_screen_or_in_a_book_is_no_page_of_a_list(name: str, takes: Any, gives: Any) -> None:
    assert rules(tool(name, takes, gives)) == set()


@pytest.mark.parametrize(
    ("gives", "is_found"),
    [
        (record(orders=listed(record(total=field("number", "In EUR.")))), True),
        (record(orders=listed(record(amount=field("number", "In EUR.")))), True),
        (record(orders=listed(TEXT), total=field("number", "Of all of them, in EUR.")), True),
        (record(orders=listed(TEXT), total=field("number", "What they cost."), currency=TEXT), True),
        (record(orders=listed(TEXT), total=MANY), False),
        (record("result", result=listed(record(has_more=field("boolean", "Whether.")))), True),
    ],
)
def test_what_stands_in_an_item_or_is_a_sum_does_not_say_whether_there_is_more(
    gives: Any, is_found: bool
) -> None:
    one = tool("list_orders", record(page=INDEX, limit=MANY), gives)
    assert bool(found("paging-without-has-more", one)) is is_found


def test_a_next_within_an_item_leads_to_no_page() -> None:
    takes = record(cursor=TEXT)
    assert found("cursor-not-given", tool("list_notes", takes, record(notes=listed(record(next=TEXT)))))
    assert not found("cursor-not-given", tool("list_notes", takes, record(edges=listed(record(cursor=TEXT)))))


LEADING = {"has_more", "next_cursor"}


@pytest.mark.parametrize(
    ("gives", "where", "added"),
    [
        (ITEMS, ["pagination"], LEADING),
        (record(items=listed(TEXT), pagination=record(page=MANY)), ["pagination"], LEADING),
        (record(items=listed(TEXT), pageInfo=record(page=MANY)), ["pageInfo"], LEADING),
        (record(items=listed(TEXT), has_more=field("boolean", "Whether.")), [], {"next_cursor"}),
    ],
)
def test_a_cursor_is_offered_with_what_gives_it(gives: Any, where: list[str], added: set[str]) -> None:
    takes = record(filter=record(page=INDEX, limit=MANY))
    (one,) = found("paging-without-cursor", tool("list_it", takes, gives))
    assert one.path == ""
    assert one.patch is not None
    assert list(one.patch["inputSchema"]["properties"]["filter"]["properties"]) == ["cursor"]
    place = one.patch["outputSchema"]["properties"]
    for name in where:
        place = place[name]["properties"]
    assert set(place) == added


LEARNED = Seen(observations=5, confidence=0.5, type=read_type(ITEMS), schema=ITEMS, calls=5)


@pytest.mark.parametrize(
    ("gives", "seen"),
    [
        (None, LEARNED),
        ({"type": "array", "items": record(name=TEXT)}, Seen()),
        (record("result", result=listed(record(name=TEXT))), Seen()),
        ({"type": "object", "oneOf": [ITEMS, record(error=TEXT)]}, Seen()),
        (record(success=field("boolean", "Whether."), data=ITEMS), Seen()),
        (record(items=listed(TEXT), pagination=TEXT), Seen()),
    ],
)
def test_where_the_result_has_no_plain_place_for_it_no_cursor_is_offered(gives: Any, seen: Seen) -> None:
    one = tool("list_it", record(page=INDEX, limit=MANY), gives)
    (told,) = found("paging-without-cursor", one, seen={"list_it": seen})
    assert told.patch is None
    assert told.fix.startswith("Add a parameter `cursor` to list_it")
