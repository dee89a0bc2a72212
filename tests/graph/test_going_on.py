"""Where a page ended and where the next begins are found by their words together; and what says that there is more ends it."""

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

ALL = [{"gizmo_id": str(at)} for at in range(7)]
EVERY = [str(at) for at in range(7)]
ITEMS = [{"gizmo_id": str}]
OR_NULL: Any = {"type": "string", "default": None}


def played(takes: Any, gives: Any, answer: Callable[..., Any], name: str = "list_gizmos") -> Play:
    graph = graph_of(tool("x", name, takes, gives), tool("x", "get_gizmo", "gizmo_id!", {"label": str}))
    (first, *_) = plan(graph, want=[target_of(graph, "get_gizmo")], have={}).suggestions
    answers = {name: answer, "get_gizmo": lambda gizmo_id: gizmo_id}
    return play(program(first), graph.tools.values(), answers)


def part(given: dict[str, str]) -> tuple[list[dict[str, str]], str | None]:
    """Give three items from where a call goes on, and where the next one does."""
    at = int(next(iter(given.values()), "0"))
    return ALL[at : at + 3], str(at + 3) if at + 3 < len(ALL) else None


def envelope(**given: str) -> Any:
    items, after = part(given)
    return {"success": True, "data": {"gizmos": items}, "meta": {"cursor": {"next": after}}}


def inside(**given: str) -> Any:
    items, after = part(given)
    return {"reply": {"items": items, "page": {"token": after}}}


def resuming(**given: str) -> Any:
    # Where it ended is told at the end, too: `complete` says that there is no more.
    items, after = part(given)
    return {"objs": items, "resume": after or "7", "complete": after is None}


def flat(name: str) -> Callable[..., Any]:
    def answer(**given: str) -> Any:
        items, after = part(given)
        return {"rows": items, name: after}

    return answer


ENVELOPE = {"success": bool, "data": {"gizmos": ITEMS}, "meta": {"cursor": {"next": OR_NULL}}}
INSIDE = {"reply": {"items": ITEMS, "page": {"token": OR_NULL}}}
RESUMING = {"objs": ITEMS, "resume": str, "complete": bool}
DESCRIBED = {
    "beginning": {"type": "string", "description": "To get the next page, the tail_mark of the one before."}
}


@pytest.mark.parametrize(
    ("takes", "gives", "answer"),
    [
        ("cursor", ENVELOPE, envelope),
        ("pageToken", INSIDE, inside),
        ("resume", RESUMING, resuming),
        ("batch", {"rows": ITEMS, "next_batch": OR_NULL}, flat("next_batch")),
        ("since_id", {"rows": ITEMS, "last_id": OR_NULL}, flat("last_id")),
        ("after_gizmo_id", {"rows": ITEMS, "last_gizmo_id": OR_NULL}, flat("last_gizmo_id")),
        ("from_key", {"rows": ITEMS, "next_key": OR_NULL}, flat("next_key")),
        (DESCRIBED, {"rows": ITEMS, "tail_mark": OR_NULL}, flat("tail_mark")),
        (DESCRIBED, {"rows": ITEMS, "beginning": OR_NULL}, flat("beginning")),
    ],
)
def test_all_pages_are_read(takes: Any, gives: Any, answer: Any, request: pytest.FixtureRequest) -> None:
    made = played(takes, gives, answer)
    assert made.value == EVERY
    assert len(made.of("list_gizmos")) == 3, request.node.name


def test_an_empty_page_is_the_last_whatever_it_calls_the_last_id() -> None:
    def answer(since_id: str = "0") -> Any:
        at = int(since_id)
        return {"rows": ALL[at : at + 3], "last_id": str(at + 3)}

    assert played("since_id", {"rows": ITEMS, "last_id": str}, answer).value == EVERY


@pytest.mark.parametrize(
    ("takes", "gives"),
    [
        ("date", {"rows": ITEMS, "next_date": str}),
        ("step:integer", {"rows": ITEMS, "next_step": int}),
        ("status", {"rows": ITEMS, "status": str}),
        ("from_name", {"rows": ITEMS, "last_name": str}),
        ("day", {"rows": ITEMS, "next_slot": {"type": "string", "format": "date"}}),
        ("batch!", {"rows": ITEMS, "next_batch": str}),
        ("batch:integer", {"rows": ITEMS, "next_batch": {"label": str}}),
        ("cursor", {"rows": [{"gizmo_id": str, "cursor": {"next": str}}]}),
    ],
)
def test_what_there_is_a_next_one_of_anyway_is_no_page(takes: str, gives: Any) -> None:
    graph = graph_of(tool("x", "list_gizmos", takes, gives))
    assert graph.edge("mcp__x__list_gizmos", "mcp__x__list_gizmos") is None


def test_what_stands_beside_the_data_of_an_envelope_feeds_nobody_else() -> None:
    gives = {"success": bool, "data": {"gizmos": ITEMS}, "meta": {"widget_id": str}}
    graph = graph_of(tool("x", "list_gizmos", "", gives), tool("x", "get_widget", "widget_id!", {"a": str}))
    assert graph.edge("mcp__x__list_gizmos", "mcp__x__get_widget") is None


class TestTheNumberOfTheFirstPage:
    GIVES: Any = {"items": ITEMS, "total": int}  # noqa: RUF012 -- a template

    @pytest.mark.parametrize(
        "said", ["zero-based page", "Page, 0-indexed", "pages start at 0", "The first page is 0."]
    )
    def test_is_as_it_is_described(self, said: str) -> None:
        def pages(page: int = 0) -> Any:
            return {"items": ALL[page * 3 : page * 3 + 3], "total": 7}

        takes = {"page": {"type": "integer", "description": said}}
        assert played(takes, self.GIVES, pages).value == EVERY

    @pytest.mark.parametrize("first", [0, 1])
    def test_is_what_the_first_page_says(self, first: int) -> None:
        def pages(page: int = first) -> Any:
            at = (page - first) * 3
            return {"items": ALL[at : at + 3], "total": 7, "meta": {"page": page}}

        made = played("page:integer", {**self.GIVES, "meta": {"page": int}}, pages)
        assert made.value == EVERY
        assert made.of("list_gizmos") == [{}, {"page": first + 1}, {"page": first + 2}]

    def test_is_0_of_an_index(self) -> None:
        def pages(page_index: int = 0) -> Any:
            return {"items": ALL[page_index * 3 : page_index * 3 + 3], "page_count": 3}

        assert played("page_index:integer", {"items": ITEMS, "page_count": int}, pages).value == EVERY


class TestWhatSaysThatThereIsMore:
    @pytest.mark.parametrize(
        ("takes", "gives", "more", "whole"),
        [
            ("", {"remaining": int}, {"remaining": 4}, {"remaining": 0}),
            ("from:integer to:integer", {"remaining": int}, {"remaining": 4}, {"remaining": 0}),
            ("", {"items_left": int}, {"items_left": 4}, {"items_left": 0}),
            ("", {"meta": {"remaining_count": int}}, {"meta": {"remaining_count": 4}}, {"meta": {}}),
            ("", {"complete": bool}, {"complete": False}, {"complete": True}),
            ("", {"incomplete_results": bool}, {"incomplete_results": True}, {"incomplete_results": False}),
            ("", {"next_batch": OR_NULL}, {"next_batch": "b"}, {"next_batch": None}),
        ],
    )
    def test_ends_the_program(self, takes: str, gives: Any, more: Any, whole: Any) -> None:
        gives = {"gizmos": ITEMS, **gives}
        with pytest.raises(ValueError, match=r"list_gizmos says by .* that there is more than it returned"):
            played(takes, gives, lambda: {"gizmos": ALL[:3], **more})
        assert played(takes, gives, lambda: {"gizmos": ALL, **whole}).value == EVERY

    def test_beside_the_data_of_an_envelope_too(self) -> None:
        gives = {"ok": bool, "data": ITEMS, "has_more": bool}
        with pytest.raises(ValueError, match="says by has_more"):
            played("", gives, lambda: {"ok": True, "data": ALL[:3], "has_more": True})

    def test_how_many_are_left_turns_pages(self) -> None:
        def pages(offset: int = 0) -> Any:
            return {"gizmos": ALL[offset : offset + 3], "remaining": max(0, 4 - offset)}

        assert played("offset:integer", {"gizmos": ITEMS, "remaining": int}, pages).value == EVERY

    def test_what_a_thing_lacks_is_no_page(self) -> None:
        gives = {"gizmos": ITEMS, "done": bool, "remaining": int}
        came = {"gizmos": ALL, "done": False, "remaining": 3}
        assert played("", gives, lambda: came, "get_parcel").value == EVERY

    @pytest.mark.parametrize("said", ["Max items (default 3)", "How many; defaults to 3.", "3 by default"])
    def test_a_list_is_full_at_the_limit_that_is_described(self, said: str) -> None:
        takes = {"limit": {"type": "integer", "description": said}}
        with pytest.raises(ValueError, match="returned 3, as many as its limit allows"):
            played(takes, {"gizmos": ITEMS}, lambda: {"gizmos": ALL[:3]})
        assert played(takes, {"gizmos": ITEMS}, lambda: {"gizmos": ALL[:2]}).value == EVERY[:2]


NEXT: Any = {"type": ["string", "null"]}


def rows(**beside: Any) -> Any:
    items = {"type": "array", "items": {"type": "object", "properties": {"gizmo_id": {"type": "string"}}}}
    return {"type": "object", "properties": {"rows": items, **beside}}


class TestWhatLeadsNowhere:
    @pytest.mark.parametrize(
        ("takes", "gives"),
        [
            # A filter by an address is no page.
            ("url", rows(next_url=NEXT)),
            ("state", rows(next_state=NEXT)),
            ("token", rows(token=NEXT)),
            ("sync_token", rows(nextSyncToken=NEXT)),
            # What a page says of itself.
            ("limit:integer", rows(pagination={"type": "object", "properties": {"limit": {"type": "integer"}}})),
            ("page_id", rows(page_id=NEXT)),
            # Where a page began leads back, and what ends there is no beginning.
            ("cursor", rows(start_cursor=NEXT)),
            ("after", rows(previous_cursor=NEXT)),
            ("before", rows(next_cursor=NEXT, previous_cursor=NEXT)),
            ("before after", rows(previous_cursor=NEXT)),
        ],
    )  # fmt: skip
    def test_is_no_page(self, takes: str, gives: Any) -> None:
        graph = graph_of(tool("x", "list_gizmos", takes, gives))
        assert graph.edge("mcp__x__list_gizmos", "mcp__x__list_gizmos") is None

    @pytest.mark.parametrize(
        ("takes", "gives", "more"),
        [
            ("top:integer", rows(**{"@odata.nextLink": NEXT}), {"@odata.nextLink": "https://x?$skip=3"}),
            ("url", rows(next_url=NEXT), {"next_url": "https://x?page=2"}),
            ("before", rows(paging={"type": "object", "properties": {"next": NEXT, "previous": NEXT}}), {"paging": {"next": "b", "previous": "a"}}),
            ("", rows(paging_state=NEXT), {"paging_state": "x"}),
            ("", rows(paging={"type": "object", "properties": {"previous": NEXT}}), {"paging": {"previous": "x"}}),
            ("", rows(_links={"type": "object", "properties": {"next": {"type": "object", "properties": {"href": NEXT}}}}), {"_links": {"next": {"href": "/x?page=2"}}}),
        ],
    )  # fmt: skip
    def test_ends_the_program_where_there_is_more(self, takes: str, gives: Any, more: Any) -> None:
        with pytest.raises(ValueError, match=r"list_gizmos says by .* there is more"):
            played(takes, gives, lambda **_: {"rows": ALL[:3], **more})
        assert played(takes, gives, lambda **_: {"rows": ALL}).value == EVERY

    def test_whatever_leads_back_beside_what_leads_on_is_no_more(self) -> None:
        gives = rows(cursors={"type": "object", "properties": {"previous": NEXT, "next": NEXT}})
        came = {"rows": ALL, "cursors": {"previous": "a", "next": None}}
        assert played("", gives, lambda: came).value == EVERY

    def test_a_first_page_without_what_tells_of_pages_is_followed_by_others(self) -> None:
        def answer(offset: int = 0) -> Any:
            page = {"rows": ALL[offset : offset + 3]}
            return {**page, "meta": {"is_last": offset == 6}} if offset else page

        gives = rows(meta={"type": "object", "properties": {"is_last": {"type": "boolean"}}})
        assert played("offset:integer", gives, answer).value == EVERY

    def test_an_address_without_the_parameter_is_told(self) -> None:
        gives = rows(_links={"type": "object", "properties": {"next": NEXT}})
        with pytest.raises(ValueError, match="says by an address that there is more, which has no cursor"):
            played("cursor", gives, lambda: {"rows": ALL[:3], "_links": {"next": "https://x?position=%zz"}})

    def test_an_item_that_comes_again_shows_that_items_are_counted_from_1(self) -> None:
        def answer(startIndex: int = 1) -> Any:  # noqa: N803 -- as it is called
            return {"rows": ALL[startIndex - 1 : startIndex + 2], "totalResults": 7}

        gives = rows(totalResults={"type": "integer"})
        with pytest.raises(ValueError, match="returned an item again: its startIndex may count from 1"):
            played("startIndex:integer", gives, answer)
