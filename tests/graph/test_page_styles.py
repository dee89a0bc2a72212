"""However a server pages, a program gets every item once, or ends with an error."""

from __future__ import annotations

from dataclasses import dataclass
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

SIZE = 3
TEXT: Any = {"type": ["string", "null"]}
NUMBER: Any = {"type": "integer"}
FLAG: Any = {"type": "boolean"}


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


@dataclass(frozen=True)
class Style:
    """How a server pages."""

    takes: Any
    gives: dict[str, Any]
    start: Callable[[dict[str, Any]], int]
    """Where the page of a call begins."""
    reports: Callable[[Page], dict[str, Any]]
    counts: bool = False
    """Whether it reports a total, and nothing else."""


def by_cursor(name: str, gives: dict[str, Any], reports: Callable[[Page], dict[str, Any]]) -> Style:
    def start(given: dict[str, Any]) -> int:
        return int(given[name].removeprefix("ä+")) if name in given else 0

    return Style({name: str, "limit": int}, gives, start, reports)


def by_number(
    name: str,
    gives: dict[str, Any],
    reports: Callable[[Page], dict[str, Any]],
    *,
    pages: bool = False,
    counts: bool = False,
) -> Style:
    """Page by the number of an item, or by that of a page, which begins with 1."""

    def start(given: dict[str, Any]) -> int:
        return (int(given.get(name, 1)) - 1) * SIZE if pages else int(given.get(name, 0))

    return Style({name: int, "limit": int}, gives, start, reports, counts)


def object_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


STYLES = {
    "next_cursor": by_cursor("cursor", {"next_cursor": TEXT}, lambda page: {"next_cursor": page.cursor}),
    "nextPageToken": by_cursor(
        "pageToken", {"nextPageToken": TEXT}, lambda page: {"nextPageToken": page.cursor}
    ),
    "pageInfo": by_cursor(
        "after",
        {"pageInfo": object_of(hasNextPage=FLAG, endCursor=TEXT)},
        lambda page: {
            "pageInfo": {
                "hasNextPage": page.following is not None,
                "endCursor": f"ä+{page.start + len(page.items)}",
            }
        },
    ),
    "offset and total": by_number(
        "offset", {"total": NUMBER}, lambda page: {"total": page.total}, counts=True
    ),
    "offset and a nested total": by_number(
        "offset",
        {"pagination": object_of(offset=NUMBER, limit=NUMBER, total=NUMBER)},
        lambda page: {"pagination": {"offset": page.start, "limit": SIZE, "total": page.total}},
        counts=True,
    ),
    "skip and hasMore": by_number(
        "skip", {"hasMore": FLAG}, lambda page: {"hasMore": page.following is not None}
    ),
    "page and total_count": by_number(
        "page", {"total_count": NUMBER}, lambda page: {"total_count": page.total}, pages=True, counts=True
    ),
    "nested parameter": Style(
        {"pagination": object_of(offset=NUMBER, limit=NUMBER)},
        {"total": NUMBER},
        lambda given: given.get("pagination", {}).get("offset", 0),
        lambda page: {"total": page.total},
        counts=True,
    ),
}

every_style = pytest.mark.parametrize("style", STYLES.values(), ids=STYLES.keys())


def played(style: Style, answer: Callable[..., Any]) -> Play:
    items = {"type": "array", "items": object_of(gizmo_id={"type": "string"})}
    graph = graph_of(
        tool("x", "list_gizmos", style.takes, object_of(gizmos=items, **style.gives)),
        tool("x", "get_gizmo", "gizmo_id!", {"label": str}),
    )
    (first, *_) = plan(graph, want=[target_of(graph, "get_gizmo")], have={}).suggestions
    assert not first.missing
    answers = {"list_gizmos": answer, "get_gizmo": lambda gizmo_id: gizmo_id}
    return play(program(first), graph.tools.values(), answers)


def server(style: Style, count: int, *, claims: int | None = None) -> Callable[..., Any]:
    """Serve so many items; pages may claim that there are more."""
    end = count if claims is None else claims

    def answer(**given: Any) -> Any:
        start = style.start(given)
        items = [{"gizmo_id": str(at)} for at in range(start, min(start + SIZE, count))]
        following = start + SIZE if start + SIZE < end else None
        return {"gizmos": items, **style.reports(Page(start, items, following, count))}

    return answer


@every_style
@pytest.mark.parametrize("count", [0, 3, 7])
def test_every_item_arrives_once(style: Style, count: int) -> None:
    made = played(style, server(style, count))
    assert made.value == [str(at) for at in range(count)]
    assert len(made.of("list_gizmos")) <= max(1, -(-count // SIZE))


@every_style
def test_an_empty_page_is_the_last(style: Style) -> None:
    made = played(style, server(style, 6, claims=7))
    assert made.value == [str(at) for at in range(6)]
    assert len(made.of("list_gizmos")) == (2 if style.counts else 3)


@every_style
def test_a_repeated_page_is_an_error(style: Style) -> None:
    items = [{"gizmo_id": str(at)} for at in range(SIZE)]
    with pytest.raises(ValueError, match=r"mcp__x__list_gizmos .* again"):
        played(style, lambda **_: {"gizmos": items, **style.reports(Page(0, items, SIZE, 7))})


@every_style
def test_endless_pages_are_an_error(style: Style) -> None:
    with pytest.raises(ValueError, match="list_gizmos has more pages than most_pages"):
        played(style, server(style, 10**6))
