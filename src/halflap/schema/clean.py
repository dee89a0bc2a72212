"""Make somebody else's text fit to be shown: to a person, and to a model that may obey it."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

__all__ = ["clean", "clean_deep"]

_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Control characters, invisible marks, what is unassigned or private, halves of pairs, odd line ends."""
_BLANK = frozenset(
    [
        *range(0xFE00, 0xFE10),
        *range(0xE0100, 0xE01F0),
        0x034F,
        0x115F,
        0x1160,
        0x17B4,
        0x17B5,
        0x2800,
        0x3164,
        0xFFA0,
    ]
)
"""Letters and marks, by their category, that nobody can see: selectors and fillers."""
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")
"""What moves a terminal's cursor, colours it or sets its title: gone as a whole, not only its first letter."""
_KEPT = frozenset("\n\t")
_CUT = " … (cut)"
_DEEPEST = 60
_MOST_PARTS = 10_000
_LONGEST_KEY = 200
_LEFT_OUT = "… (cut)"


def clean(text: str, longest: int) -> str:
    """Take out what cannot be seen, and cut what is too long, with a mark."""
    if not text.isascii() or not text.isprintable():
        text = _ESCAPES.sub("", text)
        text = "".join(
            letter
            for letter in text
            if letter in _KEPT or (unicodedata.category(letter) not in _HIDDEN and ord(letter) not in _BLANK)
        )
    return text if len(text) <= longest else text[: longest - len(_CUT)] + _CUT


def clean_deep(value: Any, longest: int) -> Any:
    """Clean every text in a JSON value, and leave out what is too deep or too much, with a mark.

    Keys are left as they are: they have to be written as they are to be used.
    """
    return _Cleaner(longest).clean(value, 0)


class _Cleaner:
    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._parts = 0

    def clean(self, value: Any, depth: int) -> Any:
        self._parts += 1
        if isinstance(value, str):
            shown = clean(value, self._longest)
            self._parts += len(shown) // 40
            return shown
        if not isinstance(value, dict | list):
            return value
        if depth >= _DEEPEST or self._parts > _MOST_PARTS:
            return _LEFT_OUT
        if isinstance(value, list):
            return self._list(value, depth)
        cleaned: dict[str, Any] = {}
        for key, inner in value.items():
            if self._parts > _MOST_PARTS:
                cleaned[_LEFT_OUT] = f"{len(value) - len(cleaned)} more"
                break
            cleaned[clean(key, _LONGEST_KEY) if len(key) > _LONGEST_KEY else key] = self.clean(
                inner, depth + 1
            )
        return cleaned

    def _list(self, value: list[Any], depth: int) -> list[Any]:
        cleaned: list[Any] = []
        for inner in value:
            if self._parts > _MOST_PARTS:
                return [*cleaned, _LEFT_OUT]
            cleaned.append(self.clean(inner, depth + 1))
        return cleaned
