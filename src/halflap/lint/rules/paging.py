"""Rules about paged lists: how to get the next page, and whether there is one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from halflap.lint.rule import Limits, Problem, Rule

if TYPE_CHECKING:
    from halflap.lint.fields import SchemaField
    from halflap.lint.server import LintServer, LintTool

_CURSORS = frozenset(
    {"cursor", "page token", "next token", "continuation token", "starting after", "start cursor"}
)
_NEXT = frozenset({
    "next cursor", "next page token", "next token", "continuation token", "next page", "end cursor",
    "cursor", "next",
})  # fmt: skip
_PAGES = frozenset({"page", "page number", "offset", "skip", "start index"})
_MORE = frozenset(
    {"has more", "has next page", "has next", "more", "is last", "total", "total count", "total page"}
)


def _cursor_parameter(tool: LintTool) -> SchemaField | None:
    return _named(tool.inputs, _CURSORS)


def _next_cursor(tool: LintTool) -> SchemaField | None:
    return _named(tool.outputs, _NEXT)


def _named(fields: tuple[SchemaField, ...], names: frozenset[str]) -> SchemaField | None:
    """Return the first field with one of these names that is not inside a list: items do not say where they are."""
    outside = (one for one in fields if "[]" not in one.where and not one.is_list)
    return next((one for one in outside if " ".join(one.words) in names), None)


def _returns_list(tool: LintTool) -> bool:
    kind = tool.output_type or tool.evidence.type
    return any(one.is_list for one in tool.outputs) or (kind is not None and kind.kind == "array")


def _paging_without_cursor(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        page = _named(tool.inputs, _PAGES)
        if page is not None and _cursor_parameter(tool) is None and _returns_list(tool):
            yield Problem(
                tool,
                page.where,
                f"{tool.shown} is paged by {page.shown} instead of a cursor.",
                f"Add a `cursor` parameter to {tool.shown} and return `next_cursor` and `has_more`.",
            )


def _cursor_not_given(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        cursor = _cursor_parameter(tool)
        if cursor is not None and tool.outputs and _next_cursor(tool) is None:
            yield Problem(
                tool,
                "output",
                f"{tool.shown} takes {cursor.shown}, but its results contain no cursor.",
                f"Return `next_cursor` from {tool.shown}, null on the last page.",
            )


def _next_cursor_not_accepted(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        returned = _next_cursor(tool)
        if (
            returned is not None
            and {"cursor", "token"} & set(returned.words)
            and _cursor_parameter(tool) is None
        ):
            yield Problem(
                tool,
                returned.where,
                f"{tool.shown} returns {returned.shown}, but has no parameter to pass it to.",
                f"Add a `cursor` parameter to {tool.shown}.",
            )


def _paging_without_has_more(server: LintServer, _: Limits) -> Iterator[Problem]:
    for tool in server.tools:
        pager = _cursor_parameter(tool) or _named(tool.inputs, _PAGES)
        if pager is None or not tool.outputs or not _returns_list(tool):
            continue
        if _named(tool.outputs, _MORE) is None and _next_cursor(tool) is None:
            yield Problem(
                tool,
                "output",
                f"Results of {tool.shown} do not say whether there are more pages.",
                f"Return `has_more` (true or false) from {tool.shown}, next to the items or under `pagination`.",
            )


RULES = (
    Rule("paging-without-cursor", "info", _paging_without_cursor, needs="outputs"),
    Rule("cursor-not-given", "warning", _cursor_not_given, needs="outputs"),
    Rule("next-cursor-not-accepted", "warning", _next_cursor_not_accepted, needs="outputs"),
    Rule("paging-without-has-more", "warning", _paging_without_has_more, needs="outputs"),
)
