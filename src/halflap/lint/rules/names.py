"""Rules about the names of tools: that clients take them, and that each is there once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.lint.rule import Found, Limits, Rule
from halflap.lint.sample import TEXT, example, record, tool
from halflap.schema import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.lint.server import Server

__all__ = ["RULES"]

_ODD = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST = 100
_MOST_SHOWN = 5


def _name_characters(server: Server, _: Limits) -> Iterator[Found]:
    for one in server.entries:
        odd = dict.fromkeys(_ODD.findall(one.tool.original_name))
        if odd or not one.tool.original_name:
            shown = " ".join(
                f"`{visible(letter, 20)}`" if letter.strip() else "a space"
                for letter in list(odd)[:_MOST_SHOWN]
            )
            better = _ODD.sub("_", one.tool.original_name)[:64] or "a_name"
            yield Found(
                one.name,
                "",
                f"The name {one.shown} has characters that clients refuse: {shown}."
                if odd
                else "A tool has an empty name, which clients refuse.",
                f"Rename it to `{better}`: letters A to Z, digits, `_` and `-`.",
                {"name": better},
            )


def _name_too_long(server: Server, limits: Limits) -> Iterator[Found]:
    for one in server.entries:
        size = len(one.tool.original_name)
        if size > limits.name_length:
            yield Found(
                one.name,
                "",
                f"The name {one.shown} has {size} characters; clients refuse more than {limits.name_length}.",
                f"Shorten it by {size - limits.name_length} characters or more.",
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
                f"Shorten {one.shown} by {prefixed - limits.name_length} characters or more, or configure the server under "
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
