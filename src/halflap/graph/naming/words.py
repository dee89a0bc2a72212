"""Names as words: `customerId`, `customer_ids` and `Customer-ID` are all `customer id`."""

from __future__ import annotations

import re
from functools import lru_cache

Words = tuple[str, ...]

_MAX_NAME = 120
"""Characters read of a name."""
_MAX_TEXT = 4_000
"""Characters read of a description."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PLURAL_ABBREVIATION = re.compile(r"(?<![A-Z])([A-Z]{2,4})s(?![a-z])")
_PIECE = re.compile(r"[^\W\d_]+|\d+")
_WORD = re.compile(r"(?<!\w['\u2019])\w[\w-]*")
"""A word or compound, but not the ending of a possessive."""
_SPELLINGS = {
    "addr": "address", "guid": "uuid", "href": "url", "identifier": "id", "lat": "latitude", "link": "url",
    "lng": "longitude", "lon": "longitude", "mail": "email", "msg": "message", "no": "number", "num": "number",
    "qty": "quantity", "telephone": "phone", "uri": "url", "zip": "postcode", "zipcode": "postcode",
    "username": "user login", "userid": "user id", "filename": "file name", "hostname": "host name",
    "firstname": "first name", "lastname": "last name", "fullname": "full name", "people": "person",
    "children": "child", "indices": "index", "movies": "movie", "caches": "cache", "cookies": "cookie",
    "series": "series", "news": "news", "alias": "alias", "aliases": "alias", "canvas": "canvas",
    "statuses": "status", "kubernetes": "kubernetes", "me": "user", "myself": "user",
}  # fmt: skip
"""Common short forms, compounds without a separator, and plurals that no rule covers."""
_NO_PLURAL = ("ss", "us", "is", "js")
_ES_PLURAL = ("sses", "shes", "ches", "xes", "zzes")
_SHORT = 3


@lru_cache(maxsize=1 << 16)
def words_of(name: str) -> Words:
    """Return the words of a name, each in the singular and in its usual spelling."""
    return tuple(word for piece in pieces_of(name) for word in _word(piece).split())


def pieces_of(name: str) -> list[str]:
    """Return the parts of a name as they are written, in lower case."""
    text = name[:_MAX_NAME]
    if not text.islower():
        # `userIDs` is `user ids`, not `user i ds`.
        text = _HUMP.sub(" ", _PLURAL_ABBREVIATION.sub(lambda found: f" {found[1].lower()}s", text))
    return [piece.casefold() for piece in _PIECE.findall(text)]


def phrase(words: Words) -> str:
    return " ".join(words)


def words_in_text(text: str) -> list[str]:
    """Return the words of a text in order, compound names split."""
    return [word for part in _WORD.findall(text[:_MAX_TEXT]) for word in words_of(part)]


@lru_cache(maxsize=1 << 14)
def is_plural(name: str) -> bool:
    last = (pieces_of(name) or [""])[-1]
    return last != _word(last) and (last.endswith("s") or last in {"people", "children", "indices"})


@lru_cache(maxsize=1 << 16)
def _word(word: str) -> str:
    known = _SPELLINGS.get(word)
    if known is not None:
        return known
    one = _singular(word)
    return _SPELLINGS.get(one, one)


def _singular(word: str) -> str:
    if len(word) < _SHORT or not word.endswith("s") or (word.endswith(_NO_PLURAL) and len(word) > _SHORT):
        return word
    if word.endswith("ies") and len(word) > _SHORT + 1:
        return f"{word[:-3]}y"
    if word.endswith(_ES_PLURAL):
        return word[:-2]
    return word[:-1] if len(word) > _SHORT or word[:-1] in {"id", "pr", "vm", "ip", "db"} else word
