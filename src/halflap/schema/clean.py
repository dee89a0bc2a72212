"""Make somebody else's text fit to be shown: to a person, and to a model that may obey it."""

from __future__ import annotations

import unicodedata
from typing import Any

__all__ = ["clean", "clean_deep"]

_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Control characters, invisible marks, what is unassigned or private, halves of pairs, odd line ends."""
_KEPT = frozenset("\n\t")
_CUT = " … (cut)"
_MOST_DEEP = 100


def clean(text: str, longest: int) -> str:
    """Take out what cannot be seen, and cut what is too long, with a mark."""
    if not text.isascii() or not text.isprintable():
        text = "".join(
            letter for letter in text if letter in _KEPT or unicodedata.category(letter) not in _HIDDEN
        )
    return text if len(text) <= longest else text[: longest - len(_CUT)] + _CUT


def clean_deep(value: Any, longest: int, depth: int = 0) -> Any:
    """Clean every text in a JSON value. Keys are left as they are: they have to be written to be used."""
    if isinstance(value, str):
        return clean(value, longest)
    if depth >= _MOST_DEEP:
        return "… (cut: nested too deep)" if isinstance(value, dict | list) else value
    if isinstance(value, dict):
        return {key: clean_deep(inner, longest, depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [clean_deep(inner, longest, depth + 1) for inner in value]
    return value
