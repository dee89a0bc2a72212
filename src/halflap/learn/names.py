"""Tell names, which a server's author wrote, from data: only names are kept."""

from __future__ import annotations

import re
from typing import Any

from halflap.learn.limits import LONGEST_KEY

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

_PLAIN = re.compile(r"[A-Za-z_$@][A-Za-z_]*[0-9]?").fullmatch
"""Most keys; there is nothing in them to look at further."""
_OBVIOUS = re.compile(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27}|[0-9]+|(?!iso|rfc|sha)[a-z_-]+[0-9]{4,}").fullmatch
"""The most frequent data, found in no time."""
_WORDS_OF_A_SENTENCE = 6
_STANDARDS = re.compile(
    r"(?i)(?<![a-z])(?:iso|rfc|sha|utf|base|md|aes|rsa|int|uint|float)[-_]?[0-9]{1,5}(?![0-9])"
)
_DATA = re.compile(
    r"""
      [@/\\]                                # an e-mail address, a path, an address on the web
    | \d{4}                                 # a number, a year, an identifier
    | [_\-.:#\ ]\d{3,}\Z                    # user_123
    | \A[^\W\d_]?\d+(?:[.,eE][+-]?\d+)+\Z   # 1.5, 1e5, v1.2.3
    | \A[\W\d_]*\d[\W\d_]*\Z               # nothing but numbers: 12:30, +49 170 1
    | [0-9A-Fa-f]::|::[0-9A-Fa-f]|(?:[0-9A-Fa-f]{2}[:-]){5}  # addresses in a network
    | (?<![A-Za-z0-9])(?:
        (?=[A-Z]*\d)[A-Z0-9]{6,}            # NO6JO3
      | [A-Z]{2,}\d{3,}                     # HAT069
      | (?=[a-f]*\d)[a-f0-9]{7,}            # deadbeef01
      | (?=[A-Za-z]*\d+[A-Za-z]+\d)[A-Za-z0-9]{6,}  # 9f8e7d, dQw4w9WgXcQ
      )(?![A-Za-z0-9])
    """,
    re.VERBOSE,
).search
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
    if not _DATA(key):
        return True
    return _is_of_standard(key)


def _is_of_standard(key: str) -> bool:
    """Say whether all that looks like data is the name of a standard, or the sign before "@type" and "@id"."""
    rest = _STANDARDS.sub("x", key.removeprefix("@"))
    return rest != key and not _DATA(rest)


def is_tag_value(value: Any) -> bool:
    """Say whether a value under a tag key may be kept: a boolean, or a word such as a program would use."""
    return type(value) is bool or (type(value) is str and _VALUE(value) is not None and is_name(value))
