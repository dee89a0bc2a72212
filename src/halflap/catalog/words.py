"""Words of any language: how a text becomes the terms that search compares."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from halflap.catalog.stopwords import STOP_WORDS

__all__ = ["is_dense", "letters", "term", "terms", "words"]

_BASIC_PLANE = 0x10000

# Scripts that are written without spaces or, as Hangul, with endings that stick to the words.
_DENSE = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"  # Hangul
    "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
)
_LOWER = "a-z\xdf-\xf6\xf8-\xff\u03ac-\u03ce\u0430-\u045f"  # Latin, Greek, Cyrillic
_UPPER = "A-Z\xc0-\xd6\xd8-\xde\u0386-\u03ab\u0400-\u042f"
_HUMP = re.compile(f"(?<=[{_LOWER}])(?=[{_UPPER}])|(?<=[{_UPPER}])(?=[{_UPPER}][{_LOWER}])")
# The same for ASCII, and many times faster, since it begins with what is rare.
_PLAIN_HUMP = re.compile("[A-Z](?:(?<=[a-z][A-Z])|(?=[A-Z][a-z]))")
# Nothing longer than 48 characters is a word; it is cut into pieces that are.
_PIECE = re.compile(rf"\d{{1,48}}|[{_DENSE}]+|[^\s\d{_DENSE}]{{1,48}}")
_PLAIN_PIECE = re.compile(r"[0-9]{1,48}|[a-z]{1,48}")
_IS_DENSE = re.compile(f"[{_DENSE}]")
_ACCENTS = re.compile("[\u0300-\u036f]")
_UNDECOMPOSED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "\u0131": "i"})
_ARABIC_MARKS = re.compile("[\u064b-\u065f\u0670\u0640]")
_ARABIC_FORMS = str.maketrans("\u0623\u0625\u0622\u0671\u0649\u0629", "\u0627\u0627\u0627\u0627\u064a\u0647")
_ARABIC_ARTICLE = "\u0627\u0644"
_SHORTEST_ARABIC = 3

# Words that only look as if they had an ending, or that would fall together with another word.
_UNINFLECTED = "always canvas embed https kubernetes lens means news redis series species station"
_AS_THEY_ARE = frozenset(_UNINFLECTED.split())

# Endings, and how much of a word must be left without them.
_PARTICIPLES = (("ing", 3), ("ed", 3))
_ENDINGS = (("ation", 4), ("ator", 4), ("ment", 6), ("ion", 4))
_SHORTEST_TO_STEM = 4
_BRITISH = re.compile("(?<=...)([iy])s(?:is)?$")  # summaris(e), analys(e), analysis


class _Separators(dict[int, str]):
    """For `str.translate`: letters, marks and digits stay, everything else becomes a space."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        kept = letter if unicodedata.category(letter)[0] in "LMN" else " "
        if code < _BASIC_PLANE:
            self[code] = kept
        return kept


_SEPARATORS = _Separators()


def words(text: str, *, wholes: bool = True) -> list[str]:
    """Split at separators, case, digits and script; of `camelCase` give the parts and then the whole.

    Scripts without spaces give overlapping pairs of characters.
    """
    if text.isascii() and not _PLAIN_HUMP.search(text):
        return _PLAIN_PIECE.findall(text.lower())
    found: list[str] = []
    for piece in _PIECE.findall(unicodedata.normalize("NFKC", text).translate(_SEPARATORS)):
        if _IS_DENSE.match(piece):
            found += [piece[at : at + 2] for at in range(max(1, len(piece) - 1))]
            continue
        parts = _HUMP.split(piece)
        found += [part.casefold() for part in parts]
        if wholes and len(parts) > 1:
            found.append(piece.casefold())
    return found


def terms(text: str) -> list[str]:
    """Give the words that carry meaning, each in the one form that its inflections share."""
    return [found for word in words(text) if (found := term(word))]


def letters(name: str) -> str:
    """Give a name without what people get wrong in names: case, separators, accents."""
    if name.isascii():
        return "".join(_PLAIN_PIECE.findall(name.lower()))
    kept = unicodedata.normalize("NFKC", name).translate(_SEPARATORS)
    return "".join(_plain(part) for part in kept.casefold().split())


def is_dense(text: str) -> bool:
    """Say whether a text is in a script where a single character can be a word."""
    return _IS_DENSE.search(text) is not None


@lru_cache(maxsize=1 << 16)
def term(word: str) -> str:
    """Give the form that a word shares with its inflections, or nothing if it is a stop word."""
    word = _plain(word)
    if word in STOP_WORDS:
        return ""
    return _stem(word) if word.isascii() and word.isalpha() else word


def _plain(word: str) -> str:
    """Drop accents where they are spelling (Latin, Greek), not where they make another letter (Cyrillic)."""
    if word.isascii():
        return word
    script = unicodedata.name(word[0], "")
    if script.startswith("ARABIC"):
        return _plain_arabic(word)
    if not script.startswith(("LATIN", "GREEK")):
        return word
    return _ACCENTS.sub("", unicodedata.normalize("NFD", word)).translate(_UNDECOMPOSED)


def _plain_arabic(word: str) -> str:
    """Drop what is optional in writing, vowels and the forms of alef, and the article that sticks to the word."""
    word = _ARABIC_MARKS.sub("", word).translate(_ARABIC_FORMS)
    bare = word.removeprefix(_ARABIC_ARTICLE)
    return bare if len(bare) >= _SHORTEST_ARABIC else word


def _stem(word: str) -> str:
    """Take English endings off where enough of the word is left; what is left need not be a word."""
    if len(word) < _SHORTEST_TO_STEM:
        return word
    word = _without_plural(word)
    if word in _AS_THEY_ARE:
        return word
    word = _without_participle(word)
    word = next((word.removesuffix(end) for end, least in _ENDINGS if _ends(word, end, least)), word)
    if _ends(word, "e", 4):
        word = word[:-1]
    if _ends(word, "at", 4):  # what is left of generate, translate
        word = word[:-2]
    word = _BRITISH.sub(r"\1z", word)
    return word[:-1] + "i" if _ends(word, "y", 3) else word  # so that query is what is left of queries


def _ends(word: str, ending: str, least: int) -> bool:
    return word.endswith(ending) and len(word) - len(ending) >= least


def _without_plural(word: str) -> str:
    if word in _AS_THEY_ARE or word.endswith(("ss", "us", "is")):
        return word
    if _ends(word, "ies", 2):
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word.removesuffix("s")


def _without_participle(word: str) -> str:
    for ending, least in _PARTICIPLES:
        rest = word.removesuffix(ending)
        # A vowel must be left, as it is not of string; and feed and speed are no participles.
        if _ends(word, ending, least) and re.search("[aeiouy]", rest) and not word.endswith("eed"):
            doubled = rest[-1] == rest[-2] and rest[-1] not in "lsz"
            return rest[:-1] if doubled else rest
    return word
