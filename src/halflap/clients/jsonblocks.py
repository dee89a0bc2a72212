"""JSON with comments, taken apart: where in a text its objects, their members and the comments between them are."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.core.errors import ClientFileError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "SPACES",
    "TRIVIA",
    "Block",
    "Document",
    "Member",
    "block_at",
    "comments_in",
    "key_at",
    "same_line",
    "trivia",
    "two_places",
    "without_null",
]

SPACES = " \t\r\n\ufeff"
TRIVIA = re.compile(r"[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SAME_LINE = re.compile(r"(?:[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/))*")
_SKIPPED = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/|[{}\[\]]', re.DOTALL)
_WORD = re.compile(r"[^\s{}\[\]:,\"/]+")
_DECODER = json.JSONDecoder(strict=False)
_ODD = "its form does not allow to change it without writing it anew."
_LONE_RETURN = re.compile(r"\r(?!\n)")


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an object: where its key begins, where its value begins and ends, where its comma is."""

    key: str
    start: int
    value: int
    end: int
    comma: int | None


@dataclass(frozen=True, slots=True)
class Block:
    """An object in a text: its brackets and its members."""

    start: int
    end: int
    members: tuple[Member, ...]

    def index(self, key: str) -> int | None:
        """Say which member has this key, if one does."""
        return next((at for at, member in enumerate(self.members) if member.key == key), None)


class Document:
    """A text, each of its objects taken apart once: files of clients are large, and have many."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._blocks: dict[int, Block] = {}
        # It ends a comment for some readers, and not for others.
        self._is_odd = "//" in text and _LONE_RETURN.search(text) is not None

    def find(self, path: Sequence[str]) -> Block | None:
        """Find the object at a path of keys; None if there is none, and nothing else in its place."""
        if self._is_odd:
            raise ClientFileError(_ODD)
        try:
            return self._found(path)
        except (IndexError, ValueError):
            raise ClientFileError(_ODD) from None

    def there(self, path: Sequence[str]) -> Block:
        """Find an object that has to be there."""
        block = self.find(path)
        if block is None:
            raise ClientFileError(f"there is no `{'.'.join(path)}` any more.")
        return block

    def member(self, path: Sequence[str], key: str) -> Member:
        """Find a member that has to be there, and once."""
        found = self._only(self.there(path), key)
        if found is None:
            raise ClientFileError(f"there is no `{key}` any more.")
        return found

    def _only(self, block: Block, key: str) -> Member | None:
        same = [member for member in block.members if member.key == key]
        if len(same) > 1:
            here, there = two_places(self.text, same[0].start, same[1].start)
            raise ClientFileError(
                f"{here}: the key `{key}` occurs twice; the first is {there}. Keep one of them."
            )
        return same[0] if same else None

    def _found(self, path: Sequence[str]) -> Block | None:
        text = self.text
        at = _after_trivia(text, 0)
        if at == len(text):
            return None
        where = "the file"
        for key in (*path, None):
            if text[at] != "{":
                raise ClientFileError(
                    f"line {_line(text, at)}: {where} is no object, so nothing can be put into it."
                )
            if at not in self._blocks:
                self._blocks[at] = _block(text, at)
            block = self._blocks[at]
            if key is None:
                return block
            member = self._only(block, key)
            if member is None:
                return None
            at, where = member.value, f"`{key}`"
        return None


def without_null(text: str, path: Sequence[str]) -> str:
    """Write `{}` where `null` stands for an object of a path: to clients, both are nothing."""
    for at, key in enumerate(path):
        block = Document(text).find(path[:at])
        for member in () if block is None else block.members:
            if member.key == key and text[member.value : member.end] == "null":
                return without_null(text[: member.value] + "{}" + text[member.end :], path)
        if block is None or block.index(key) is None:
            break
    return text


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def two_places(text: str, first: int, second: int) -> tuple[str, str]:
    """Say where the second of two things is, and where the first: by lines, and on one line by columns."""
    line = _line(text, second)
    if line != _line(text, first):
        return f"line {line}", f"on line {_line(text, first)}"
    begin = text.rfind("\n", 0, first)
    return f"line {line}, column {second - begin}", f"at column {first - begin}"


def trivia(text: str, at: int, end: int) -> list[tuple[str, int]]:
    """Give the spaces and comments from a place on, each with its end."""
    found = []
    while at < end and (match := TRIVIA.match(text, at)) is not None:
        kind = {"//": "line", "/*": "block"}.get(match[0][:2], "space")
        at = match.end()
        found.append((kind, at))
    return found


def _after_trivia(text: str, at: int) -> int:
    while (match := TRIVIA.match(text, at)) is not None:
        at = match.end()
    return at


def same_line(text: str, at: int) -> int:
    """Go past the comments on the rest of a line: they belong to what stands before them."""
    match = _SAME_LINE.match(text, at)
    return match.end() if match else at


def key_at(text: str, member: Member) -> str:
    """Give a member's key to the letter, in its quotes."""
    return _matched(_STRING, text, member.start)[0]


def block_at(text: str, start: int) -> Block:
    """Take the object apart that begins at a place, of a text whose other parts are not to be read again."""
    try:
        return _block(text, start)
    except (IndexError, ValueError):
        raise ClientFileError(_ODD) from None


def _block(text: str, start: int) -> Block:
    """Take an object of a text that is known to be well formed apart."""
    members: list[Member] = []
    at = _after_trivia(text, start + 1)
    while text[at] != "}":
        key = _matched(_STRING, text, at)
        value = _after_trivia(text, _after_trivia(text, key.end()) + 1)
        end = _value_end(text, value)
        at = _after_trivia(text, end)
        comma = at if text[at] == "," else None
        members.append(Member(json.loads(key[0], strict=False), key.start(), value, end, comma))
        if comma is not None:
            at = _after_trivia(text, comma + 1)
    return Block(start, at, tuple(members))


def _value_end(text: str, at: int) -> int:
    if text[at] == '"':
        return _matched(_STRING, text, at).end()
    if text[at] not in "{[":
        return _matched(_WORD, text, at).end()
    with suppress(ValueError, RecursionError):
        # Several times as quick as what follows, but only where there are no comments.
        return _DECODER.raw_decode(text, at)[1]
    depth = 0
    for match in _SKIPPED.finditer(text, at):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    raise ValueError(text[at])


def _matched(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str]:
    match = pattern.match(text, at)
    if match is None:
        raise ValueError(text[at : at + 1])
    return match


def comments_in(text: str, start: int, end: int) -> list[str]:
    """Give the comments within a part of a text that begins outside of strings."""
    return [match[0] for match in _SKIPPED.finditer(text, start, end) if match[0].startswith("/")]
