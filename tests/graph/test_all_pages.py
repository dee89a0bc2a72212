"""Programs read all pages, by whichever fields a server turns them; what they cannot read they do not print as the whole."""

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
    from halflap.graph.edge import Ports

GET = tool("x", "get_gizmo", "gizmo_id!", {"label": str})
ALL = [{"gizmo_id": str(at)} for at in range(5)]
EVERY = [str(at) for at in range(5)]
OR_NULL = ["string", "null"]


def played(takes: Any, gives: Any, answer: Callable[..., Any], want: str = "get_gizmo", **have: Any) -> Play:
    found: Ports = tool("x", "list_gizmos", takes, gives)
    graph = graph_of(found, GET)
    (first, *_) = plan(graph, want=[target_of(graph, want)], have=have).suggestions
    assert not first.missing
    answers = {"list_gizmos": answer, "get_gizmo": lambda gizmo_id: gizmo_id}
    return play(program(first), graph.tools.values(), answers)


class TestWherePagesAreTurned:
    REST: Any = {  # noqa: RUF012 -- a template
        "type": "object",
        "properties": {
            "count": {"type": "integer"},
            "next": {"type": OR_NULL},
            "previous": {"type": OR_NULL},
            "results": {
                "type": "array",
                "items": {"type": "object", "properties": {"gizmo_id": {"type": "string"}}},
            },
        },
    }

    @pytest.mark.parametrize("takes", ["limit:integer offset:integer", "page:integer"])
    def test_till_there_is_no_address_of_a_next_one(self, takes: str) -> None:
        def pages(offset: int = 0, page: int = 1) -> dict[str, Any]:
            at = offset or 2 * (page - 1)
            following = f"http://x/?at={at + 2}" if at + 2 < 5 else None
            return {"count": 5, "next": following, "previous": None, "results": ALL[at : at + 2]}

        made = played(takes, self.REST, pages)
        assert made.value == EVERY
        assert len(made.of("list_gizmos")) == 3

    def test_by_the_number_of_the_next_one(self) -> None:
        gives = {
            "type": "object",
            "properties": {
                "gizmos": {"type": "array", "items": {"type": "object", "properties": {"gizmo_id": {}}}},
                "page": {"type": "integer"},
                "next": {"type": ["integer", "null"]},
            },
        }

        def pages(page: int = 1) -> dict[str, Any]:
            return {
                "gizmos": ALL[2 * page - 2 : 2 * page],
                "page": page,
                "next": page + 1 if page < 3 else None,
            }

        assert played("page:integer", gives, pages).value == EVERY

    @pytest.mark.parametrize("takes", ["starting_after", "starting_after limit:integer", "after_id"])
    def test_by_the_id_of_the_last_item(self, takes: str) -> None:
        def pages(**after: str) -> dict[str, Any]:
            at = int(next(iter(after.values()), "-1")) + 1
            return {"data": ALL[at : at + 2], "has_more": at + 2 < 5}

        made = played(takes, {"data": [{"gizmo_id": str}], "has_more": bool}, pages)
        assert made.value == EVERY
        assert [list(one.values()) for one in made.of("list_gizmos")] == [[], ["1"], ["3"]]

    def test_by_the_last_id_that_the_page_names(self) -> None:
        def pages(after_id: str = "-1") -> dict[str, Any]:
            at = int(after_id) + 1
            return {"data": ALL[at : at + 2], "has_more": at + 2 < 5, "last_id": str(min(at + 1, 4))}

        gives = {"data": [{"gizmo_id": str}], "has_more": bool, "last_id": str}
        assert played("after_id", gives, pages).value == EVERY

    @pytest.mark.parametrize("takes", ["from:integer size:integer", "start:integer rows:integer"])
    def test_by_where_to_begin_and_how_many_there_are(self, takes: str) -> None:
        def pages(**at: int) -> dict[str, Any]:
            begin = next(iter(at.values()), 0)
            return {"hits": {"total": {"value": 5}, "hits": ALL[begin : begin + 2]}}

        gives = {"hits": {"total": {"value": int}, "hits": [{"gizmo_id": str}]}}
        assert played(takes, gives, pages).value == EVERY

    def test_by_what_is_both_returned_and_taken(self) -> None:
        def pages(after: str = "0") -> dict[str, Any]:
            at = int(after)
            return {
                "data": ALL[at : at + 2],
                "paging": {"cursors": {"after": str(at + 2) if at + 2 < 5 else None}},
            }

        gives = {"data": [{"gizmo_id": str}], "paging": {"cursors": {"after?": str}}}
        assert played("after", gives, pages).value == EVERY

    @pytest.mark.parametrize("ends", ["same", "empty"])
    def test_by_a_bookmark_which_is_on_every_page(self, ends: str) -> None:
        def pages(bookmark: str = "0") -> dict[str, Any]:
            at = int(bookmark)
            following = at + 2 if at + 2 < 5 or ends == "empty" else at
            return {"docs": ALL[at : at + 2], "bookmark": str(following)}

        made = played("bookmark", {"docs": [{"gizmo_id": str}], "bookmark": str}, pages)
        assert made.value == EVERY

    @pytest.mark.parametrize("kind", [str, {"gizmo_id": str}])
    def test_by_the_key_that_was_looked_at_last(self, kind: Any) -> None:
        is_text = kind is str

        def pages(exclusiveStartKey: Any = None) -> dict[str, Any]:  # noqa: N803 -- as it is called
            key = exclusiveStartKey
            at = 0 if key is None else int(key if is_text else key["gizmo_id"]) + 1
            items = ALL[at : at + 2]
            last = items[-1]["gizmo_id"] if is_text else items[-1]
            return {"Items": items, "LastEvaluatedKey": last if at + 2 < 5 else None, "Count": len(items)}

        gives = {"Items": [{"gizmo_id": str}], "LastEvaluatedKey?": kind, "Count": int}
        assert played({"exclusiveStartKey": kind}, gives, pages).value == EVERY

    @pytest.mark.parametrize("name", ["pages", "last_page", "nbPages"])
    def test_by_how_many_pages_there_are(self, name: str) -> None:
        def pages(page: int = 1) -> dict[str, Any]:
            return {"items": ALL[2 * page - 2 : 2 * page], "page": page, name: 3}

        made = played("page:integer", {"items": [{"gizmo_id": str}], "page": int, name: int}, pages)
        assert made.value == EVERY
        assert len(made.of("list_gizmos")) == 3

    def test_whoever_says_where_to_begin_without_how_many_may_mean_something_else(self) -> None:
        graph = graph_of(
            tool("x", "list_gizmos", "from:integer", {"gizmos": [{"gizmo_id": str}], "total": int})
        )
        assert graph.edge("mcp__x__list_gizmos", "mcp__x__list_gizmos") is None


def whole_or_parts(takes: Any, gives: Any, answer: Callable[..., Any], *calls: dict[str, int]) -> None:
    made = played(takes, gives, answer)
    assert made.value == EVERY
    assert made.of("list_gizmos") == list(calls)


class TestWhereNoPageSaysWhetherAnotherFollows:
    SIZE: Any = {"type": "integer", "default": 2}  # noqa: RUF012 -- a template
    GIVES: Any = {"gizmos": [{"gizmo_id": str}]}  # noqa: RUF012 -- a template

    def test_there_are_more_after_each_that_is_full(self) -> None:
        takes = {"page": {"type": "integer", "default": 1}, "per_page": self.SIZE}
        whole_or_parts(
            takes,
            self.GIVES,
            lambda page=1: {"gizmos": ALL[2 * page - 2 : 2 * page]},
            {},
            {"page": 2},
            {"page": 3},
        )

    def test_where_it_is_not_known_how_many_are_full_the_first_is(self) -> None:
        takes = "offset:integer limit:integer"
        whole_or_parts(
            takes, self.GIVES, lambda offset=0: {"gizmos": ALL[offset : offset + 3]}, {}, {"offset": 3}
        )

    def test_a_result_that_is_a_list_itself_grows(self) -> None:
        found = tool("x", "list_gizmos", {"offset": int, "limit": self.SIZE}, learned=[{"gizmo_id": str}])
        graph = graph_of(found, GET)
        (first, *_) = plan(graph, want=[target_of(graph, "get_gizmo")], have={}).suggestions

        def pages(offset: int = 0) -> Any:
            return ALL[offset : offset + 2]

        answers: Any = {"list_gizmos": pages, "get_gizmo": lambda gizmo_id: gizmo_id}
        made = play(program(first), graph.tools.values(), answers)
        assert made.value == EVERY
        assert made.of("list_gizmos") == [{}, {"offset": 2}, {"offset": 4}]

    def test_whoever_takes_no_notice_of_the_page_has_returned_all(self) -> None:
        whole_or_parts(
            "page:integer per_page:integer", self.GIVES, lambda **_: {"gizmos": ALL}, {}, {"page": 2}
        )

    def test_the_page_of_a_book_is_none_of_a_list(self) -> None:
        whole_or_parts("page:integer", self.GIVES, lambda: {"gizmos": ALL}, {})

    def test_the_number_that_is_asked_for_is_what_is_meant(self) -> None:
        takes = {"offset": int, "limit": self.SIZE}
        made = played(takes, self.GIVES, lambda limit: {"gizmos": ALL[:limit]}, limit=3)
        assert made.value == EVERY[:3]

    def test_of_the_top_ones_there_are_no_more(self) -> None:
        found = tool("x", "top_gizmos", {"offset": int, "limit": self.SIZE}, self.GIVES)
        assert graph_of(found).edge(found.tool, found.tool) is None

    def test_a_list_that_ends_at_its_limit_is_not_printed_as_the_whole(self) -> None:
        takes: Any = {"limit": self.SIZE}
        with pytest.raises(ValueError, match="list_gizmos returned 2, as many as its limit allows"):
            played(takes, self.GIVES, lambda: {"gizmos": ALL[:2]})
        assert played(takes, self.GIVES, lambda: {"gizmos": ALL[:1]}).value == EVERY[:1]
        assert played(takes, self.GIVES, lambda limit: {"gizmos": ALL[:limit]}, limit=2).value == EVERY[:2]


PART: list[tuple[str, Any, Any, Any]] = [
    ("", {"has_more": bool}, {"has_more": True}, {"has_more": False}),
    ("", {"is_last": bool}, {"is_last": False}, {"is_last": True}),
    (
        "",
        {"meta": {"has_next_page": bool}},
        {"meta": {"has_next_page": True}},
        {"meta": {"has_next_page": False}},
    ),
    ("limit:integer", {"truncated": bool}, {"truncated": True}, {"truncated": False}),
    ("", {"LastEvaluatedKey?": str}, {"LastEvaluatedKey": "a"}, {}),
    ("", {"page": int, "pages": int}, {"page": 1, "pages": 3}, {"page": 1, "pages": 1}),
    ("", {"next_page_url?": str}, {"next_page_url": "http://x"}, {"next_page_url": None}),
    ("", {"next_cursor?": str}, {"next_cursor": "abc"}, {"next_cursor": ""}),
    ("limit:integer", {"next?": str}, {"next": "http://x"}, {}),
    ("limit:integer", {"count": int}, {"count": 7}, {"count": 5}),
    ("limit:integer", {"total": int}, {"total": 7}, {"total": 5}),
    ("", {"total_count": int}, {"total_count": 7}, {"total_count": 5}),
    ("cursor", {"next_cursor?": str, "total": int}, {"total": 7}, {"total": 5}),
    ("cursor", {"next_cursor?": str, "has_more": bool}, {"has_more": True}, {"has_more": False}),
    (
        "offset:integer",
        {"has_more": bool, "total": int},
        {"has_more": False, "total": 7},
        {"has_more": False},
    ),
]


@pytest.mark.parametrize(("takes", "gives", "part", "whole"), PART)
class TestWhatSaysThatThereIsMore:
    def test_a_part_is_no_whole(self, takes: str, gives: Any, part: Any, whole: Any) -> None:
        assert part != whole
        for want in ("get_gizmo", "gizmo_id"):
            with pytest.raises(
                ValueError,
                match=r"mcp__x__list_gizmos (returned 5 of 7|returned 1 of 3 pages|says .* there is more)",
            ):
                played(
                    takes, {"gizmos": [{"gizmo_id": str}], **gives}, lambda **_: {"gizmos": ALL, **part}, want
                )

    def test_all_that_there_is_is_the_whole(self, takes: str, gives: Any, part: Any, whole: Any) -> None:
        assert part != whole
        made = played(takes, {"gizmos": [{"gizmo_id": str}], **gives}, lambda **_: {"gizmos": ALL, **whole})
        assert made.value == EVERY


def test_an_empty_page_ends_nothing_that_says_there_is_more() -> None:
    def pages(offset: int = 0) -> dict[str, Any]:
        return {"gizmos": ALL[offset:], "has_more": True}

    with pytest.raises(ValueError, match="there is more"):
        played("offset:integer", {"gizmos": [{"gizmo_id": str}], "has_more": bool}, pages)


def test_a_last_item_without_an_id_is_told() -> None:
    gives = {"data": [{"gizmo_id?": str}], "has_more": bool}
    with pytest.raises(
        ValueError, match="mcp__x__list_gizmos says that there is more, and its last item has no"
    ):
        played("starting_after", gives, lambda **_: {"data": [{}], "has_more": True})


def test_a_total_counts_the_list_that_is_asked_for_and_not_one_beside_it() -> None:
    gives = {"gizmos": [{"gizmo_id": str}], "warnings": [str], "total": int}
    with pytest.raises(ValueError, match="list_gizmos returned 5 of 7"):
        played("limit:integer", gives, lambda: {"gizmos": ALL, "warnings": [""] * 9, "total": 7})
    assert played("limit:integer", gives, lambda: {"gizmos": ALL, "warnings": [], "total": 5}).value == EVERY


def test_the_sum_of_a_bill_counts_nothing() -> None:
    gives = {"gizmos": [{"gizmo_id": str}], "total": int}
    assert played("", gives, lambda: {"gizmos": ALL, "total": 3990}).value == EVERY


def test_the_part_that_is_asked_for_is_what_is_meant() -> None:
    gives = {"gizmos": [{"gizmo_id": str}], "has_more": bool}
    made = played("limit:integer", gives, lambda limit: {"gizmos": ALL[:limit], "has_more": True}, limit=2)
    assert made.value == ["0", "1"]


def test_a_result_that_is_printed_as_it_came_says_itself_that_there_is_more() -> None:
    gives = {"gizmos": [{"gizmo_id": str}], "has_more": bool}
    came = {"gizmos": ALL, "has_more": True}
    assert played("", gives, lambda: came, "list_gizmos").value == came
