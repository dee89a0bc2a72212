"""Programs read all pages; a list that is not complete is never taken for the whole."""

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


def played(takes: Any, gives: Any, answer: Callable[..., Any], want: str = "get_gizmo", **have: Any) -> Play:
    found: Ports = tool("x", "list_gizmos", takes, gives)
    graph = graph_of(found, GET)
    (first, *_) = plan(graph, want=[target_of(graph, want)], have=have).suggestions
    assert not first.missing
    answers = {"list_gizmos": answer, "get_gizmo": lambda gizmo_id: gizmo_id}
    return play(program(first), graph.tools.values(), answers)


def whole_or_parts(takes: Any, gives: Any, answer: Callable[..., Any], *calls: dict[str, int]) -> None:
    made = played(takes, gives, answer)
    assert made.value == EVERY
    assert made.of("list_gizmos") == list(calls)


class TestWhereNoPageSaysWhetherAnotherFollows:
    SIZE: Any = {"type": "integer", "default": 2}  # noqa: RUF012 -- a template
    GIVES: Any = {"gizmos": [{"gizmo_id": str}]}  # noqa: RUF012 -- a template

    def test_a_full_page_is_followed_by_another(self) -> None:
        takes = {"page": {"type": "integer", "default": 1}, "per_page": self.SIZE}
        whole_or_parts(
            takes,
            self.GIVES,
            lambda page=1: {"gizmos": ALL[2 * page - 2 : 2 * page]},
            {},
            {"page": 2},
            {"page": 3},
        )

    def test_a_server_that_ignores_the_page_has_returned_everything(self) -> None:
        whole_or_parts(
            "page:integer per_page:integer", self.GIVES, lambda **_: {"gizmos": ALL}, {}, {"page": 2}
        )

    def test_an_explicit_limit_is_respected(self) -> None:
        takes = {"offset": int, "limit": self.SIZE}
        made = played(takes, self.GIVES, lambda limit: {"gizmos": ALL[:limit]}, limit=3)
        assert made.value == EVERY[:3]

    def test_a_list_that_ends_at_its_limit_is_not_taken_for_the_whole(self) -> None:
        takes: Any = {"limit": self.SIZE}
        with pytest.raises(ValueError, match="list_gizmos returned 2, as many as its limit allows"):
            played(takes, self.GIVES, lambda: {"gizmos": ALL[:2]})
        assert played(takes, self.GIVES, lambda: {"gizmos": ALL[:1]}).value == EVERY[:1]
        assert played(takes, self.GIVES, lambda limit: {"gizmos": ALL[:limit]}, limit=2).value == EVERY[:2]


PART: list[tuple[str, Any, Any, Any]] = [
    ("", {"has_more": bool}, {"has_more": True}, {"has_more": False}),
    ("", {"is_last": bool}, {"is_last": False}, {"is_last": True}),
    ("", {"next_cursor?": str}, {"next_cursor": "abc"}, {"next_cursor": ""}),
    ("limit:integer", {"total": int}, {"total": 7}, {"total": 5}),
    ("", {"page": int, "pages": int}, {"page": 1, "pages": 3}, {"page": 1, "pages": 1}),
    ("cursor", {"next_cursor?": str, "has_more": bool}, {"has_more": True}, {"has_more": False}),
]


@pytest.mark.parametrize(("takes", "gives", "part", "whole"), PART)
class TestIncompleteLists:
    def test_an_incomplete_list_is_an_error(self, takes: str, gives: Any, part: Any, whole: Any) -> None:
        assert part != whole
        for want in ("get_gizmo", "gizmo_id"):
            with pytest.raises(
                ValueError,
                match=r"mcp__x__list_gizmos (returned 5 of 7|returned 1 of 3 pages|says .* there is more)",
            ):
                played(
                    takes, {"gizmos": [{"gizmo_id": str}], **gives}, lambda **_: {"gizmos": ALL, **part}, want
                )

    def test_a_complete_one_is_not(self, takes: str, gives: Any, part: Any, whole: Any) -> None:
        assert part != whole
        made = played(takes, {"gizmos": [{"gizmo_id": str}], **gives}, lambda **_: {"gizmos": ALL, **whole})
        assert made.value == EVERY


def test_a_total_counts_the_requested_list() -> None:
    gives = {"gizmos": [{"gizmo_id": str}], "warnings": [str], "total": int}
    with pytest.raises(ValueError, match="list_gizmos returned 5 of 7"):
        played("limit:integer", gives, lambda: {"gizmos": ALL, "warnings": [""] * 9, "total": 7})
    assert played("limit:integer", gives, lambda: {"gizmos": ALL, "warnings": [], "total": 5}).value == EVERY
