"""JSON with comments, edited as text: what is put in or taken out, and not a byte beside it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halflap.clients.jsonblocks import (
    SPACES,
    TRIVIA,
    Block,
    Document,
    Member,
    same_line,
    trivia,
)
from halflap.config.problems import SyntaxProblem
from halflap.config.source_lines import parse_json
from halflap.core.errors import ClientFileError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

__all__ = [
    "Block",
    "Layout",
    "Member",
    "broken_text",
    "find",
    "insert",
    "insert_into",
    "parse",
    "raw",
    "remove",
    "remove_all",
    "replace_value",
]

_INDENTED = re.compile(r"\n([ \t]+)[^\s]")
_ENDS_LINE = re.compile(r"[ \t]*(?:(?>/\*[^\r\n]*?\*/)[ \t]*)*(?:\r?\n|//|\Z)")
_BLANK = re.compile(r"[ \t]*(?:\r?\n|\Z)")


def parse(text: str) -> Any:
    """Return the value of a text, `{}` for an empty one; of a key that occurs twice the later one, as clients do."""
    try:
        return parse_json(text.removeprefix("\ufeff"))[0]
    except SyntaxProblem as problem:
        then = f" {problem.suggestion}" if problem.suggestion else ""
        raise ClientFileError(f"line {problem.line}: {problem.message}{then}") from problem


def broken_text(text: str) -> bool:
    """Return whether a text contains half a surrogate pair, which can't be encoded."""
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def find(text: str, path: Sequence[str]) -> Block | None:
    """Find the object at a path of keys; None if there is none, and nothing else in its place."""
    return Document(text).find(path)


def raw(text: str, path: Sequence[str], key: str) -> str:
    """Give a member's value to the letter."""
    member = Document(text).member(path, key)
    return text[member.value : member.end]


def replace_value(
    text: str, path: Sequence[str], key: str, value: Any, *, verbatim: str | None = None
) -> str:
    """Write another value under a key that is there; `verbatim` is the value to the letter."""
    member = Document(text).member(path, key)
    written = _Style(text, Document(text).there(path)).written(value) if verbatim is None else verbatim
    return text[: member.value] + written + text[member.end :]


def insert(
    text: str,
    path: Sequence[str],
    key: str,
    value: Any,
    *,
    index: int | None = None,
    verbatim: str | None = None,
    spelled: str = "",
) -> str:
    """Add a member to the object at a path, at the end or at an index; objects that are missing are made.

    `verbatim` is its value to the letter, and `spelled` its key.
    """
    missing = []
    outer = list(path)
    while (block := find(text, outer)) is None and outer:
        missing.append(outer.pop())
    if missing and verbatim is not None:
        text = insert(text, path[:-1], path[-1], {})
        return insert(text, path, key, value, verbatim=verbatim, spelled=spelled)
    if missing:
        made: Any = {key: value}
        for name in missing[:-1]:
            made = {name: made}
        return insert(text, outer, missing[-1], made)
    if block is None:
        return _into_nothing(text, key, value, verbatim)
    return insert_into(text, block, key, value, index=index, verbatim=verbatim, spelled=spelled)


def insert_into(
    text: str,
    block: Block,
    key: str,
    value: Any,
    *,
    index: int | None = None,
    verbatim: str | None = None,
    spelled: str = "",
    before: str = "",
    behind: str = "",
    layout: Layout | None = None,
) -> str:
    """Add a member to an object that was found.

    `before` are comments that it is put before, if they are there, and `behind` is one that it is put behind. A
    text that is the object alone, cut out of a larger one, has the `layout` of that.
    """
    style = _Style(text, block, layout)
    member = f"{spelled or _key(key)}{style.colon}{style.written(value) if verbatim is None else verbatim}"
    count = len(block.members)
    at = count if index is None else min(index, count)
    before_it = block.members[at - 1] if at else None
    base = block.start + 1 if before_it is None else before_it.end
    if before_it is not None and before_it.comma is not None:
        base = before_it.comma + 1
    anchor = _beside(text, base, block.members[at].start if at < count else block.end, before, behind)
    if not block.members:
        if anchor is not None and _is_line_start(text, anchor):
            return text[:anchor] + member + text[anchor:]
        return _into_empty(text, block, style, member, anchor)
    return _among(text, style, member, before_it, same_line(text, base) if anchor is None else anchor)


def _beside(text: str, base: int, limit: int, before: str, behind: str) -> int | None:
    """Find the place between two members where comments stand that were beside one."""
    start = base
    for kind, end in trivia(text, base, limit):
        if kind != "space":
            ahead = start - (len(before) - len(before.lstrip(" \t")))
            if before and ahead >= base and text.startswith(before, ahead):
                return ahead
            if not before and behind and text[start:end] == behind:
                return end
        start = end
    return None


def _is_line_start(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip(" \t") and "\n" in text[:at]


def _among(text: str, style: _Style, member: str, before_it: Member | None, anchor: int) -> str:
    lead = style.before_first(anchor) if before_it is None else style.before_next(anchor)
    if _is_line_start(text, anchor):
        lead = ""
    if before_it is None or before_it.comma is not None:
        return text[:anchor] + lead + member + "," + text[anchor:]
    return text[: before_it.end] + "," + text[before_it.end : anchor] + lead + member + text[anchor:]


def _into_nothing(text: str, key: str, value: Any, verbatim: str | None) -> str:
    """Make an object in a file with nothing in it, or with comments alone."""
    newline = "\r\n" if "\r\n" in text else "\n"
    before = text if not text.strip(SPACES) or text.endswith("\n") else text + newline
    body = _json({key: value}, indent=2)
    if verbatim is not None:
        body = f"{{\n  {_key(key)}: {verbatim}\n}}"
    return before + body.replace("\n", newline) + newline


def _into_empty(text: str, block: Block, style: _Style, member: str, beside: int | None) -> str:
    """Put the first member behind the comments, or behind the one that ends where it is to stand beside."""
    anchor, is_line = block.start + 1, False
    for kind, end in trivia(text, block.start + 1, block.end):
        if kind != "space" and (beside is None or end <= beside):
            anchor, is_line = end, kind == "line"
    if not style.lines and not is_line:
        return text[:anchor] + member + text[anchor:]
    rest = text[anchor : block.end]
    closing = "" if "\n" in rest else style.newline + style.outer
    return text[:anchor] + style.newline + style.indent + member + closing + text[anchor:]


def remove(text: str, path: Sequence[str], key: str, *, hollow: str | None = None) -> str:
    """Take out what was put in; comments stay. `hollow` is what stood between the brackets before it came in."""
    document = Document(text)
    block, member = document.there(path), document.member(path, key)
    found = block.members.index(member)
    last = found == len(block.members) - 1
    start, before = _after_comments(text, block, found)
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


def remove_all(document: Document, members: Mapping[tuple[str, ...], Collection[str]]) -> str:
    """Take members out of objects, all at once; the comments around them stay, each on its line."""
    text, pieces, at = document.text, [], 0
    cuts = [cut for path, keys in members.items() for cut in _cuts(text, document.there(path), keys)]
    for begin, end, instead in sorted(cuts):
        pieces += [text[at:begin], instead]
        at = end
    return "".join([*pieces, text[at:]])


def _cuts(text: str, block: Block, keys: Collection[str]) -> Iterator[tuple[int, int, str]]:
    """Say what goes with the members: from the last comment before each on, so far as no other line needs that."""
    newline = "\r\n" if "\r\n" in text[block.start : block.end] else "\n"
    # The comment that would stand right before what comes next, if no line ends between.
    inherited, kept = "", None
    for at, member in enumerate(block.members):
        if member.key not in keys:
            inherited, kept = "", member
            continue
        start, comment = _after_comments(text, block, at)
        comment, instead = comment or inherited, ""
        inherited = comment
        if not _ends_line(text, member):
            if "\n" in text[start : member.start]:
                start = member.start
            elif comment == "line":
                instead = newline
            inherited = ""
        elif "\n" in text[member.end : member.comma or member.end]:
            inherited = ""
        yield start, member.end, instead
        if member.comma is not None:
            yield member.comma, member.comma + 1, ""
    if (
        block.members
        and block.members[-1].key in keys
        and block.members[-1].comma is None
        and kept is not None
    ):
        assert kept.comma is not None
        yield kept.comma, kept.comma + 1, ""


def _after_comments(text: str, block: Block, at: int) -> tuple[int, str]:
    """Say where the last comment before a member ends, and of which kind it is."""
    start, comment = block.start + 1 if at == 0 else (block.members[at - 1].comma or 0) + 1, ""
    for kind, end in trivia(text, start, block.members[at].start):
        if kind != "space":
            # A comment may end in spaces, and those are its own.
            start, comment = end, kind
    return start, comment


def _ends_line(text: str, member: Member) -> bool:
    """Say whether nothing is left of a member's line behind it, once its comma is gone."""
    if member.comma is None:
        return _BLANK.match(text, member.end) is not None
    between = text[member.end : member.comma]
    if "\n" in between:
        return _BLANK.match(between) is not None
    return not between.strip(" \t") and _BLANK.match(text, member.comma + 1) is not None


def _hollowed(text: str, path: Sequence[str], hollow: str) -> str:
    """Have between the brackets what stood there, if no comment came or went since."""
    emptied = Document(text).there(path)
    inner = text[emptied.start + 1 : emptied.end]
    if inner.strip(SPACES) != hollow.strip(SPACES):
        return text
    return text[: emptied.start + 1] + hollow + text[emptied.end :]


@dataclass(frozen=True, slots=True)
class Layout:
    """How a whole text is laid out, and the line that one of its objects begins on."""

    newline: str
    unit: str
    """What each level is indented by."""
    lines: bool
    """It has more than one line, or will have."""
    tight: bool
    """There is no space behind a colon."""
    outer: str = ""
    """What the line of the object is indented by."""

    @classmethod
    def of(cls, text: str) -> Layout:
        """Read it off a text; that takes as long as the text is large."""
        unit, whole = _INDENTED.search(text), text.strip(SPACES)
        lines = "\n" in whole or whole.startswith("{}")
        tight = not lines and not re.search(r'":[ \t]', text)
        return cls("\r\n" if "\r\n" in text else "\n", unit[1] if unit else "  ", lines, tight)

    def at(self, text: str, start: int) -> Layout:
        """Give it for an object that begins there."""
        line = text[text.rfind("\n", 0, start) + 1 : start].lstrip("\ufeff")
        return replace(self, outer=line[: len(line) - len(line.lstrip(" \t"))])


class _Style:
    """How the text is laid out around an object, so that what is put in looks like what is there."""

    def __init__(self, text: str, block: Block, layout: Layout | None = None) -> None:
        layout = Layout.of(text).at(text, block.start) if layout is None else layout
        self.text = text
        self.block = block
        self.newline, self.unit, self.outer = layout.newline, layout.unit, layout.outer
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
            self.lines, tight = layout.lines, layout.tight
            self.lead = ""
        self.colon = ":" if tight and not self.lines else ": "
        self.tight = tight

    def written(self, value: Any) -> str:
        if self.lines:
            shown = _json(value, indent=self.unit)
            return shown.replace("\n", self.newline + self.indent)
        return _json(value, separators=(",", ":") if self.tight else (", ", ": "))

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
        # Only spaces, comments and a comma are between: a file may be one line of many megabytes.
        at = max((one.end for one in self.block.members if one.end <= anchor), default=self.block.start + 1)
        is_line = False
        while at < anchor:
            skipped = TRIVIA.match(self.text, at)
            at = at + 1 if skipped is None else skipped.end()
            is_line = skipped is not None and skipped[0].startswith("//")
        return is_line


def _key(key: str) -> str:
    return _json(key)


def _json(value: Any, **form: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, **form)
    # Half a letter can only be written by its number.
    return json.dumps(value, **form) if broken_text(text) else text
