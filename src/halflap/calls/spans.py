"""Places in a text, looked for in time in proportion to its length.

Long texts are looked at in parts, since a regular expression holds up all other threads while it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

__all__ = ["Span", "bounded", "in_parts"]

Span = tuple[int, int]
_PART = 65_536
_OVERLAP = 1_024
_MOST_FOUND = 10_000
"""Where a text holds more secrets than these, all of the rest is taken out: looking at each takes too long."""


def in_parts(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Find all matches, part by part; each may be a thousand characters long."""
    for start in range(0, len(text), _PART):
        for match in pattern.finditer(text, start, start + _PART + _OVERLAP):
            if match.start() >= start + _PART:
                break
            yield match


def bounded(spans: Iterator[Span], end: int) -> Iterator[Span]:
    """Give the first of the spans, and then, if there are far too many, all of the rest as one."""
    for number, span in enumerate(spans):
        if number == _MOST_FOUND:
            yield span[0], end
            return
        yield span
