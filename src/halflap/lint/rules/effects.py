"""Rules about what a tool does to the world, and whether its annotations say so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.graph.effects import seems_to_change, seems_to_destroy
from halflap.graph.words import pieces_of, words_of_text
from halflap.lint.rule import Found, Limits, Rule
from halflap.lint.sample import TEXT, example, record, tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.lint.server import Entry, Server

__all__ = ["RULES"]

_READING = frozenset(
    [
        "get",
        "list",
        "search",
        "find",
        "fetch",
        "read",
        "query",
        "lookup",
        "retrieve",
        "show",
        "describe",
        "count",
        "view",
        "browse",
    ]
)
_READING_LAST = frozenset(
    ["search", "lookup", "list", "get", "details", "history", "status", "info", "searcher", "getter"]
)
_BEGINNING = 60
_BEGINNINGS = [
    [verb]
    for verb in ("get", "list", "show", "search", "find", "fetch", "retrieve", "read", "return", "describe")
]
_NO_READING = frozenset(["and", "or", "then"])


def _read_only_not_annotated(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        if one.tool.annotations.read_only is None and _only_reads(one):
            yield Found(
                one.name,
                "",
                f"{one.shown} seems only to read, and is not annotated so.",
                f'Add `"annotations": {{"readOnlyHint": true}}` to {one.shown}, if it changes nothing.',
                {"annotations": {"readOnlyHint": True}},
            )


def _only_reads(one: Entry) -> bool:
    """Say whether a tool is called as those are that only read: by the verb that begins its name, or ends it."""
    if seems_to_change(one.ports):
        return False
    prefix = {*pieces_of(one.tool.server), "mcp"}
    words = pieces_of(one.tool.original_name)
    while len(words) > 1 and words[0] in prefix:
        words.pop(0)
    if not words or not _NO_READING.isdisjoint(words):
        return False
    if words[0] in _READING or words[-1] in _READING_LAST:
        return True
    # `git_log`: where the name has no verb, the description begins with it.
    return words_of_text(one.tool.description.strip()[:_BEGINNING])[:1] in _BEGINNINGS


def _destructive_not_annotated(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        said = one.tool.annotations
        if said.destructive is None and said.read_only is None and seems_to_destroy(one.ports):
            yield Found(
                one.name,
                "",
                f"{one.shown} seems to destroy something, and is not annotated so.",
                f'Add `"annotations": {{"readOnlyHint": false, "destructiveHint": true}}` to {one.shown}; '
                "`destructiveHint: false`, if nothing is lost by it.",
                {"annotations": {"readOnlyHint": False, "destructiveHint": True}},
            )


def _annotation_contradicts_name(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        if one.tool.annotations.read_only is True and seems_to_destroy(one.ports):
            yield Found(
                one.name,
                "",
                f"{one.shown} is annotated as one that only reads, and is called as one that destroys.",
                f"Set `readOnlyHint` of {one.shown} to false, or rename it to what it reads.",
                {"annotations": {"readOnlyHint": False}},
            )


_ID = record("note_id", note_id=TEXT)

RULES = (
    Rule(
        "read-only-not-annotated",
        "info",
        "A tool that only reads is not annotated so.",
        "Clients ask the person before each call that may change something, and repeat none; `readOnlyHint` frees a tool of "
        "both.",
        "Add `readOnlyHint: true` to its annotations.",
        _read_only_not_annotated,
        bad=example(tool("get_note", _ID)),
        good=example(tool("get_note", _ID, annotations={"readOnlyHint": True}), tool("append_note", _ID)),
    ),
    Rule(
        "destructive-not-annotated",
        "warning",
        "A tool that destroys something is not annotated so.",
        "A client that trusts annotations cannot tell it from one that adds something; a person should be asked before.",
        "Add `destructiveHint` to its annotations, true or false.",
        _destructive_not_annotated,
        bad=example(tool("delete_note", _ID)),
        good=example(
            tool("delete_note", _ID, annotations={"destructiveHint": True}), tool("list_deleted_notes")
        ),
    ),
    Rule(
        "annotation-contradicts-name",
        "warning",
        "A tool that is called as those are that destroy is annotated as one that only reads.",
        "Who believes the annotation calls it without asking, and again when no answer comes.",
        "Correct the annotation, or the name.",
        _annotation_contradicts_name,
        bad=example(tool("delete_note", _ID, annotations={"readOnlyHint": True})),
        good=example(tool("delete_note", _ID, annotations={"readOnlyHint": False, "destructiveHint": True})),
    ),
)
