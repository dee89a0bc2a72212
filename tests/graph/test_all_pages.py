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


def played(takes: str, gives: Any, answer: Callable[..., Any], want: str = "get_gizmo", **have: Any) -> Play:
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

    def test_whoever_says_where_to_begin_without_how_many_may_mean_something_else(self) -> None:
        graph = graph_of(
            tool("x", "list_gizmos", "from:integer", {"gizmos": [{"gizmo_id": str}], "total": int})
        )
        assert graph.edge("mcp__x__list_gizmos", "mcp__x__list_gizmos") is None


PART: list[tuple[str, Any, Any, Any]] = [
    ("", {"has_more": bool}, {"has_more": True}, {"has_more": False}),
    ("", {"is_last": bool}, {"is_last": False}, {"is_last": True}),
    (
        "",
        {"meta": {"has_next_page": bool}},
        {"meta": {"has_next_page": True}},
        {"meta": {"has_next_page": False}},
    ),
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
                ValueError, match=r"mcp__x__list_gizmos (returned 5 of 7|says .* there is more)"
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
