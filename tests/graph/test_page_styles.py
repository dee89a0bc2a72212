"""However a server turns its pages, a program gets every item once, and ends with an error where that cannot be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from graph.making import graph_of, tool
from graph.playing import play
from halflap.graph.emit import program
from halflap.graph.plan import plan
from halflap.graph.want import target_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from graph.playing import Play

SIZE = 3
ITEMS = [{"gizmo_id": str}]
TEXT: Any = {"type": ["string", "null"]}


@dataclass(frozen=True)
class Page:
    """What a server has to tell at one call."""

    start: int
    items: list[dict[str, str]]
    following: int | None
    """Where the next page begins."""
    total: int

    @property
    def cursor(self) -> str | None:
        """What only the server can read: with a sign that an address has to write otherwise."""
        return None if self.following is None else f"ä+{self.following}"


def read(cursor: str | None) -> int:
    """Read a cursor: one that came in pieces is not read."""
    if cursor is None:
        return 0
    assert cursor.startswith("ä+"), cursor
    return int(cursor[2:])


@dataclass(frozen=True)
class Style:
    """How a server turns its pages."""

    name: str
    takes: Any
    gives: Any
    begins: Callable[[dict[str, Any]], int]
    """Where the page of a call begins."""
    tells: Callable[[Page], dict[str, Any]]
    counts: bool = False
    """Whether it tells how many items there are, and nothing else."""


def object_of(properties: dict[str, Any]) -> dict[str, Any]:
    """Make the schema of a result none of whose keys is promised."""
    return {"type": "object", "properties": properties}


def nullable(**names: Any) -> Any:
    items = {"type": "array", "items": {"type": "object", "properties": {"gizmo_id": {"type": "string"}}}}
    return object_of({"gizmos": items, **names})


def address(parameter: str, value: Any) -> str | None:
    return (
        None
        if value is None
        else f"https://x.test/v1/gizmos?limit=3&{quote(parameter)}={quote(str(value))}#top"
    )


def of_cursor(parameter: str, gives: Any, tells: Callable[[Page], dict[str, Any]]) -> Style:
    """Make a style by a cursor."""
    return Style(
        parameter,
        {parameter: str, "limit": int},
        gives,
        lambda given: read(given.get(parameter)),
        lambda page: {"gizmos": page.items, **tells(page)},
    )


def of_number(
    parameter: str,
    gives: Any,
    tells: Callable[[Page], dict[str, Any]],
    *,
    by_pages: bool = False,
    first: int = 0,
    counts: bool = False,
) -> Style:
    """Make a style by the number of an item, or of a page."""

    def begins(given: dict[str, Any]) -> int:
        at = given.get(parameter, first)
        assert type(at) is int, at
        return (at - first) * (SIZE if by_pages else 1)

    size = "take" if parameter == "skip" else "limit"
    return Style(
        parameter,
        {parameter: int, size: int},
        gives,
        begins,
        lambda page: {"gizmos": page.items, **tells(page)},
        counts,
    )


PAGE_INFO = object_of(
    {
        "hasPreviousPage": {"type": "boolean"},
        "startCursor": TEXT,
        "hasNextPage": {"type": "boolean"},
        "endCursor": TEXT,
    }
)
NUMBER: Any = {"type": "integer"}
FLAG: Any = {"type": "boolean"}
HREF = object_of({"href": TEXT})

STYLES = {
    "odata skiptoken": of_cursor(
        "skiptoken",
        nullable(**{"@odata.nextLink": TEXT}),
        lambda page: {"@odata.nextLink": address("$skiptoken", page.cursor)},
    ),
    "odata skip": of_number(
        "skip",
        nullable(**{"@odata.nextLink": TEXT}),
        lambda page: {"@odata.nextLink": address("$skip", page.following)},
    ),
    "odata page from 0": of_number(
        "page",
        nullable(**{"@odata.nextLink": TEXT}),
        lambda page: {
            "@odata.nextLink": address("page", None if page.following is None else page.following // SIZE)
        },
        by_pages=True,
    ),
    "address itself": Style(
        "next_link",
        "next_link",
        nullable(**{"@odata.nextLink": TEXT}),
        lambda given: int(given["next_link"].partition("at=")[2].rstrip("#top")) if given else 0,
        lambda page: {"gizmos": page.items, "@odata.nextLink": address("at", page.following)},
    ),
    "hal page": of_number(
        "page",
        nullable(_links=object_of({"self": HREF, "next": HREF})),
        lambda page: {
            "_links": {"self": {"href": "/gizmos?page=9"}}
            | (
                {}
                if page.following is None
                else {"next": {"href": f"/gizmos?page={page.following // SIZE + 1}"}}
            )
        },
        by_pages=True,
        first=1,
    ),
    "hal cursor": of_cursor(
        "cursor",
        nullable(_links=object_of({"prev": HREF, "next": HREF})),
        lambda page: {
            "_links": {
                "prev": {"href": address("cursor", "ä+0")},
                "next": {"href": address("cursor", page.cursor)},
            }
        },
    ),
    "json api": of_cursor(
        "page_after",
        nullable(links=object_of({"prev": TEXT, "next": TEXT})),
        lambda page: {"links": {"prev": None, "next": address("page[after]", page.cursor)}},
    ),
    "json api, shortened": of_cursor(
        "cursor",
        nullable(links=object_of({"next": TEXT})),
        lambda page: {"links": {"next": address("page[cursor]", page.cursor)}},
    ),
    "rest cursor": of_cursor(
        "cursor",
        nullable(next=TEXT, previous=TEXT),
        lambda page: {"next": address("cursor", page.cursor), "previous": address("cursor", "ä+0")},
    ),
    "paging state": of_cursor(
        "page_state", nullable(paging_state=TEXT), lambda page: {"paging_state": page.cursor}
    ),
    "next page token": of_cursor(
        "pageToken", nullable(nextPageToken=TEXT), lambda page: {"nextPageToken": page.cursor}
    ),
    "next after": of_cursor(
        "after",
        nullable(paging=object_of({"previous": TEXT, "next": TEXT})),
        lambda page: {"paging": {"previous": "ä+0", "next": page.cursor}},
    ),
    "previous before": of_cursor(
        "before",
        nullable(paging=object_of({"previous": TEXT})),
        lambda page: {"paging": {"previous": page.cursor}},
    ),
    "page info": of_cursor(
        "after",
        nullable(pageInfo=PAGE_INFO),
        lambda page: {
            "pageInfo": {
                "hasPreviousPage": page.start > 0,
                "startCursor": f"ä+{page.start}",
                "hasNextPage": page.following is not None,
                "endCursor": f"ä+{page.start + len(page.items)}",
            }
        },
    ),
    "nested total": of_number(
        "offset",
        nullable(pagination=object_of({"offset": NUMBER, "limit": NUMBER, "total": NUMBER})),
        lambda page: {"pagination": {"offset": page.start, "limit": SIZE, "total": page.total}},
        counts=True,
    ),
    "nested parameter": Style(
        "pagination",
        {"pagination": {"type": "object", "properties": {"offset": NUMBER, "limit": NUMBER}}},
        nullable(total=NUMBER),
        lambda given: given.get("pagination", {}).get("offset", 0),
        lambda page: {"gizmos": page.items, "total": page.total},
        counts=True,
    ),
    "grand total": of_number(
        "page",
        nullable(count=NUMBER, grand_total=NUMBER),
        lambda page: {"count": len(page.items), "grand_total": page.total},
        by_pages=True,
        first=1,
        counts=True,
    ),
    "total of the things": of_number(
        "offset", nullable(total_gizmos=NUMBER), lambda page: {"total_gizmos": page.total}, counts=True
    ),
    "start": of_number(
        "start",
        nullable(numFound=NUMBER, start=NUMBER),
        lambda page: {"numFound": page.total, "start": page.start},
        counts=True,
    ),
    "start index from 1": of_number(
        "startIndex",
        nullable(totalResults=NUMBER, itemsPerPage=NUMBER, startIndex=NUMBER),
        lambda page: {"totalResults": page.total, "itemsPerPage": SIZE, "startIndex": page.start + 1},
        first=1,
        counts=True,
    ),
    "start at, is last": of_number(
        "startAt",
        nullable(startAt=NUMBER, isLast=FLAG),
        lambda page: {"startAt": page.start, "isLast": page.following is None},
    ),
    "skip and take": of_number(
        "skip", nullable(hasMore=FLAG), lambda page: {"hasMore": page.following is not None}
    ),
    "the last item": Style(
        "starting_after",
        "starting_after limit:integer",
        nullable(has_more=FLAG),
        lambda given: int(given.get("starting_after", "-1")) + 1,
        lambda page: {"gizmos": page.items, "has_more": page.following is not None},
    ),
    "beside another list": of_number(
        "offset",
        nullable(total=NUMBER, warnings={"type": "array", "items": {"type": "string"}}),
        lambda page: {"total": page.total, "warnings": ["slow"]},
        counts=True,
    ),
    "the cursor of the last item": Style(
        "after",
        "first:integer after",
        {"type": "object", "properties": {"edges": {"type": "array", "items": object_of({"gizmo_id": {"type": "string"}, "cursor": {"type": "string"}})}, "pageInfo": object_of({"hasNextPage": FLAG})}},
        lambda given: read(given.get("after")),
        lambda page: {
            "edges": [{**one, "cursor": f"ä+{int(one['gizmo_id']) + 1}"} for one in page.items],
            "pageInfo": {"hasNextPage": page.following is not None},
        },
    ),
    "a negative cursor": Style(
        "cursor",
        "cursor:integer",
        nullable(next_cursor=NUMBER),
        lambda given: given.get("cursor", 0),
        lambda page: {"gizmos": page.items, "next_cursor": -1 if page.following is None else page.following},
    ),
}  # fmt: skip

every_style = pytest.mark.parametrize("style", STYLES.values(), ids=STYLES.keys())


def played(style: Style, answer: Callable[..., Any]) -> Play:
    graph = graph_of(
        tool("x", "list_gizmos", style.takes, style.gives),
        tool("x", "get_gizmo", "gizmo_id!", {"label": str}),
    )
    (first, *_) = plan(graph, want=[target_of(graph, "get_gizmo")], have={}).suggestions
    assert not first.missing
    answers = {"list_gizmos": answer, "get_gizmo": lambda gizmo_id: gizmo_id}
    return play(program(first), graph.tools.values(), answers)


def server(style: Style, count: int, *, says_more_till: int | None = None) -> Callable[..., Any]:
    """Serve so many items; with another number, pages say that there is more till there."""
    end = count if says_more_till is None else says_more_till

    def answer(**given: Any) -> Any:
        start = style.begins(given)
        items = [{"gizmo_id": str(at)} for at in range(start, min(start + SIZE, count))]
        following = start + SIZE if start + SIZE < end else None
        return style.tells(Page(start, items, following, count))

    return answer


@every_style
@pytest.mark.parametrize("count", [0, 1, 3, 7])
def test_every_item_arrives_once(style: Style, count: int) -> None:
    made = played(style, server(style, count))
    assert made.value == [str(at) for at in range(count)]
    assert len(made.of("list_gizmos")) <= max(1, -(-count // SIZE))


@every_style
def test_an_empty_page_is_the_last(style: Style) -> None:
    made = played(style, server(style, 6, says_more_till=7))
    assert made.value == [str(at) for at in range(6)]
    assert len(made.of("list_gizmos")) == (2 if style.counts else 3)


@every_style
def test_a_server_that_repeats_itself_is_told(style: Style) -> None:
    def answer(**_: Any) -> Any:
        return style.tells(Page(0, [{"gizmo_id": str(at)} for at in range(SIZE)], SIZE, 7))

    with pytest.raises(
        ValueError, match=r"mcp__x__list_gizmos (gave the same .* again|returned the same page again)"
    ):
        played(style, answer)


@every_style
def test_pages_without_end_are_ended(style: Style) -> None:
    with pytest.raises(ValueError, match="list_gizmos has more pages than most_pages allows"):
        played(style, server(style, 10**6))
