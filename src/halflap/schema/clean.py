"""Make somebody else's text fit to be shown: to a person, and to a model that may obey it."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

__all__ = ["clean", "clean_deep", "clean_telling", "visible"]

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
_LINE_LETTERS = "\n\t"
_KEPT = frozenset(_LINE_LETTERS)
_TWO_BYTES = 0xFFFF
_CUT = " … (cut)"
_DEEPEST = 60
_MOST_PARTS = 5_000
_LONGEST_KEY = 200
_LEFT_OUT = "… (cut)"


_PROSE = frozenset({"description", "title", "$comment", "instructions"})
_EXACT = frozenset({"enum", "const", "default", "examples"})
_SPELLED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_READ = 8
"""So many times as much as is shown is looked at: of a text that is all hidden, nothing is shown."""


def clean(text: str, longest: int) -> str:
    """Take out what cannot be seen, and cut what is too long, with a mark: for prose, which is only read."""
    long = len(text) > _READ * longest
    text = text[: _READ * longest]
    if not text.isascii() or not text.isprintable():
        text = _ESCAPES.sub("", text)
        text = "".join(letter for letter in text if letter in _KEPT or not _is_hidden(letter))
    return text if len(text) <= longest and not long else text[: longest - len(_CUT)] + _CUT


def visible(text: str, longest: int, *, kept: str = "") -> str:
    r"""Write what cannot be seen as its number, `\u200b`: for names and values, which are compared.

    A text without it would not be the one that is meant. In JSON and in Python the number stands for the letter.
    """
    shown = text[: longest + 1]
    if not shown.isascii() or not shown.isprintable():
        shown = "".join(
            _number(letter) if letter not in kept and _is_hidden(letter, blanks=True) else letter
            for letter in shown
        )
    return shown if len(shown) <= longest else shown[: longest - len(_CUT)] + _CUT


def _is_hidden(letter: str, *, blanks: bool = False) -> bool:
    category = unicodedata.category(letter)
    return category in _HIDDEN or ord(letter) in _BLANK or (blanks and category == "Zs" and letter != " ")


def _number(letter: str) -> str:
    code = ord(letter)
    return _SPELLED.get(letter) or (f"\\u{code:04x}" if code <= _TWO_BYTES else f"\\U{code:08x}")


def clean_deep(value: Any, longest: int) -> Any:
    """Make a JSON value fit to be shown, and leave out what is too deep or too much, with a mark.

    Prose is cleaned; in keys and all other texts, which a caller has to repeat, the hidden is made visible.
    """
    return clean_telling(value, longest)[0]


def clean_telling(value: Any, longest: int) -> tuple[Any, bool]:
    """Do the same, and say whether anything was hidden that a caller would have to write."""
    cleaner = _Cleaner(longest)
    shown = cleaner.clean(value, 0, prose=isinstance(value, str), exact=False)
    return shown, cleaner.found_hidden


class _Cleaner:
    def __init__(self, longest: int) -> None:
        self.found_hidden = False
        self._longest = longest
        self._parts = 0

    def clean(self, value: Any, depth: int, *, prose: bool, exact: bool) -> Any:
        self._parts += 1
        if isinstance(value, str):
            shown = clean(value, self._longest) if prose else self._visible(value, self._longest)
            self._parts += len(shown) // 40
            return shown
        if not isinstance(value, dict | list):
            # JSON has no NaN; Python reads it all the same, and whoever is to read what we write may not.
            return str(value) if isinstance(value, float) and not math.isfinite(value) else value
        if depth >= _DEEPEST or self._parts > _MOST_PARTS:
            return _LEFT_OUT
        if isinstance(value, list):
            return self._list(value, depth, exact=exact)
        return self._dict(value, depth, exact=exact)

    def _visible(self, text: str, longest: int) -> str:
        shown = visible(text, longest, kept=_LINE_LETTERS)
        self.found_hidden |= len(text) <= longest and shown != text
        return shown

    def _dict(self, value: dict[str, Any], depth: int, *, exact: bool) -> dict[str, Any]:
        cleaned: dict[str, Any] = {}
        for key, inner in value.items():
            if self._parts > _MOST_PARTS:
                cleaned[_LEFT_OUT] = f"{len(value) - len(cleaned)} more"
                break
            shown = self._visible(key, _LONGEST_KEY)
            if shown in cleaned:
                # Two keys that are cut to the same: the second must not take the first one's place.
                shown += f" ({len(cleaned) + 1})"
            self._parts += len(shown) // 40
            cleaned[shown] = self.clean(
                inner, depth + 1, prose=key in _PROSE and not exact, exact=exact or key in _EXACT
            )
        return cleaned

    def _list(self, value: list[Any], depth: int, *, exact: bool) -> list[Any]:
        cleaned: list[Any] = []
        for inner in value:
            if self._parts > _MOST_PARTS:
                return [*cleaned, _LEFT_OUT]
            cleaned.append(self.clean(inner, depth + 1, prose=False, exact=exact))
        return cleaned
