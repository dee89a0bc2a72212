"""Signed cursors."""

from __future__ import annotations

import string
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halflap.contract import Cursors, ErrorCode, InvalidQuery, Page, Turn

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = b"0123456789abcdef"
ITEMS = [f"item {number}" for number in range(25)]


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def cursor_of(cursors: Cursors, query: Any = "q", size: int = 10) -> str:
    found = cursors.page(ITEMS, cursor=None, size=size, query=query).pagination.next_cursor
    assert found is not None
    return found


def refused(cursors: Cursors, cursor: Any, query: Any = "q") -> None:
    with pytest.raises(InvalidQuery) as raised:
        cursors.page(ITEMS, cursor=cursor, size=10, query=query)
    assert raised.value.error.code == ErrorCode.INVALID_QUERY


@given(st.integers(0, 60), st.integers(1, 70), st.data())
def test_reading_all_pages_gives_every_item_once_in_order(count: int, size: int, data: st.DataObject) -> None:
    items = list(range(count))
    cursors = Cursors(KEY, max_page_size=data.draw(st.integers(1, 70)))
    ways: dict[str, Callable[[str | None], Page[int]]] = {
        "list": lambda cursor: cursors.page(items, cursor=cursor, size=size, query="q"),
        "offset": lambda cursor: by_offset(cursors.open(cursor, size=size, query="q")),
        "key": lambda cursor: by_key(cursors.open(cursor, size=size, query="q")),
    }

    def by_offset(turn: Turn) -> Page[int]:
        start = turn.position or 0
        return turn.page(items[start : start + turn.size + 1])

    def by_key(turn: Turn) -> Page[int]:
        left = [one for one in items if turn.position is None or one > turn.position]
        return turn.page(left, key=lambda one: one)

    way = ways[data.draw(st.sampled_from(sorted(ways)))]
    seen: list[int] = []
    cursor = None
    for _ in range(count + 1):
        page = way(cursor)
        assert page.pagination.page_size == len(page.results) <= min(size, cursors.max_page_size)
        seen += page.results
        cursor = page.pagination.next_cursor
        if not page.pagination.has_more:
            break
    assert seen == items


@given(st.data())
def test_any_changed_character_of_a_cursor_is_refused(data: st.DataObject) -> None:
    cursors = Cursors(KEY)
    cursor = cursor_of(cursors)
    at = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.sampled_from(string.printable).filter(lambda one: one != cursor[at]))
    refused(cursors, cursor[:at] + other + cursor[at + 1 :])


@given(st.one_of(st.text(), st.binary().map(lambda raw: raw.decode("latin-1"))))
def test_any_other_text_is_refused(text: str) -> None:
    refused(Cursors(KEY), text)


def test_a_cursor_of_another_key_or_query_is_refused() -> None:
    cursors = Cursors(KEY)
    refused(cursors, cursor_of(Cursors(b"another key of 16")))
    cursor = cursor_of(cursors, ["orders", "CUST-001"])
    refused(cursors, cursor, ["orders", "CUST-002"])
    assert cursors.page(ITEMS, cursor=cursor, size=10, query=["orders", "CUST-001"]).results[0] == "item 10"


def test_an_expired_cursor_is_refused() -> None:
    clock = Clock()
    cursors = Cursors(KEY, lifetime=timedelta(minutes=5), clock=clock)
    cursor = cursor_of(cursors)
    clock.now += 299
    assert cursors.page(ITEMS, cursor=cursor, size=5, query="q").results
    clock.now += 1
    refused(cursors, cursor)


def test_mistakes_of_the_author_are_reported() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        Cursors(b"short")
    with pytest.raises(TypeError, match="query"):
        Cursors(KEY).page(ITEMS, cursor=None, size=1, query=object())
    for key in ("x" * 5_000, float("nan"), date(2026, 1, 5), b"x"):
        with pytest.raises(ValueError, match="key"):
            Cursors(KEY).open(None, size=1, query="q").page([key, key], key=lambda one: one)
