"""However a server pages, a program gets every item once, or reports that there is more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from graph.making import graph_of, tool
from graph.playing import play
from halflap.graph.emit import program
from halflap.graph.plan import plan, target_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from graph.playing import Play

SIZE = 3
TEXT: Any = {"type": ["string", "null"]}
NUMBER: Any = {"type": "integer"}
FLAG: Any = {"type": "boolean"}
GET = tool("x", "get_gizmo", "gizmo_id!", {"label": str})


@dataclass(frozen=True)
class Page:
    """What a server has to report at one call."""

    start: int
    items: list[dict[str, str]]
    following: int | None
    """Where the next page begins."""
    total: int

    @property
    def cursor(self) -> str | None:
        return None if self.following is None else f"ä+{self.following}"

    def address(self, name: str, number: int) -> str | None:
        return None if self.following is None else f"https://x.test/gizmos?size=3&{name}={number}#top"


@dataclass(frozen=True)
class Style:
    """How a server pages."""

    takes: Any
    gives: dict[str, Any]
    start: Callable[[dict[str, Any]], int]
    """Where the page of a call begins."""
    reports: Callable[[Page], dict[str, Any]]
    at: tuple[str, ...] = ("gizmos",)
    """Where the items are in the result."""

    def result(self, items: Any, reported: dict[str, Any], nest: Callable[..., Any] = dict) -> Any:
        """Put items and what is reported into a result, or into its schema."""
        if not self.at:
            return items
        for key in reversed(self.at):
            items, reported = nest(**{**reported, key: items}), {}
        return items


def by_cursor(
    name: str, gives: dict[str, Any], reports: Callable[[Page], dict[str, Any]], **more: Any
) -> Style:
    def start(given: dict[str, Any]) -> int:
        return int(given[name].removeprefix("ä+")) if name in given else 0

    return Style({name: str, "limit": int}, gives, start, reports, **more)


def by_number(
    name: str,
    gives: dict[str, Any],
    reports: Callable[[Page], dict[str, Any]],
    *,
    pages: bool = False,
    size: str = "size",
    **more: Any,
) -> Style:
    def start(given: dict[str, Any]) -> int:
        return (int(given.get(name, 1)) - 1) * SIZE if pages else int(given.get(name, 0))

    return Style({name: int, size: int}, gives, start, reports, **more)


def object_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def last_seen(given: dict[str, Any]) -> int:
    return int(given["starting_after"]) + 1 if "starting_after" in given else 0


STYLES = {
    "chat: response_metadata.next_cursor": by_cursor(
        "cursor",
        {"response_metadata": object_of(next_cursor=TEXT)},
        lambda page: {"response_metadata": {"next_cursor": page.cursor or ""}},
    ),
    "cloud: NextToken": by_cursor("NextToken", {"NextToken": TEXT}, lambda page: {"NextToken": page.cursor}),
    "office: nextPageToken": by_cursor(
        "pageToken",
        {"nextPageToken": TEXT},
        lambda page: {"nextPageToken": page.cursor} if page.cursor else {},
    ),
    "storage: NextMarker and IsTruncated": by_cursor(
        "Marker",
        {"IsTruncated": FLAG, "NextMarker": TEXT},
        lambda page: {"IsTruncated": page.cursor is not None, "NextMarker": page.cursor},
    ),
    "graph API: pageInfo.endCursor": by_cursor(
        "after",
        {"pageInfo": object_of(hasNextPage=FLAG, endCursor=TEXT)},
        lambda page: {
            "pageInfo": {
                "hasNextPage": page.following is not None,
                "endCursor": f"ä+{page.start + len(page.items)}",
            }
        },
    ),
    "key-value store: LastEvaluatedKey": Style(
        {"ExclusiveStartKey": object_of(at=NUMBER), "limit": int},
        {"LastEvaluatedKey": {"type": ["object", "null"], "properties": {"at": NUMBER}}},
        lambda given: given.get("ExclusiveStartKey", {}).get("at", 0),
        lambda page: {} if page.following is None else {"LastEvaluatedKey": {"at": page.following}},
    ),
    "payments: starting_after and has_more": Style(
        {"starting_after": str, "limit": int},
        {"has_more": FLAG},
        last_seen,
        lambda page: {"has_more": page.following is not None},
    ),
    "forge: page and total_count": by_number(
        "page", {"total_count": NUMBER}, lambda page: {"total_count": page.total}, pages=True
    ),
    "shop: page and total_pages": by_number(
        "page",
        {"meta": object_of(page=NUMBER, total_pages=NUMBER)},
        lambda page: {"meta": {"page": page.start // SIZE + 1, "total_pages": -(-page.total // SIZE)}},
        pages=True,
    ),
    "tickets: next_page number": by_number(
        "page",
        {"next_page": {"type": ["integer", "null"]}},
        lambda page: {"next_page": None if page.following is None else page.following // SIZE + 1},
        pages=True,
    ),
    "database: offset, limit, total": by_number(
        "offset", {"total": NUMBER}, lambda page: {"total": page.total}
    ),
    "index: from, size, hits.total.value": by_number(
        "from",
        {"total": object_of(value=NUMBER, relation=TEXT)},
        lambda page: {"total": {"value": page.total, "relation": "eq"}},
        at=("hits", "hits"),
    ),
    "forge: page, per_page and a bare list": by_number(
        "page", {}, lambda _: {}, pages=True, size="per_page", at=()
    ),
    "archive: offset, limit and a bare list": by_number("offset", {}, lambda _: {}, size="limit", at=()),
    "framework: next address": by_number(
        "page",
        {"next": TEXT, "previous": TEXT, "count": NUMBER},
        lambda page: {
            "next": page.address("page", page.start // SIZE + 2),
            "previous": None,
            "count": page.total,
        },
        pages=True,
    ),
    "hypermedia: _links.next.href": by_number(
        "offset",
        {"_links": object_of(next={"type": ["object", "null"], "properties": {"href": TEXT}})},
        lambda page: {
            "_links": {"next": {"href": page.address("offset", page.start + SIZE)}} if page.cursor else {}
        },
    ),
    "suite: @odata.nextLink": by_cursor(
        "skiptoken",
        {"@odata.nextLink": TEXT},
        lambda page: (
            {"@odata.nextLink": page.address("$skiptoken", page.start + SIZE)} if page.cursor else {}
        ),
    ),
    "notes: start_cursor, next_cursor and has_more": by_cursor(
        "start_cursor",
        {"next_cursor": TEXT, "has_more": FLAG},
        lambda page: {"next_cursor": page.cursor, "has_more": page.following is not None},
    ),
    "shop: page_info and next_page_info": by_cursor(
        "page_info", {"next_page_info": TEXT}, lambda page: {"next_page_info": page.cursor}
    ),
    "tracker: startAt, maxResults, total": by_number(
        "startAt",
        {"startAt": NUMBER, "maxResults": NUMBER, "total": NUMBER},
        lambda page: {"total": page.total},
    ),
    "nested parameter": Style(
        {"pagination": object_of(offset=NUMBER, limit=NUMBER)},
        {"pagination": object_of(total=NUMBER)},
        lambda given: given.get("pagination", {}).get("offset", 0),
        lambda page: {"pagination": {"total": page.total}},
    ),
}

every_style = pytest.mark.parametrize("style", STYLES.values(), ids=STYLES.keys())


def played(takes: Any, gives: Any, answer: Callable[..., Any], want: str = "get_gizmo", **have: Any) -> Play:
    listing = tool("x", "list_gizmos", takes, gives)
    graph = graph_of(listing, GET)
    (first, *_) = plan(graph, want=[target_of(graph, want)], have=have).suggestions
    assert not first.missing
    answers = {"list_gizmos": answer, "get_gizmo": lambda gizmo_id: gizmo_id}
    return play(program(first), graph.tools.values(), answers)


def of_style(style: Style, answer: Callable[..., Any], **have: Any) -> Play:
    return played(style.takes, schema_of(style), answer, **have)


def schema_of(style: Style) -> Any:
    items = {"type": "array", "items": object_of(gizmo_id={"type": "string"})}
    return style.result(items, style.gives, object_of)


def server(style: Style, count: int) -> Callable[..., Any]:
    def answer(**given: Any) -> Any:
        start = style.start(given)
        items = [{"gizmo_id": str(at)} for at in range(start, min(start + SIZE, count))]
        following = start + SIZE if start + SIZE < count else None
        return style.result(items, style.reports(Page(start, items, following, count)))

    return answer


@every_style
@pytest.mark.parametrize("count", [0, 3, 7])
def test_every_item_arrives_once(style: Style, count: int) -> None:
    made = of_style(style, server(style, count))
    assert made.value == [str(at) for at in range(count)]
    # Where nothing tells that a page is the last, one more is asked for.
    assert len(made.of("list_gizmos")) <= max(1, -(-count // SIZE)) + (not style.at and count > 0)


@every_style
def test_a_repeated_page_is_an_error(style: Style) -> None:
    items = [{"gizmo_id": str(at)} for at in range(SIZE)]
    with pytest.raises(ValueError, match=r"mcp__x__list_gizmos .* twice"):
        of_style(style, lambda **_: style.result(items, style.reports(Page(0, items, SIZE, 7))))


def test_a_wanted_list_is_printed_with_all_its_pages_and_the_last_page_s_cursor() -> None:
    style = STYLES["office: nextPageToken"]
    made = played(style.takes, schema_of(style), server(style, 7), "list_gizmos")
    assert made.value == {"gizmos": [{"gizmo_id": str(at)} for at in range(7)]}


def test_a_page_that_is_asked_for_is_the_only_one() -> None:
    style = STYLES["database: offset, limit, total"]
    made = of_style(style, server(style, 7), offset=3)
    assert made.value == ["3", "4", "5"]


ALL = [{"gizmo_id": str(at)} for at in range(5)]
PARTS: list[tuple[Any, Any, Any, Any]] = [
    ("", {"has_more": bool}, {"has_more": True}, {"has_more": False}),
    ("", {"next_cursor?": str}, {"next_cursor": "abc"}, {"next_cursor": ""}),
    ("limit:integer", {"total": int}, {"total": 7}, {"total": 5}),
]


@pytest.mark.parametrize(("takes", "gives", "part", "whole"), PARTS)
def test_a_list_that_says_it_is_a_part_is_not_taken_for_the_whole(
    takes: Any, gives: Any, part: Any, whole: Any
) -> None:
    listed = {"gizmos": [{"gizmo_id": str}], **gives}
    with pytest.raises(ValueError, match=r"list_gizmos says .* there is more"):
        played(takes, listed, lambda **_: {"gizmos": ALL, **part})
    assert played(takes, listed, lambda **_: {"gizmos": ALL, **whole}).value == [str(at) for at in range(5)]


def test_a_program_says_where_the_next_page_is_not_known() -> None:
    graph = graph_of(tool("x", "list_gizmos", "cursor", {"gizmos": [{"gizmo_id": str}]}), GET)
    for want in ("list_gizmos", "get_gizmo"):
        (first, *_) = plan(graph, want=[target_of(graph, want)], have={}).suggestions
        assert "only a part: mcp__x__list_gizmos" in program(first)
    (first, *_) = plan(graph, want=[target_of(graph, "get_gizmo")], have={"cursor": "abc"}).suggestions
    assert "only a part" not in program(first)


def test_a_change_is_not_called_for_more_pages() -> None:
    graph = graph_of(tool("x", "purge_gizmos", "cursor", {"gizmos": [{"gizmo_id": str}], "next_cursor": str}))
    (first,) = plan(graph, want=[target_of(graph, "purge_gizmos")], have={}).suggestions
    assert first.tasks[0].paginates is None
