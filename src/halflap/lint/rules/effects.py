"""Rules about what a tool does to the world, and whether its annotations say so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.graph.effects import seems_to_change, seems_to_destroy
from halflap.graph.words import phrase, pieces_of, words_of_text
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
_SHAPED = frozenset(["append", "insert", "mark", "move", "remove", "rename", "truncate"])
"""What a parameter may ask for that is done to the result alone: `removeScripts` of a page that is read."""
_ACTS = _SHAPED | {
    "acknowledge", "archive", "clear", "consume", "create", "delete", "dismiss", "erase", "flush", "install", "overwrite",
    "persist", "publish", "purge", "reset", "save", "send", "store", "submit", "update", "upload", "write",
}  # fmt: skip


def _doing(verbs: frozenset[str]) -> re.Pattern[str]:
    """Find verbs as what is done, and not as what is told of: `Get the store`, `orders to send`."""
    any_form = "|".join(
        rf"{one.removesuffix('e')}(?:e?s|ing|e)?" if one.endswith("e") else rf"{one}(?:s|es|ing)?"
        for one in sorted(verbs)
    )
    return re.compile(
        rf"(?:^|[.!;:]\s+|\b(?:and|then|also|optionally|automatically)\s+)(?:{any_form})\s+(?!by\b|to\b|date|time)\w"
        rf"|\b(?:whether|if (?:true|set))\W+(?:to\s+)?(?:also\s+)?(?:{any_form})\b",
        re.IGNORECASE,
    )


_TOOL_DOES, _SWITCH_DOES = _doing(_ACTS), _doing(_ACTS - _SHAPED)
_WRITTEN_TO = frozenset(
    ["save path", "save to", "output path", "output file", "output dir", "output directory", "output folder", "download path",
     "download dir", "download directory", "save dir", "save directory", "destination path", "target path"]
)  # fmt: skip
"""What parameters are called that say where a result is written."""
_TAKES_OUT = frozenset({"remove", "removes", "erase", "clear"})
_TAKEN_OUT = frozenset(
    ["accents", "background", "backgrounds", "diacritics", "emojis", "html", "markdown", "noise", "outliers", "punctuation", "silence",
     "stopwords", "vocals", "watermark", "watermarks", "whitespace"]
)  # fmt: skip
_OF_WHAT = frozenset({"", "from", "of", "in"})
"""`remove_background` gives another picture; `remove_background_job` ends something."""
_LONGEST = 2_000


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
    if _can_change(one):
        return False
    if words[0] in _READING or words[-1] in _READING_LAST:
        return True
    # `git_log`: where the name has no verb, the description begins with it.
    return words_of_text(one.tool.description.strip()[:_BEGINNING])[:1] in _BEGINNINGS


def _can_change(one: Entry) -> bool:
    """Say whether a parameter or a description says that something is changed on the way: `clear`, `and save it`."""
    if _TOOL_DOES.search(one.tool.description[:_LONGEST]):
        return True
    for part in one.inputs:
        is_switch = part.kinds == {"boolean"} and bool(part.words) and part.words[0] in _ACTS - _SHAPED
        if is_switch or phrase(part.words) in _WRITTEN_TO:
            return True
        if part.kinds == {"boolean"} and _SWITCH_DOES.search(one.description_of(part)[:_LONGEST]):
            return True
    return False


def _destroys(one: Entry) -> bool:
    """Say whether a tool is called as those are that destroy something; who takes it out of a copy does not."""
    if not seems_to_destroy(one.ports):
        return False
    words = pieces_of(one.tool.original_name)
    for before, word, behind in zip(words, words[1:], [*words[2:], ""], strict=False):
        if before in _TAKES_OUT and word in _TAKEN_OUT and behind in _OF_WHAT:
            return one.ports.is_destructive
    return True


def _destructive_not_annotated(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        said = one.tool.annotations
        if said.destructive is None and said.read_only is not True and _destroys(one):
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
        if one.tool.annotations.read_only is True and _destroys(one):
            also = " and `destructiveHint` to true" if one.tool.annotations.destructive is None else ""
            yield Found(
                one.name,
                "",
                f"{one.shown} is annotated as one that only reads, and is called as one that destroys.",
                f"Set `readOnlyHint` of {one.shown} to false{also}, or rename it to what it reads.",
                {"annotations": {"readOnlyHint": False, **({"destructiveHint": True} if also else {})}},
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
        good=example(
            tool("get_note", _ID, annotations={"readOnlyHint": True}),
            tool("append_note", _ID),
            {**tool("fetch_page"), "description": "Download a page and save it to a file."},
        ),
    ),
    Rule(
        "destructive-not-annotated",
        "warning",
        "A tool that destroys something is not annotated so.",
        "A client that trusts annotations cannot tell it from one that adds something; a person should be asked before. "
        "`readOnlyHint: false` alone says only that it changes something.",
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
