"""Names as words: `customerId`, `customer_ids` and `Customer-ID` are all `customer id`."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["Words", "is_plural", "phrase", "pieces_of", "words_in", "words_of", "words_of_text"]

Words = tuple[str, ...]

_LONGEST = 120
"""Of a longer name, the rest is not read: nobody names anything like that."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_PIECE = re.compile(r"[^\W\d_]+|\d+")
_PLURAL_ABBREVIATION = re.compile(r"(?<![A-Z])([A-Z]{2,4})s(?![a-z])")
_ALIKE = {
    "acct": "account", "addr": "address", "cal": "calendar", "cat": "category", "db": "database",
    "desc": "description", "dest": "destination", "dir": "directory", "doc": "document", "docs": "document",
    "dst": "destination", "guid": "uuid", "href": "url", "identifier": "id", "identifiers": "id", "img": "image",
    "lang": "language", "lat": "latitude", "lang_code": "language", "link": "url", "lng": "longitude",
    "loc": "location", "lon": "longitude", "long": "longitude", "mail": "email", "msg": "message",
    "no": "number", "num": "number", "org": "organization", "organisation": "organization", "pic": "picture",
    "proj": "project", "qty": "quantity", "ref": "reference", "repo": "repository", "src": "source",
    "tel": "phone", "telephone": "phone", "tz": "timezone", "uri": "url", "usr": "user", "ts": "timestamp",
    "ticker": "symbol", "mailbox": "mailbox", "colour": "color", "centre": "center", "pr": "pull request",
    "zip": "postcode", "zipcode": "postcode", "folder": "directory", "firstname": "first name",
    "lastname": "last name", "fullname": "full name", "username": "user name", "filename": "file name",
    "filepath": "file path", "hostname": "host name", "nickname": "nick name", "datetime": "date time",
    "ids": "id", "people": "person", "children": "child", "men": "man", "women": "woman",
    "indices": "index", "indexes": "index", "matrices": "matrix", "vertices": "vertex", "criteria": "criterion",
    "media": "media", "data": "data", "statuses": "status", "aliases": "alias", "addresses": "address",
    "movies": "movie", "cookies": "cookie", "series": "series", "species": "species", "news": "news",
    "analyses": "analysis", "quizzes": "quiz", "leaves": "leaf", "selves": "self", "shelves": "shelf",
    "axes": "axis", "caches": "cache", "niches": "niche", "headaches": "headache", "crises": "crisis",
    "diagnoses": "diagnosis", "hypotheses": "hypothesis", "theses": "thesis", "syntheses": "synthesis",
    "buses": "bus", "bonuses": "bonus", "viruses": "virus", "campuses": "campus", "censuses": "census",
    "radiuses": "radius", "corpuses": "corpus", "focuses": "focus", "gases": "gas", "biases": "bias",
    "canvases": "canvas", "atlases": "atlas", "lenses": "lens", "ties": "tie", "pies": "pie", "lies": "lie",
    "calories": "calorie", "selfies": "selfie", "hoodies": "hoodie", "zombies": "zombie", "knives": "knife",
    "lives": "life", "wives": "wife", "wolves": "wolf", "halves": "half", "thieves": "thief",
}  # fmt: skip
"""Other ways to write a word: abbreviations, and plurals that no rule gives."""
_ONE = frozenset(
    [
        "alias",
        "always",
        "analytics",
        "arkansas",
        "atlas",
        "bias",
        "bios",
        "canvas",
        "chaos",
        "christmas",
        "cors",
        "cosmos",
        "dallas",
        "ddos",
        "faas",
        "ftps",
        "gas",
        "hdfs",
        "https",
        "iaas",
        "imaps",
        "jenkins",
        "kansas",
        "kubernetes",
        "kudos",
        "ldaps",
        "lens",
        "macos",
        "ntfs",
        "overseas",
        "paas",
        "perhaps",
        "postgres",
        "redis",
        "rtos",
        "saas",
        "smtps",
        "texas",
        "towards",
        "vegas",
        "whereas",
    ]
)
"""Words that end in `s` and name one thing."""
_MANY = frozenset(
    [
        "dbs",
        "ips",
        "mrs",
        "pcs",
        "prs",
        "tvs",
        "vms",
        "cpus",
        "dpus",
        "emus",
        "gpus",
        "gurus",
        "ipus",
        "menus",
        "npus",
        "skus",
        "submenus",
        "tpus",
        "alibis",
        "apis",
        "bikinis",
        "clis",
        "dois",
        "emojis",
        "guis",
        "kiwis",
        "kpis",
        "npis",
        "pois",
        "rabbis",
        "safaris",
        "skis",
        "taxis",
        "uis",
        "uris",
        "wikis",
    ]
)
"""Plurals that look like words of their own: of few letters, or with an end (`us`, `is`) that mostly is no plural's."""
_OE = frozenset({"canoes", "does", "foes", "goes", "horseshoes", "shoes", "toes"})
_NO_ID = frozenset(
    [
        "android",
        "arachnid",
        "asteroid",
        "avoid",
        "bid",
        "candid",
        "covid",
        "fluid",
        "grid",
        "hybrid",
        "hydroid",
        "invalid",
        "liquid",
        "madrid",
        "mermaid",
        "overpaid",
        "paid",
        "plaid",
        "prepaid",
        "pyramid",
        "rapid",
        "solid",
        "squid",
        "stupid",
        "unpaid",
        "valid",
        "vivid",
        "void",
    ]
)
"""Words that end in `id` and name no identifier."""
_SHORTEST_WITH_ID = 5


@lru_cache(maxsize=1 << 16)
def words_of(name: str) -> Words:
    """Give the words of a name, each in the singular and as it is written most."""
    found: list[str] = []
    for piece in pieces_of(name):
        found += _word(piece).split()
    return tuple(found)


def phrase(words: Words) -> str:
    """Write words as one text, to be compared."""
    return " ".join(words)


@lru_cache(maxsize=1 << 14)
def words_in(text: str) -> frozenset[str]:
    """Give all words of a text."""
    return frozenset(words_of_text(text[:4_000]))


def words_of_text(text: str) -> list[str]:
    """Give the words of a text, in their order; of compound names, their parts."""
    return [word for part in re.findall(r"\w[\w-]*", text) for word in words_of(part)]


@lru_cache(maxsize=1 << 14)
def is_plural(name: str) -> bool:
    """Say whether a name is that of many things."""
    pieces = pieces_of(name)
    if not pieces:
        return False
    last = pieces[-1]
    return last != _word(last) and (last.endswith("s") or last in {"people", "children", "men", "women"})


def pieces_of(name: str) -> list[str]:
    """Give the parts of a name as they are written, in lower case."""
    text = name[:_LONGEST]
    if not text.islower():
        # `userIDs` is `user ids`, not `user i ds`.
        text = _HUMP.sub(" ", _PLURAL_ABBREVIATION.sub(lambda found: " " + found[1].lower() + "s", text))
    return [piece.casefold() for piece in _PIECE.findall(text)]


@lru_cache(maxsize=1 << 16)
def _word(word: str) -> str:
    alike = _ALIKE.get(word)
    if alike is not None:
        return alike
    one = _singular(word)
    if one.endswith("id") and len(one) >= _SHORTEST_WITH_ID and one not in _NO_ID and one.isascii():
        return f"{_word(one[:-2])} id"
    return _ALIKE.get(one, one)


def _singular(word: str) -> str:
    if word in _MANY:
        return word[:-1]
    if len(word) <= 3 or word in _ONE or not word.endswith("s") or word.endswith(("ss", "us", "is", "js")):  # noqa: PLR2004 -- gas, bus, was
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes", "tzes")) or (
        word.endswith("oes") and word not in _OE
    ):
        return word[:-2]
    return word[:-1]
