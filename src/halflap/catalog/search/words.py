"""Split text of any language into words, reduce words to terms, and recognise misspelt words."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from rapidfuzz import process
from rapidfuzz.distance import OSA

_BASIC_PLANE = 0x10000

# Scripts without spaces, or in which endings stick to words, as in Hangul.
_DENSE = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Hangul
    "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_IS_DENSE = re.compile(f"[{_DENSE}]")
_CAMEL_CASE = re.compile("(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# The same test, many times faster for plain text, since it looks for a capital first.
_HAS_CAMEL_CASE = re.compile("[A-Z](?:(?<=[a-z][A-Z])|(?=[A-Z][a-z]))")
# Nothing longer than 48 characters is a word.
_PIECE = re.compile(rf"\d{{1,48}}|[{_DENSE}]+|[^\s\d{_DENSE}]{{1,48}}")
_ASCII_PIECE = re.compile(r"[0-9]{1,48}|[a-z]{1,48}")
_ACCENTS = re.compile("[\u0300-\u036f\u064b-\u065f\u0670]")  # Latin, Greek and Cyrillic; Arabic vowels
_UNDECOMPOSED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "\u0131": "i"})

# The most frequent words of some languages, without accents, except those that are English words as well. If few tools of a
# catalogue are described in a language, such words would seem rare and count for much.
_ENGLISH = """
    a about after again all also am an and another any are as at be been before being between both but by can
    could did do does done during each either else etc every for from further get gets give had has have having
    he help her here his how i if in into is it its just let lets like make may me might mine more most must my
    need needs no nor not of off on once one ones only onto or other our ours out over own per please same shall
    she should show so some such sure tell than that the their them then there these they this those through to
    too under up us use used uses using very via want wanted wants was we were what when where which who whom
    whose why will with would you your yours
"""
_OTHERS = """
    der das den dem des ein eine einen einem einer eines und oder fur von vom zu zum zur mit auf wie ich wird bitte
    le la les un une de et au aux pour dans avec est qui que ce cette el los las una unos unas del por para con
    и в во на с со к ко по за из от до для о об у не что как это мне я мы или при في من عن علي الي هذا هذه ما مع ان او
"""  # noqa: RUF001 -- Cyrillic
STOP_WORDS = frozenset(f"{_ENGLISH} {_OTHERS}".split())

_ENDINGS = ("ing", "ion", "or", "ed", "e")
_MIN_STEM = 4
_MAX_TYPOS = 1


class _Separators(dict[int, str]):
    """For `str.translate`: keeps letters, marks and digits, makes everything else a space."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        kept = letter if unicodedata.category(letter)[0] in "LMN" else " "
        if code < _BASIC_PLANE:
            self[code] = kept
        return kept


_SEPARATORS = _Separators()


def words(text: str, *, wholes: bool = True) -> list[str]:
    """Split text at separators, case, digits and script; `camelCase` gives its parts and then the whole.

    Scripts without spaces give overlapping pairs of characters.
    """
    if text.isascii() and not _HAS_CAMEL_CASE.search(text):
        return _ASCII_PIECE.findall(text.lower())
    found: list[str] = []
    for piece in _PIECE.findall(_plain(text)):
        if _IS_DENSE.match(piece):
            found += [piece[at : at + 2] for at in range(max(1, len(piece) - 1))]
            continue
        parts = _CAMEL_CASE.split(piece)
        found += [part.casefold() for part in parts]
        if wholes and len(parts) > 1:
            found.append(piece.casefold())
    return found


def terms(text: str) -> list[str]:
    """Return the words of a text that are not stop words, as stems."""
    return [found for word in words(text) if (found := term(word))]


def letters(name: str) -> str:
    """Return a name without case, separators and accents, which people get wrong."""
    return "".join(_plain(name).casefold().split())


@lru_cache(maxsize=1 << 16)
def term(word: str) -> str:
    """Return the stem that a word shares with its inflections; empty for a stop word."""
    if word in STOP_WORDS:
        return ""
    return _stem(word) if word.isascii() and word.isalpha() else word


def _plain(text: str) -> str:
    """Replace separators by spaces and drop accents."""
    if not text.isascii():
        bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text)).translate(_UNDECOMPOSED)
        text = unicodedata.normalize("NFC", bare)
    return text.translate(_SEPARATORS)


def _stem(word: str) -> str:
    """Remove the plural and an ending of an English word, if enough is left; the stem need not be a word."""
    if len(word) < _MIN_STEM:
        return word
    word = _without_plural(word)
    stems = (word.removesuffix(ending) for ending in _ENDINGS)
    return next((stem for stem in stems if _MIN_STEM <= len(stem) < len(word)), word)


def _without_plural(word: str) -> str:
    if word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word.removesuffix("s")


class Spellings:
    """Words by length: a typo changes the length by one at most, so most words need no comparison."""

    def __init__(self, words: Iterable[str]) -> None:
        self._by_length: dict[int, list[str]] = defaultdict(list)
        for word in words:
            self._by_length[len(word)].append(word)

    def near(self, written: str) -> list[str]:
        """Return the words with at most one letter missing, added, replaced or swapped with the next."""
        lengths = range(len(written) - _MAX_TYPOS, len(written) + _MAX_TYPOS + 1)
        words = [word for length in lengths for word in self._by_length.get(length, ())]
        found = process.extract(written, words, scorer=OSA.distance, score_cutoff=_MAX_TYPOS, limit=None)
        return [word for word, _, _ in found]
