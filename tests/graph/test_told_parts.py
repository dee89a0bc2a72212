"""Where a page is told of in unusual ways, all are read, or the program ends with an error; and the whole tells what the last one does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.making import graph_of, tool
from graph.playing import play
from halflap.graph.emit import program
from halflap.graph.plan import plan
from halflap.graph.want import target_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from graph.playing import Play

ALL = [{"whale_id": str(at)} for at in range(7)]
EVERY = [str(at) for at in range(7)]
ITEMS = [{"whale_id": str}]
OR_NULL: Any = {"type": ["string", "null"]}


def played(takes: Any, gives: Any, answer: Callable[..., Any], want: str = "get_whale") -> Play:
    graph = graph_of(
        tool("x", "list_whales", takes, gives), tool("x", "get_whale", "whale_id!", {"length": str})
    )
    (first, *_) = plan(graph, want=[target_of(graph, want)], have={}).suggestions
    answers = {"list_whales": answer, "get_whale": lambda whale_id: whale_id}
    return play(program(first), graph.tools.values(), answers)


def described(kind: str, text: str) -> dict[str, str]:
    return {"type": kind, "description": text}


def beside(**told: Any) -> dict[str, Any]:
    items = {"type": "array", "items": {"type": "object", "properties": {"whale_id": {"type": "string"}}}}
    return {"type": "object", "properties": {"value": items, **told}}


class TestAnAddress:
    @staticmethod
    def pages(url: str = "o=0") -> dict[str, Any]:
        at = int(url.partition("=")[2])
        return {"value": ALL[at : at + 3], "next": f"https://x/y?o={at + 3}" if at + 3 < 7 else None}

    @pytest.mark.parametrize("said", ["Next page's address", "The address of the next page."])
    def test_is_taken_by_what_is_said_to_be_that_of_the_next_page(self, said: str) -> None:
        made = played({"url": described("string", said)}, beside(next=OR_NULL), self.pages)
        assert made.value == EVERY
        assert made.of("list_whales")[1] == {"url": "https://x/y?o=3"}

    @pytest.mark.parametrize("takes", ["", "url", "pod"])
    def test_that_nothing_takes_is_an_error(self, takes: str) -> None:
        with pytest.raises(ValueError, match="list_whales says by next that there is more than it returned"):
            played(takes, beside(next=OR_NULL), self.pages)

    def test_is_not_what_else_comes_next(self) -> None:
        made = played("", beside(next=OR_NULL), lambda: {"value": ALL, "next": "Tuesday"})
        assert made.value == EVERY


class TestRows:
    GIVES: Any = {"rows": ITEMS, "row_count": int}  # noqa: RUF012 -- a template

    @pytest.mark.parametrize("name", ["from_row", "startRow", "first_result", "skip_items"])
    @pytest.mark.parametrize("is_total", [True, False])
    def test_are_counted_whether_or_not_their_number_is_that_of_all(self, name: str, is_total: bool) -> None:
        def pages(**given: int) -> dict[str, Any]:
            at = given.get(name, 0)
            return {"rows": ALL[at : at + 3], "row_count": 7 if is_total else len(ALL[at : at + 3])}

        assert played({name: int}, self.GIVES, pages).value == EVERY

    def test_that_are_counted_from_1_are_not_read_twice(self) -> None:
        def pages(from_row: int = 1) -> dict[str, Any]:
            return {"rows": ALL[from_row - 1 : from_row + 2], "row_count": 7}

        with pytest.raises(ValueError, match="list_whales returned an item again"):
            played("from_row:integer", self.GIVES, pages)

    def test_that_came_all_at_once_are_all_from_whichever_number_they_are_counted(self) -> None:
        def pages(from_row: int = 1) -> dict[str, Any]:
            return {"rows": ALL[from_row - 1 :], "row_count": 7}

        assert played("from_row:integer", self.GIVES, pages).value == EVERY

    def test_that_are_missing_are_an_error(self) -> None:
        with pytest.raises(ValueError, match="list_whales returned 3 of 7"):
            played("from_row:integer", self.GIVES, lambda **_: {"rows": ALL[:3], "row_count": 7})


def test_a_page_that_is_said_to_be_counted_is_asked_for_by_trying() -> None:
    def pages(p: int = 1) -> dict[str, Any]:
        return {"whales": ALL[3 * p - 3 : 3 * p]}

    made = played({"p": described("integer", "page number, from 1")}, {"whales": ITEMS}, pages)
    assert made.value == EVERY
    assert made.of("list_whales") == [{}, {"p": 2}, {"p": 3}]


@pytest.mark.parametrize(
    "told", [{"has_more": True}, {"total_count": 7}, {"remaining": 4}, {"showing": "3 of 7"}]
)
def test_what_is_there_to_ask_for_what_is_new_leads_on_to_nothing_but_more_is_told(
    told: dict[str, Any],
) -> None:
    kinds = {name: type(value) for name, value in told.items()}
    gives = {"whales": ITEMS, "next_sync_token": str, **kinds}
    with pytest.raises(ValueError, match=r"there is more than it returned|3 of 7"):
        played("sync_token", gives, lambda **_: {"whales": ALL[:3], "next_sync_token": "s", **told})
    none = {bool: False, int: 0, str: ""}
    whole = {name: none[kind] for name, kind in kinds.items()}
    assert (
        played("sync_token", gives, lambda **_: {"whales": ALL, "next_sync_token": "s", **whole}).value
        == EVERY
    )


class TestATextThatSaysHowManyOfHowMany:
    @pytest.mark.parametrize("name", ["showing", "range", "summary", "pageInfo"])
    @pytest.mark.parametrize(
        "text",
        [
            "1-3 of 7", "3 of 7", "Showing 1 to 3 of 7 whales.", "1 \u2013 3 of 1,200", "Displaying 3 out of 7", "4-6 of 7",
        ],
    )  # fmt: skip
    def test_is_an_error_where_it_is_a_part(self, name: str, text: str) -> None:
        with pytest.raises(
            ValueError, match=f"list_whales says by {name} that there is more than it returned"
        ):
            played("", {"whales": ITEMS, name: str}, lambda: {"whales": ALL[:3], name: text})

    @pytest.mark.parametrize(
        "text",
        [
            "1-7 of 7",
            "7 of 7",
            "",
            "of",
            "page 1 of 2",
            "5 of 9",
            "7 of them",
            "7 of \u00b2",
            "1-2-3 of 9",
            "many",
        ],
    )
    def test_is_none_where_it_is_the_whole_or_something_else(self, text: str) -> None:
        assert (
            played("", {"whales": ITEMS, "showing": str}, lambda: {"whales": ALL, "showing": text}).value
            == EVERY
        )

    def test_may_be_no_text_at_all(self) -> None:
        gives = {"whales": ITEMS, "showing?": str}
        assert played("", gives, lambda: {"whales": ALL, "showing": None}).value == EVERY


class TestTheWhole:
    def test_tells_what_the_last_page_does(self) -> None:
        def pages(page: int = 0) -> dict[str, Any]:
            told = {"totalPages": 3, "number": page, "last": page == 2, "sort": {"by": "id", "at": page}}
            return {"content": ALL[3 * page : 3 * page + 3], "notes": [page], **told}

        sort = {"by": str, "at": int}
        gives = {
            "content": ITEMS,
            "notes": [int],
            "totalPages": int,
            "number": int,
            "last": bool,
            "sort": sort,
        }
        made = played("page:integer", gives, pages, "list_whales").value
        assert made.pop("content") == ALL
        assert (made["number"], made["last"], made["sort"]) == (2, True, {"by": "id", "at": 2})

    def test_keeps_what_the_last_page_has_not(self) -> None:
        def pages(cursor: str = "0") -> dict[str, Any]:
            at = int(cursor)
            on = {"next_cursor": str(at + 3), "pod": "P"} if at + 3 < 7 else {"pod": None}
            return {"whales": ALL[at : at + 3], **on, "meta": {"at": at} if at < 6 else None}

        gives = {"whales": ITEMS, "next_cursor?": str, "pod?": str, "meta?": {"at": int}}
        made = played("cursor", gives, pages, "list_whales").value
        assert made == {"whales": ALL, "next_cursor": None, "pod": None, "meta": {"at": 3}}
