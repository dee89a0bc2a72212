"""Rules about long lists: how one gets from a page to the next, and knows when to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.lint.pages import cursor_of, gives_cursor, giving, says_more, taking, turned_by
from halflap.lint.rule import Found, Limits, Rule
from halflap.lint.sample import TEXT, example, field, listed, record, tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.lint.server import Entry, Server

__all__ = ["RULES"]


def _paging_without_cursor(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        part = turned_by(one)
        if part is None or cursor_of(one) is not None:
            continue
        taken = taking(one, part, cursor=_CURSOR)
        patch, path = taken, "input"
        missing = _leading_on(one)
        if one.knows_fields and missing and taken is not None:
            # To take what no result has would be worse than to take none.
            given = giving(one, **missing)
            patch, path = (
                (None, path) if given is None else ({"inputSchema": taken, "outputSchema": given}, "")
            )
        yield Found(
            one.name,
            path,
            f"{one.shown} is paged by {part.shown}, and has no cursor.",
            f"Add a parameter `cursor` to {one.shown}, and return `pagination: {{has_more, next_cursor}}`; {part.shown} may stay "
            "beside it.",
            patch,
            about=part.where,
        )


def _leading_on(one: Entry) -> dict[str, Any]:
    """Give the fields by which a result leads to the next page, those that are missing."""
    return {
        **({} if says_more(one) else {"has_more": _HAS_MORE}),
        **({} if gives_cursor(one) else {"next_cursor": _next_of("cursor")}),
    }


def _next_of(parameter: str) -> dict[str, Any]:
    return {**_NEXT, "description": f"For `{parameter}`; null on the last page."}


def _cursor_not_given(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        part = cursor_of(one)
        if part is not None and one.knows_fields and not gives_cursor(one):
            yield Found(
                one.name,
                "output",
                f"{one.shown} takes {part.shown}, and its result has none.",
                f"Return `next_cursor` from {one.shown}, null on the last page, and say in its description that it is for {part.shown}.",
                giving(one, next_cursor=_next_of(part.shown)),
                about=part.where,
            )


def _paging_without_has_more(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        part = turned_by(one) or cursor_of(one)
        if part is None or not one.knows_fields or not one.outputs or says_more(one):
            continue
        yield Found(
            one.name,
            "output",
            f"{one.shown} is paged by {part.shown}, and its result does not say whether there is more.",
            f"Return `has_more` (true or false) from {one.shown}, beside the items or under `pagination`.",
            giving(one, has_more=_HAS_MORE),
            about=part.where,
        )


_LIMIT = field("integer", "How many.")
_PAGE = field("integer", "Which page.")
_CURSOR = field("string", "`next_cursor` of the page before.")
_NEXT = {"type": ["string", "null"], "description": "For `cursor`."}
_HAS_MORE = field("boolean", "Whether another page follows.")
_NOTES = listed(TEXT)

RULES = (
    Rule(
        "paging-without-cursor",
        "info",
        "A list is paged by a number, and not by a cursor.",
        "When something is added or removed meanwhile, pages by number skip items or repeat them; and no result says what the "
        "next call is.",
        "Take `cursor`, and return `next_cursor` and `has_more`.",
        _paging_without_cursor,
        bad=example(tool("list_notes", record(page=_PAGE, limit=_LIMIT))),
        good=example(
            tool("list_notes", record(cursor=_CURSOR, limit=_LIMIT)),
            tool("read_file", record(offset=field("integer", "First byte."))),
            tool("read_pdf", record(page=field("integer", "Which page of it."))),
        ),
    ),
    Rule(
        "cursor-not-given",
        "warning",
        "A tool takes a cursor that its result does not have.",
        "Nobody can get to the second page.",
        "Return `next_cursor`.",
        _cursor_not_given,
        bad=example(tool("list_notes", record(cursor=_CURSOR), record(notes=_NOTES, has_more=_HAS_MORE))),
        good=example(
            tool(
                "list_notes",
                record(cursor=_CURSOR),
                record(notes=_NOTES, next_cursor=_NEXT, has_more=_HAS_MORE),
            )
        ),
        needs="outputs",
    ),
    Rule(
        "paging-without-has-more",
        "warning",
        "The result of a paged tool does not say whether there is more.",
        "Whoever wants all of it has to call until a page is empty, or stops too early.",
        "Return `has_more`.",
        _paging_without_has_more,
        bad=example(tool("list_notes", record(cursor=_CURSOR), record(notes=_NOTES, next_cursor=_NEXT))),
        good=example(
            tool(
                "list_notes",
                record(cursor=_CURSOR),
                record(notes=_NOTES, next_cursor=_NEXT, has_more=_HAS_MORE),
            )
        ),
        needs="outputs",
    ),
)
