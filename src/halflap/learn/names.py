"""Tell names, which a server's author wrote, from data: only names are kept."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from halflap.learn.limits import LONGEST_KEY
from halflap.learn.words import is_word, without_standards

__all__ = ["RANKS", "TAG_KEYS", "is_name", "is_tag_value"]

RANKS = {
    key: rank
    for rank, key in enumerate(
        (
            *("__typename", "@type", "_type", "type", "kind", "object", "resourceType", "event", "op"),
            *("action", "role", "status", "state", "success", "ok", "error", "is_error", "isError"),
            *("found", "valid", "outcome", "source"),
        )
    )
}
"""The keys whose values say of what kind an object is; of several in one object, the first here tells."""
TAG_KEYS = frozenset(RANKS)

_PLAIN = re.compile(
    r"(?!eyJ|[srp]k_(?:live|test)_|[a-f]{8,}\Z)[$_]{0,2}[a-z]+(?:_[a-z]+)*(?:[A-Z][a-z]{2,})*_?"
).fullmatch
"""Most keys; there is nothing in them to look at further."""
_OBVIOUS = re.compile(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27}|[a-z_-]*[0-9]{6,}|[0-9]+").fullmatch
"""The most frequent data, found in no time."""
_WORDS_OF_A_SENTENCE = 6
_SIGNED = re.compile(
    r"@(?:odata\.\w+|microsoft\.graph\.\w+|(?:xmlns|xsi)(?::\w+)?"
    r"|attributes?|base|class|code|container|context|count|date|graph|href|id|included?|index|json|key|lang|language"
    r"|list|message|metadata|name|nest|none|prefix|propagate|protected|rel|reverse|set|size|src|status|text|timestamp"
    r"|title|total|type|url|value|version|vocab)|\#(?:text|cdata-section|cdata|comment|value|name|attributes)?"
).fullmatch
"""Names that begin as a handle or a channel would: those of JSON-LD, OData, and of XML that was made JSON."""
_FILES = (
    r"csv|docx?|gif|gz|html?|ini|ipynb|jar|java|jpe?g|jsx?|json[lc]?|lock|log|md|mp[34]|pdf|php|png|pptx?|py|rb|rst|sh|sql"
    r"|svg|tar|toml|tsv|tsx?|txt|wasm|wav|webp|xlsx?|xml|ya?ml|zip"
)
_OWNERS = r"user|customer|client|account|member|order|session|tenant|org|team|channel|room"
_HAS_SIGN = re.compile(r"[^\w\s-]").search
_SIGNS = re.compile(
    rf"""
      [@/\\=<>{{}}`"]                       # an e-mail address, a path, an address on the web, a query, markup
    | \#\w|\w\#|%[0-9A-Fa-f]{{2}}|\[\d      # order#12, #general, %7B, items[0]
    | \A[^\W\d_]?\d+(?:[.,][+-]?\d+)+\Z      # 1.5, v1.2.3
    | [0-9A-Fa-f]::|::[0-9A-Fa-f]|\d+\.\d+\.\d+  # addresses in a network
    | \A(?:urn|arn|did|mailto|tel|data):|\A(?i:{_OWNERS})[:|]   # user:ada
    | \A\.\w|\w\.(?:{_FILES})\Z             # hello.py, .env
    | \w\.(?:com|org|net|edu|gov|mil|io|dev|app|co\.[a-z]{{2}})\Z|\Awww\.  # example.com
    """,
    re.VERBOSE,
).search
_SECRET = re.compile(
    r"eyJ|(?:sk|pk|rk)[-_](?:live|test|prod|proj|ant)[-_]|AKIA[A-Z0-9]{8}|AIza\w{8}"
    r"|(?:gh[opsu]|github_pat|glpat|hf|npm|pypi|whsec|xox[abeoprs])[-_][A-Za-z0-9-]{10}"
).match
_PARTS = re.compile(r"[^\W_]+").findall
_DIGIT = re.compile(r"\d").search
_MOST_NUMBERS = 4
_MOST_PARTS = 12
_VALUE = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,39}").fullmatch


def is_name(key: Any) -> bool:
    """Say whether a key is a name; what is shaped like data is none: identifiers, addresses, dates, numbers."""
    if type(key) is not str or len(key) > LONGEST_KEY:
        return False
    if _PLAIN(key):
        return True
    if _OBVIOUS(key):
        return False
    if not key.isprintable() or key.count(" ") >= _WORDS_OF_A_SENTENCE - 1:
        return False
    return _SIGNED(key) is not None or not (_SECRET(key) or _is_data(key))


@lru_cache(maxsize=4096)
def _is_data(key: str) -> bool:
    parts = _PARTS(key)
    numbers = sum(_DIGIT(part) is not None for part in parts)
    if numbers > _MOST_NUMBERS or len(parts) > _MOST_PARTS:
        return True
    rest = without_standards(key) if numbers else key
    if _HAS_SIGN(rest) and _SIGNS(rest):
        return True
    parts = _PARTS(rest)
    if numbers and all(part.isdecimal() for part in parts):
        return True
    return not all(
        is_word(part, before, is_last=at == len(parts))
        for at, (before, part) in enumerate(zip(["", *parts], parts, strict=False), start=1)
    )


def is_tag_value(value: Any) -> bool:
    """Say whether a value under a tag key may be kept: a boolean, or a word such as a program would use."""
    return type(value) is bool or (type(value) is str and _VALUE(value) is not None and is_name(value))
