"""JSON with comments, edited as text: what is put in or taken out, and not a byte beside it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.config.jsonc import read_jsonc
from halflap.config.nodes import Problems, plain, with_repeated
from halflap.errors import ClientFileError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Block", "Member", "find", "has", "insert", "parse", "raw", "remove", "replace_value", "tail"]

_SPACES = " \t\r\n\ufeff"
_TRIVIA = re.compile(r"[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_SAME_LINE = re.compile(r"(?:[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/))*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_SKIPPED = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/|[{}\[\]]', re.DOTALL)
_WORD = re.compile(r"[^\s{}\[\]:,\"/]+")
_INDENTED = re.compile(r"\n([ \t]+)[^\s]")
_LONE_RETURN = re.compile(r"\r(?!\n)")
_ENDS_LINE = re.compile(r"[ \t]*(?:(?>/\*[^\r\n]*?\*/)[ \t]*)*(?:\r?\n|//|\Z)")


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


def parse(text: str) -> Any:
    """Give the value of a text, `{}` for one with none; a mistake is told with line and column."""
    stripped = text.removeprefix("\ufeff")
    try:
        return json.loads(stripped, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        problems = Problems()
        node = read_jsonc(stripped, problems)
    if node is None:
        problem = problems.found[-1]
        then = f" {problem.suggestion}" if problem.suggestion else ""
        raise ClientFileError(f"line {problem.line}: {problem.message}{then}")
    # As the clients do: of a key that occurs twice, the later counts.
    return plain(with_repeated(node) or node)


def _no_constant(word: str) -> Any:
    raise ValueError(word)


def find(text: str, path: Sequence[str]) -> Block | None:
    """Find the object at a path of keys; None if there is none, and nothing else in its place."""
    try:
        if "//" in text and _LONE_RETURN.search(text):
            # It ends a comment for some readers, and not for others.
            raise ValueError(path)  # noqa: TRY301 -- told as any other form that is not understood
        return _found(text, path)
    except (IndexError, ValueError):
        raise ClientFileError("its form does not allow to change it without writing it anew.") from None


def _found(text: str, path: Sequence[str]) -> Block | None:
    at = _after_trivia(text, 0)
    if at == len(text):
        return None
    where = "the file"
    for key in (*path, None):
        if text[at] != "{":
            raise ClientFileError(
                f"line {_line(text, at)}: {where} is no object, so nothing can be put into it."
            )
        block = _block(text, at)
        if key is None:
            return block
        same = [member for member in block.members if member.key == key]
        if not same:
            return None
        if len(same) > 1:
            raise ClientFileError(
                f"line {_line(text, same[1].start)}: the key `{key}` occurs twice; the first is on line "
                f"{_line(text, same[0].start)}. Keep one of them."
            )
        at, where = same[0].value, f"`{key}`"
    return None


def has(text: str, path: Sequence[str], key: str) -> bool:
    """Say whether the object at the path is there, with this key."""
    block = find(text, path)
    return block is not None and block.index(key) is not None


def raw(text: str, path: Sequence[str], key: str) -> str:
    """Give a member's value to the letter."""
    member = _member(text, path, key)
    return text[member.value : member.end]


def replace_value(
    text: str, path: Sequence[str], key: str, value: Any, *, verbatim: str | None = None
) -> str:
    """Write another value under a key that is there; `verbatim` is the value to the letter."""
    member = _member(text, path, key)
    written = _Style(text, _there(text, path)).written(value) if verbatim is None else verbatim
    return text[: member.value] + written + text[member.end :]


def tail(text: str, path: Sequence[str], key: str) -> str:
    """Give the comments behind a member on its line, which are about it."""
    member = _member(text, path, key)
    at = member.end if member.comma is None else member.comma + 1
    return text[at : _same_line(text, at)]


def insert(
    text: str,
    path: Sequence[str],
    key: str,
    value: Any,
    *,
    index: int | None = None,
    verbatim: str | None = None,
    before: str = "",
) -> str:
    """Add a member to the object at a path, at the end or at an index; objects that are missing are made.

    `verbatim` is its value to the letter; `before` the comments that stood behind it, to have them there again.
    """
    missing = []
    outer = list(path)
    while (block := find(text, outer)) is None and outer:
        missing.append(outer.pop())
    if missing and verbatim is not None:
        return insert(insert(text, path[:-1], path[-1], {}), path, key, value, verbatim=verbatim)
    if missing:
        made: Any = {key: value}
        for name in missing[:-1]:
            made = {name: made}
        return insert(text, outer, missing[-1], made)
    if block is None:
        return _into_nothing(text, key, value, verbatim)
    style = _Style(text, block)
    member = f"{_key(key)}{style.colon}{style.written(value) if verbatim is None else verbatim}"
    if not block.members:
        return _into_empty(text, block, style, member)
    count = len(block.members)
    at = count if index is None else min(index, count)
    before_it = block.members[at - 1] if at else None
    base = block.start + 1 if before_it is None else before_it.end
    if before_it is not None and before_it.comma is not None:
        base = before_it.comma + 1
    anchor = _same_line(text, base)
    if before and text[base:anchor].endswith(before):
        anchor -= len(before)
    return _among(text, style, member, before_it, anchor)


def _among(text: str, style: _Style, member: str, before_it: Member | None, anchor: int) -> str:
    if before_it is None:
        return text[:anchor] + style.before_first(anchor) + member + "," + text[anchor:]
    if before_it.comma is not None:
        return text[:anchor] + style.before_next(anchor) + member + "," + text[anchor:]
    between = text[before_it.end : anchor]
    return text[: before_it.end] + "," + between + style.before_next(anchor) + member + text[anchor:]


def _into_nothing(text: str, key: str, value: Any, verbatim: str | None) -> str:
    """Make an object in a file with nothing in it, or with comments alone."""
    newline = "\r\n" if "\r\n" in text else "\n"
    before = text if not text.strip(_SPACES) or text.endswith("\n") else text + newline
    body = json.dumps({key: value}, indent=2, ensure_ascii=False)
    if verbatim is not None:
        body = f"{{\n  {_key(key)}: {verbatim}\n}}"
    return before + body.replace("\n", newline) + newline


def _into_empty(text: str, block: Block, style: _Style, member: str) -> str:
    anchor, is_line = block.start + 1, False
    for kind, end in _trivia(text, block.start + 1, block.end):
        if kind != "space":
            anchor, is_line = end, kind == "line"
    if not style.lines and not is_line:
        return text[:anchor] + member + text[anchor:]
    rest = text[anchor : block.end]
    closing = "" if "\n" in rest else style.newline + style.outer
    return text[:anchor] + style.newline + style.indent + member + closing + text[anchor:]


def remove(text: str, path: Sequence[str], key: str, *, hollow: str | None = None) -> str:
    """Take a member out; comments stay. `hollow` is what stood between the brackets before it came in."""
    block = _there(text, path)
    found = block.index(key)
    if found is None:
        raise ClientFileError(f"there is no `{key}` any more.")
    member, last = block.members[found], found == len(block.members) - 1
    # From the last comment before it on; a comment may end in spaces, and those are its own.
    start, before = block.start + 1 if found == 0 else (block.members[found - 1].comma or 0) + 1, ""
    for kind, end in _trivia(text, start, member.start):
        if kind != "space":
            start, before = end, kind
    comma = member.comma
    if last and comma is None and found > 0:
        comma = block.members[found - 1].comma
    if before == "line":
        rest = text[member.end :]
        if comma is not None and comma >= member.end:
            rest = text[member.end : comma] + text[comma + 1 :]
        if not _ENDS_LINE.match(rest):
            # Else the comment before it would swallow what comes after.
            start = text.index("\n", start) + 1
    cuts = [(start, member.end)] + ([] if comma is None else [(comma, comma + 1)])
    for begin, end in sorted(cuts, reverse=True):
        text = text[:begin] + text[end:]
    return text if hollow is None or len(block.members) > 1 else _hollowed(text, path, hollow)


def _hollowed(text: str, path: Sequence[str], hollow: str) -> str:
    """Have between the brackets what stood there, if no comment came or went since."""
    emptied = _there(text, path)
    inner = text[emptied.start + 1 : emptied.end]
    if inner.strip(_SPACES) != hollow.strip(_SPACES):
        return text
    return text[: emptied.start + 1] + hollow + text[emptied.end :]


class _Style:
    """How the text is laid out around an object, so that what is put in looks like what is there."""

    def __init__(self, text: str, block: Block) -> None:
        self.text = text
        self.newline = "\r\n" if "\r\n" in text else "\n"
        line_start = text.rfind("\n", 0, block.start) + 1
        line = text[line_start : block.start].lstrip("\ufeff")
        self.outer = line[: len(line) - len(line.lstrip(" \t"))]
        unit = _INDENTED.search(text)
        self.unit = unit[1] if unit else "  "
        self.indent = self.outer + self.unit
        self.between = " "
        tight = False
        if block.members:
            first = block.members[0]
            self.lines = "\n" in text[block.start : first.start]
            own = text[text.rfind("\n", 0, first.start) + 1 : first.start]
            if self.lines and not own.strip(" \t"):
                self.indent = own
                step = own.removeprefix(self.outer)
                self.unit = step if (step and step != own) or not self.outer else self.unit
            tight = text[first.value - 1] == ":"
            self.between = "" if tight else " "
            if first.comma is not None and len(block.members) > 1:
                gap = text[first.comma + 1 : block.members[1].start]
                self.between = self.between if gap.strip(" \t") else gap
            self.lead = text[block.start + 1 : first.start]
        else:
            whole = text.strip(_SPACES)
            self.lines = "\n" in whole or whole.startswith("{}")
            self.lead = ""
            tight = not self.lines and not re.search(r'":[ \t]', text)
        self.colon = ":" if tight and not self.lines else ": "
        self.tight = tight

    def written(self, value: Any) -> str:
        if self.lines:
            shown = json.dumps(value, indent=self.unit, ensure_ascii=False)
            return shown.replace("\n", self.newline + self.indent)
        return json.dumps(value, ensure_ascii=False, separators=(",", ":") if self.tight else (", ", ": "))

    def before_first(self, anchor: int) -> str:
        if self.lines or self._after_line_comment(anchor):
            return self.newline + self.indent
        return self.lead if not self.lead.strip(" \t") else ""

    def before_next(self, anchor: int) -> str:
        if self.lines or self._after_line_comment(anchor):
            return self.newline + self.indent
        return self.between

    def _after_line_comment(self, anchor: int) -> bool:
        """Say whether what is put in here would be part of a comment, were it on the same line."""
        line_start = self.text.rfind("\n", 0, anchor) + 1
        at, is_line = line_start, False
        while at < anchor:
            skipped = _STRING.match(self.text, at) or _TRIVIA.match(self.text, at)
            if skipped is None:
                at += 1
                is_line = False
            else:
                is_line = skipped[0].startswith("//")
                at = skipped.end()
        return is_line


def _key(key: str) -> str:
    return json.dumps(key, ensure_ascii=False)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _there(text: str, path: Sequence[str]) -> Block:
    block = find(text, path)
    if block is None:
        raise ClientFileError(f"there is no `{'.'.join(path)}` any more.")
    return block


def _member(text: str, path: Sequence[str], key: str) -> Member:
    block = _there(text, path)
    index = block.index(key)
    if index is None:
        raise ClientFileError(f"there is no `{key}` any more.")
    return block.members[index]


def _trivia(text: str, at: int, end: int) -> list[tuple[str, int]]:
    """Give the spaces and comments from a place on, each with its end."""
    found = []
    while at < end and (match := _TRIVIA.match(text, at)) is not None:
        kind = {"//": "line", "/*": "block"}.get(match[0][:2], "space")
        at = match.end()
        found.append((kind, at))
    return found


def _after_trivia(text: str, at: int) -> int:
    while (match := _TRIVIA.match(text, at)) is not None:
        at = match.end()
    return at


def _same_line(text: str, at: int) -> int:
    """Go past the comments on the rest of a line: they belong to what stands before them."""
    match = _SAME_LINE.match(text, at)
    return match.end() if match else at


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
