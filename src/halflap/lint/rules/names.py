"""Rules about the names of tools: that clients take them, and that each is there once."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING
from unicodedata import combining, normalize

from halflap.core.text import visible
from halflap.lint.rule import Found, Limits, Rule, counted
from halflap.lint.sample import TEXT, example, record, tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.lint.server import Server

__all__ = ["RULES"]

_ODD = re.compile(r"[^A-Za-z0-9_-]")
_LETTER = re.compile(r"[A-Za-z]")
_SPACES = {" ": "a space", "\n": "a line break", "\r": "a carriage return", "\t": "a tab"}
_LONGEST = 100
_MOST_SHOWN = 5


def _name_characters(server: Server, limits: Limits) -> Iterator[Found]:
    better = {one.name: _better(one.tool.original_name, limits) for one in server.entries}
    wanted = Counter(better.values())
    for one in server.entries:
        odd = dict.fromkeys(_ODD.findall(one.tool.original_name))
        if not odd and one.tool.original_name:
            continue
        shown = " ".join(_shown(letter) for letter in list(odd)[:_MOST_SHOWN])
        name = better[one.name]
        # Which of several is called so, only their author can say.
        is_free = bool(name) and wanted[name] == 1
        taken = f"; `{name}` would be more than one tool's" if name and not is_free else ""
        rename = f"Rename it to `{name}`" if is_free else "Give it a name of its own"
        yield Found(
            one.name,
            "",
            f"The name {one.shown} has characters that clients refuse: {shown}."
            if odd
            else "A tool has an empty name, which clients refuse.",
            f"{rename}: letters A to Z, digits, `_` and `-`{taken}.",
            {"name": name} if is_free else None,
        )


def _better(name: str, limits: Limits) -> str:
    """Write a name in letters that clients take; nothing where that would not say what it said."""
    if name and not _ODD.search(name):
        return name
    plain = "".join(letter for letter in normalize("NFKD", name) if not combining(letter))
    written = _ODD.sub("_", plain.strip())
    lost = sum(letter.isalnum() for letter in plain) - sum(letter.isalnum() for letter in written)
    return "" if lost or not _LETTER.search(written) else written[: limits.name_length]


def _shown(letter: str) -> str:
    if letter.isspace():
        return _SPACES.get(letter, f"a space (U+{ord(letter):04X})")
    return f"`{visible(letter, 20)}`"


def _name_too_long(server: Server, limits: Limits) -> Iterator[Found]:
    for one in server.entries:
        size = len(one.tool.original_name)
        if size > limits.name_length:
            yield Found(
                one.name,
                "",
                f"The name {one.shown} has {size} characters; clients refuse more than {limits.name_length}.",
                f"Shorten it by {counted(size - limits.name_length, 'character')} or more.",
            )


def _prefixed_name_too_long(server: Server, limits: Limits) -> Iterator[Found]:
    for one in server.entries:
        name = one.tool.original_name
        prefixed = len(f"mcp__{server.name}__{name}")
        if len(name) <= limits.name_length < prefixed:
            yield Found(
                one.name,
                "",
                f"With the prefix that clients put before it, `mcp__{visible(server.name, _LONGEST)}__`, {one.shown} has "
                f"{prefixed} characters; {limits.name_length} are taken.",
                f"Shorten {one.shown} by {counted(prefixed - limits.name_length, 'character')} or more, or configure the server under "
                "a shorter name.",
            )


def _duplicate_name(server: Server, _: Limits) -> Iterator[Found]:
    for name in server.duplicates:
        for one in server.entries:
            if one.tool.original_name == name:
                yield Found(
                    one.name,
                    "",
                    f"There is more than one tool named {one.shown}; clients keep one of them.",
                    f"Give each {one.shown} a name of its own that says how they differ.",
                )


_TEXT = record("text", text=TEXT)

RULES = (
    Rule(
        "name-characters",
        "error",
        "A tool's name has characters that clients refuse.",
        "The interfaces of models take letters, digits, `_` and `-`; a tool with another name is left out or renamed, or "
        "the whole request fails.",
        "Use letters A to Z, digits, `_` and `-` alone.",
        _name_characters,
        bad=example(tool("text/translate now", _TEXT)),
        good=example(tool("text-translate_now", _TEXT)),
    ),
    Rule(
        "name-too-long",
        "error",
        "A tool's name is longer than 64 characters.",
        "The interfaces of models take names of up to 64 characters.",
        "Shorten it. The limit is `lint.max_name_length`.",
        _name_too_long,
        bad=example(tool("translate_" * 7, _TEXT)),
        good=example(tool("translate", _TEXT)),
    ),
    Rule(
        "prefixed-name-too-long",
        "warning",
        "With `mcp__<server>__` before it, a tool's name is longer than 64 characters.",
        "Clients with several servers put the server's name before the tool's; beyond 64 characters they cut it, or leave the "
        "tool out.",
        "Shorten the tool's name, or the name that the server is configured under.",
        _prefixed_name_too_long,
        bad=example(tool("translate_the_text_of_a_document_into_another_language_a", _TEXT)),
        good=example(tool("translate_document", _TEXT)),
    ),
    Rule(
        "duplicate-name",
        "error",
        "A server lists two tools of one name.",
        "One of them cannot be called.",
        "Rename one.",
        _duplicate_name,
        bad=example(tool("translate", _TEXT), tool("translate", record())),
        good=example(tool("translate", _TEXT), tool("translate_file", record())),
    ),
)
