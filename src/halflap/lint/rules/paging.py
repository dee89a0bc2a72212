"""Rules about long lists: how one gets from a page to the next, and knows when to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from halflap.graph.words import phrase
from halflap.lint.rule import Found, Limits, Rule
from halflap.lint.sample import TEXT, example, field, listed, record, tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.lint.parts import Part
    from halflap.lint.server import Entry, Server

__all__ = ["RULES"]

_CURSORS = frozenset(
    [
        "cursor",
        "page token",
        "next token",
        "next page token",
        "next cursor",
        "continuation token",
        "page cursor",
        "marker",
        "start cursor",
        "scroll id",
        "starting after",
        "next page cursor",
        "end cursor",
        "next marker",
        "next page id",
        "next start cursor",
        "next continuation token",
        "next",
    ]
)
_TURNING = ("page", "page number", "offset", "skip", "start index", "page index", "page offset")
_SIZES = frozenset(
    [
        "limit",
        "page size",
        "per page",
        "hit per page",
        "max result",
        "page limit",
        "result per page",
        "row",
        "size",
        "number result",
    ]
)
_MORE = frozenset(
    [
        "has more",
        "more",
        "has next",
        "has next page",
        "has more result",
        "has more item",
        "has more page",
        "more result",
        "more available",
        "is truncated",
        "is last",
        "is last page",
        "last page",
        "total",
        "total count",
        "total page",
        "total result",
        "page count",
        "number page",
        "done",
        "is done",
        "count total",
    ]
)
"""What tells that a page is the last, or how many there are in all."""


def _turning(one: Entry) -> Part | None:
    """Give the parameter by which a tool's results are gone through by number, if that is what it is for.

    An offset alone may be one into a file or a sound; beside a page's size it is one into a list.
    """
    names = {phrase(part.words): part for part in one.inputs if len(part.path) == 1}
    if _SIZES.isdisjoint(names):
        return None
    found = (names[name] for name in _TURNING if name in names)
    return next((part for part in found if part.kinds & {"integer", "number"}), None)


def _cursor(one: Entry) -> Part | None:
    found = (part for part in one.inputs if len(part.path) == 1 and phrase(part.words) in _CURSORS)
    return next((part for part in found if "string" in part.kinds or not part.kinds), None)


def _gives(one: Entry, names: frozenset[str]) -> bool:
    return any(phrase(part.words) in names for part in one.outputs)


def _declared(one: Entry, **fields: Any) -> dict[str, Any] | None:
    """Give what declares fields of a result beside those that are declared; nothing where none are."""
    return {"properties": fields} if one.declares_output else None


def _paging_without_cursor(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        part = _turning(one)
        if part is not None and _cursor(one) is None:
            yield Found(
                one.name,
                "input",
                f"{one.shown} is paged by {part.shown}, and has no cursor.",
                f"Add a parameter `cursor` to {one.shown}, and return `pagination: {{has_more, next_cursor}}`; {part.shown} may stay "
                "beside it.",
                {"properties": {"cursor": field("string", "`next_cursor` of the page before.")}},
                about=part.where,
            )


def _cursor_not_given(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        part = _cursor(one)
        if part is not None and one.knows_fields and not _gives(one, _CURSORS):
            yield Found(
                one.name,
                "output",
                f"{one.shown} takes {part.shown}, and its result has none.",
                f"Return `next_cursor` from {one.shown}, null on the last page, and say in its description that it is for {part.shown}.",
                _declared(
                    one, next_cursor={**_NEXT, "description": f"For `{part.shown}`; null on the last page."}
                ),
                about=part.where,
            )


def _paging_without_has_more(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        part = _turning(one) or _cursor(one)
        if part is None or not one.knows_fields or not one.outputs or _gives(one, _MORE):
            continue
        yield Found(
            one.name,
            "output",
            f"{one.shown} is paged by {part.shown}, and its result does not say whether there is more.",
            f"Return `has_more` (true or false) from {one.shown}, beside the items or under `pagination`.",
            _declared(one, has_more=_HAS_MORE),
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
