"""Which word of a name leads to which: `pdf_to_markdown` is not what somebody wants who has Markdown."""

from __future__ import annotations

from typing import NamedTuple

from halflap.catalog.words import term, words

__all__ = ["Step", "steps"]

_TO = frozenset({"to", "into", "2"})
_FROM = frozenset({"from"})


class Step(NamedTuple):
    """Two terms that follow each other, and whether one is said to become the other."""

    first: str
    second: str
    becomes: bool


def steps(text: str) -> set[Step]:
    """Give the pairs of terms that stand together in a text, apart from stop words between them."""
    found = set()
    before, between = "", ""
    for word in words(text, wholes=False):
        if word in _TO or word in _FROM:
            between = word
            continue
        now = term(word)
        if not now:
            continue
        if before:
            pair = (now, before) if between in _FROM else (before, now)
            found.add(Step(*pair, becomes=bool(between)))
        before, between = now, ""
    return found
