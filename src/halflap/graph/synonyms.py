"""Words that are said for one another: everyday nouns, what a question asks for, and what kind of thing a value is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["GROUPS", "NOUNS", "asked_attributes", "kinds_in"]

GROUPS = (
    "search find locate lookup",
    "price cost fare fee amount",
    "duration long minutes hours seconds time",
    "image picture photo",
    "size big large bytes",
    "owner own owns whois registrant",
    "content contents text",
    "folder directory",
    "repository repo",
    "email mail",
    "order buy bought purchase purchased",
    "weight heavy weigh weighs",
    "location position coordinates address",
    "document doc",
    "movie film",
    "car vehicle",
    "spend spent spending revenue",
)
"""Words of goals and of tools, each group one meaning."""

NOUNS = {
    "folder": "directory", "dir": "directory", "repo": "repository", "mail": "email", "db": "database",
    "photo": "image", "picture": "image",
}  # fmt: skip
"""Nouns that name the very same thing, and the one that stands for both: for what is changed only these count."""

_ATTRIBUTES = {
    "heavy": "weight", "big": "size", "large": "size", "small": "size", "old": "age", "tall": "height", "high": "height",
    "far": "distance", "fast": "speed", "quick": "speed", "warm": "temperature", "cold": "temperature",
    "hot": "temperature", "deep": "depth", "wide": "width", "expensive": "price", "cheap": "price", "often": "frequency",
    "full": "level", "busy": "load", "rich": "balance", "loud": "volume", "bright": "brightness", "humid": "humidity",
    "popular": "popularity", "windy": "wind", "safe": "safety", "long": "duration",
}  # fmt: skip
_HOW = re.compile(r"(?i)\bhow\s+([a-z]+)\b")
_MUCH = re.compile(r"(?i)\bhow\s+much\s+(?:does|do|did|is|are|was|were|will|would)\b")
_WHERE = re.compile(r"(?i)^\W*where\b")

_KINDS = (
    (re.compile(r"(?<!\S)[\w.+-]+@[\w-]+\.[\w.]+"), "email"),
    (re.compile(r"(?<!\S)https?://\S+"), "url"),
    (re.compile(r"(?<!\S)\d{1,3}(?:\.\d{1,3}){3}(?![\w.])"), "ip"),
    (
        re.compile(r"(?<!\S)(?:[\w-]+\.)+(?:com|org|net|io|dev|app|edu|gov|info|co|de|uk|fr|eu)(?![\w/])"),
        "domain",
    ),
    (
        re.compile(
            r"(?<!\w)(?:USD|EUR|GBP|CHF|JPY|CNY|SEK|NOK|DKK|CAD|AUD|NZD|INR|PLN|CZK|HUF|BRL|MXN|ZAR|KRW|TRY|SGD|HKD"
            r"|(?:[Ee]uro|[Dd]ollar|[Yy]en|[Ff]ranc)s?)(?!\w)"
        ),
        "currency",
    ),
)


def asked_attributes(goal: str) -> dict[str, str]:
    """Give what is asked for by words that do not name it, by these words: `heavy` of `how heavy` is the weight."""
    found = {word: _ATTRIBUTES[word] for one in _HOW.findall(goal) if (word := one.casefold()) in _ATTRIBUTES}
    if _MUCH.search(goal):
        found["much"] = "price"
    if _WHERE.search(goal):
        found["where"] = "location"
    return found


def kinds_in(goal: str) -> Iterator[str]:
    """Give of which kinds the values are that a goal has: `domain` of `example.com`, `currency` of `100 USD`."""
    return (kind for written, kind in _KINDS if written.search(goal))
