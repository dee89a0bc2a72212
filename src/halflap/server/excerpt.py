"""What the person is shown of a program before they let it call a tool.

The program's author wants the user's consent. So names in comments and texts come last, and a long line is
shown around the name, not from its beginning. Nothing is parsed: each step takes time in proportion to the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from halflap.core.text import clean, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LONGEST_WHOLE", "excerpt"]

LONGEST_WHOLE = 2_000
_MOST_READ = 1_048_576
"""No longer program is run."""
_MOST_PARTS = 20
_AROUND = 90
_LONGEST_WORD = 200
_BY_NAME = "call_tool"
"""What calls a tool whose name may be put together as the program runs."""
_WORD = re.compile(r"[^\W\d]\w*")
_QUIET = re.compile(
    r"(#)[^\n]*+"
    r"|([A-Za-z]{0,2}+)"
    r"(?:\"\"\"(?:[^\"\\]++|\\.|\"(?!\"\"))*+(?:\"\"\")?|'''(?:[^'\\]++|\\.|'(?!''))*+(?:''')?"
    r"|\"(?:[^\"\\\n]++|\\.)*+\"?|'(?:[^'\\\n]++|\\.)*+'?)",
    re.DOTALL,
)
"""A comment, or a text with what stands before its quote. One that does not end goes on to the end, so that none is
looked at twice."""
_RANKS = ("", "", " (in a text)", " (in a comment)")
_NAMED, _BY_CALL_TOOL, _IN_TEXT, _IN_COMMENT = range(4)


class _Found(NamedTuple):
    rank: int
    at: int
    length: int


def excerpt(code: str, names: frozenset[str]) -> str:
    """Show a short program whole; of a longer one what stands around the names, those in its code first."""
    if len(code) <= LONGEST_WHOLE:
        return f"The program:\n{clean(code, LONGEST_WHOLE)}"
    # As Python reads it: no other character ends a line.
    code = code[:_MOST_READ].replace("\r\n", "\n").replace("\r", "\n")
    shown: list[tuple[int, int]] = []
    parts: list[str] = []
    more = 0
    for found in sorted(_all_found(code, names)):
        if any(start <= found.at < end for start, end in shown):
            continue
        if len(shown) == _MOST_PARTS:
            more += 1
            continue
        span, part = _part(code, found)
        shown.append(span)
        parts.append(part)
    if not parts:
        parts.append("(no line of it names them; a script that it calls does)")
    elif more:
        parts.append(f"… and {more:,} more such places")
    head = (
        f"Of the program, {code.count(chr(10)) + 1:,} lines long, only excerpts are shown, around these names"
    )
    return "\n".join([f"{head} and `{_BY_NAME}`:", *parts])


def _all_found(code: str, names: frozenset[str]) -> Iterator[_Found]:
    quiet = list(_quiet(code))
    starts = [start for start, _, _ in quiet]
    for match in _WORD.finditer(code):
        word, at = match[0], match.start()
        if word not in names and word != _BY_NAME:
            continue
        index = bisect_right(starts, at) - 1
        rank = quiet[index][2] if index >= 0 and at < quiet[index][1] else _NAMED
        if word == _BY_NAME:
            if rank != _NAMED:
                continue
            rank = _BY_CALL_TOOL
        yield _Found(rank, at, min(len(word), _LONGEST_WORD))


def _quiet(code: str) -> Iterator[tuple[int, int, int]]:
    """Find comments and texts that are nothing else.

    In a text that has expressions in it, and behind it in its line, all counts as code: where such a text ends, only
    the whole grammar could say.
    """
    loud_until = 0
    for match in _QUIET.finditer(code):
        start, end = match.span()
        if match[2] and set(match[2].lower()) & {"f", "t"}:
            if end > loud_until:
                line_end = code.find("\n", end)
                loud_until = len(code) if line_end < 0 else line_end
        elif start >= loud_until:
            yield start, end, _IN_COMMENT if match[1] else _IN_TEXT


def _part(code: str, found: _Found) -> tuple[tuple[int, int], str]:
    """Return the place of a line, or of the part around a name, and its shown text."""
    begin = code.rfind("\n", 0, found.at) + 1
    end = code.find("\n", found.at)
    end = len(code) if end < 0 else end
    first, last = max(begin, found.at - _AROUND), min(end, found.at + found.length + _AROUND)
    before = "…" if code[begin:first].strip() else ""
    behind = "…" if code[last:end].strip() else ""
    text = visible(code[first:last].strip(), 2 * _AROUND + _LONGEST_WORD, keep="\t")
    line = code.count("\n", 0, found.at) + 1
    return (first, last), f"{line}{_RANKS[found.rank]}: {before}{text}{behind}"
