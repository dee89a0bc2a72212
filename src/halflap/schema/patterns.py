"""How much work a regular expression is: to compile, and to try."""

from __future__ import annotations

import re

__all__ = ["cost_of_pattern", "weight_of_pattern"]

_HARD = re.compile(r"\(\?(?![:imsux-])|\\[0-9kgGK]|[+*?}]\+")
"""Looking around, references to groups, possession: all else takes as long as the text is."""
_TOKEN = re.compile(
    r"\\[pPux]\{[^}]{0,40}\}|\\.|\[\^?\]?(?:\\.|[^\]\\])*(?:\]|\\?\Z)|\{(\d*),?(\d*)\}|.", re.DOTALL
)
_ALPHABETS = re.compile(r"\\[wWpP]")
_WIDE = 1_500
"""What a class of the letters of all scripts counts: it is that many ranges. `\\w` is one in a hard pattern only."""
_CLASS = 20
"""What any other class counts in a hard pattern."""
_EASY_WEIGHT = 50
_HARD_WEIGHT = 2_000
_ONE = 20
_MOST = 1_000_000


def weight_of_pattern(pattern: str) -> int:
    """Give how many steps of anything else one try weighs."""
    return _HARD_WEIGHT if _HARD.search(pattern) else _EASY_WEIGHT


def cost_of_pattern(pattern: str) -> int:
    """Give how many parts of a schema take as long to compile: it is as large as if all was written out."""
    return _ONE + len(pattern) // 20 + _written_out(pattern) // 10


def _written_out(pattern: str) -> int:
    """Count the letters that a pattern would have without `{n}`, roughly."""
    if len(pattern) > _MOST:
        return _MOST
    hard = _HARD.search(pattern) is not None
    groups = [0]
    last = 0
    for token in _TOKEN.finditer(pattern):
        word = token.group()
        if word == "(":
            groups.append(0)
            last = 0
        elif word == ")" and len(groups) > 1:
            last = groups.pop()
            groups[-1] += last
        elif token.lastindex:
            times = max((int(digits[:6]) for digits in token.groups() if digits), default=1)
            more = min(last * max(times - 1, 0), _MOST)
            groups[-1] += more
            last += more
        else:
            last = _letters(word, hard=hard)
            groups[-1] += last
    return min(sum(groups), _MOST)


def _letters(word: str, *, hard: bool) -> int:
    if word[0] in "\\[" and _ALPHABETS.search(word) and (hard or "\\p" in word or "\\P" in word):
        return _WIDE
    return _CLASS if hard and word[0] in "\\[." else 1
