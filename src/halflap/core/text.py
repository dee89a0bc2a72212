"""Make text from servers, programs and files safe and short enough to show to a person or a model."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

REDACTED = "[redacted]"
"""Replaces a secret."""
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Unicode categories without a visible glyph: control, format, unassigned, private use, surrogates, separators."""
_BLANK = frozenset(
    map(
        chr,
        [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800],
    )
) | {"\u3164", "\uffa0"}
"""Variation selectors and fillers: letters by category, but invisible."""
_TERMINAL_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?")
_SPELLED = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
_CUT = " … (cut)"
_READ_FACTOR = 8
"""Look at this many times the shown length, so that a long run of hidden characters costs nothing."""
_MAX_NAME = 200
_MAX_DEPTH = 100
"""Levels shown of a JSON value; other JSON parsers give up at about 200."""
_MAX_JSON_BYTES = 1_500_000
"""About the most that is shown of a JSON value; schemas of a megabyte fit."""
_ENTRY_BYTES = 16
"""Estimated size of an entry besides its key and text."""
_PROSE_KEYS = frozenset({"description", "title", "$comment", "instructions"})


def shorten(text: str, longest: int = _MAX_NAME) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def quote(name: str) -> str:
    """Return a name in quotes, shortened: a caller may pass a million letters."""
    return repr(shorten(name))


def plural(count: int, noun: str, nouns: str | None = None) -> str:
    """Return `1 tool`, `2 tools`, `1,200 tools`."""
    return f"{count:,} {noun if count == 1 else nouns or f'{noun}s'}"


def join(names: Iterable[str], word: str = "and", *, limit: int | None = None) -> str:
    """Return `a, b and c`; past the limit, `a, b and 3 more`."""
    every = list(names)
    if limit is not None and len(every) > limit:
        every = [*every[:limit], f"{len(every) - limit} more"]
        word = "and"
    return f" {word} ".join([", ".join(every[:-1]), every[-1]] if len(every) > 1 else every)


def iso(seconds: float | None) -> str | None:
    """Format a Unix time; None if it is missing or out of range."""
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return None


def clean(text: str, longest: int) -> str:
    """Remove invisible characters and shorten: for prose, which is only read."""
    too_long = len(text) > _READ_FACTOR * longest
    text = text[: _READ_FACTOR * longest]
    if not text.isascii() or not text.isprintable():
        text = _TERMINAL_ESCAPES.sub("", text)
        text = "".join(letter for letter in text if letter in "\n\t" or not _is_hidden(letter))
    return text if len(text) <= longest and not too_long else text[: longest - len(_CUT)] + _CUT


def visible(text: str, longest: int, *, keep: str = "") -> str:
    r"""Escape invisible characters, as `\u200b`: for names and values, which a caller has to repeat exactly."""
    shown = text[: longest + 1]
    if not shown.isascii() or not shown.isprintable():
        shown = "".join(
            _spell(letter) if letter not in keep and _is_hidden(letter, spaces=True) else letter
            for letter in shown
        )
    return shown if len(shown) <= longest else shown[: longest - len(_CUT)] + _CUT


def clean_json(value: Any, longest: int) -> tuple[Any, bool]:
    """Return a JSON value that is safe to show, and whether a key or value had invisible characters.

    Prose is cleaned; in keys and other strings, invisible characters are escaped. A mark replaces what is nested too
    deeply, or the whole value if it is larger than about a megabyte.
    """
    cleaner = _JsonCleaner(longest)
    with suppress(_TooLargeError):
        return cleaner.clean(value, 0, is_prose=isinstance(value, str)), cleaner.found_hidden
    return {_CUT.strip(): "too large"} if isinstance(value, dict) else _CUT.strip(), False


def _is_hidden(letter: str, *, spaces: bool = False) -> bool:
    category = unicodedata.category(letter)
    return category in _HIDDEN or letter in _BLANK or (spaces and category == "Zs" and letter != " ")


def _spell(letter: str) -> str:
    code = ord(letter)
    return _SPELLED.get(letter) or (f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")  # noqa: PLR2004


class _TooLargeError(Exception):
    """A JSON value is too large to be shown."""


class _JsonCleaner:
    def __init__(self, longest: int) -> None:
        self.found_hidden = False
        self._longest = longest
        self._left = _MAX_JSON_BYTES

    def clean(self, value: Any, depth: int, *, is_prose: bool = False) -> Any:
        if isinstance(value, str):
            return (
                self._take(clean(value, self._longest)) if is_prose else self._visible(value, self._longest)
            )
        if isinstance(value, dict | list) and value and depth > _MAX_DEPTH:
            return self._take(_CUT.strip())
        if isinstance(value, dict):
            return {
                self._visible(key, _MAX_NAME): self.clean(inner, depth + 1, is_prose=key in _PROSE_KEYS)
                for key, inner in value.items()
            }
        self._take("")
        if isinstance(value, list):
            return [self.clean(inner, depth + 1) for inner in value]
        # Python reads NaN, but JSON has none, and the reader of our output may refuse it.
        return str(value) if isinstance(value, float) and not math.isfinite(value) else value

    def _take(self, text: str) -> str:
        self._left -= _ENTRY_BYTES + len(text)
        if self._left < 0:
            raise _TooLargeError
        return text

    def _visible(self, text: str, longest: int) -> str:
        shown = visible(text, longest, keep="\n\t")
        self.found_hidden |= len(text) <= longest and shown != text
        return self._take(shown)
