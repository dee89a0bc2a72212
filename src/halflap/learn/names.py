"""Distinguish names, which a server's author wrote, from data: only names are stored.

The rules look at how a key is built, not at what its words mean. Data that passes as a name is found by its siblings: many
keys with values of the same form are a map, see `variants`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from halflap.core.text import REDACTED
from halflap.learn.shape import LONGEST_TEXT

TAG_RANKS = {
    key: rank
    for rank, key in enumerate(
        (
            *("__typename", "@type", "_type", "type", "kind", "object", "resourceType", "event", "op"),
            *("action", "role", "status", "state", "success", "ok", "error", "is_error", "isError"),
            *("found", "valid", "outcome", "source"),
        )
    )
}
"""The keys whose values tell the kind of an object; of several in one object, the first here counts."""
TAG_KEYS = frozenset(TAG_RANKS)

_MOST_WORDS = 5
_MOST_DIGITS = 3
_MOST_RUNS = 3
_MANY_WORDS = 4
_OBVIOUS = re.compile(r"[0-9A-Fa-f]{8}-[0-9A-Fa-f-]{27}|[a-z_-]*[0-9]{6,}|[0-9]+").fullmatch
"""The most frequent data. Each such key is new, so caching the verdict would not help."""
_STANDARD = re.compile(
    r"@(?:odata\.\w+|xmlns(?::\w+)?|xsi:\w+|attributes|base|context|graph|id|index|language|list|set|timestamp|type|value|version)"
    r"|\#(?:text|cdata-section|comment)|[+-]\d"
).fullmatch
"""Keywords of JSON-LD, OData and XML converted to JSON, which begin like a handle or a channel; and `+1`."""
_SIGNS = re.compile(
    r"""
      [@/\\=<>{}`"\#]|%[0-9A-Fa-f]{2}|\[\d                  # addresses, paths, queries, markup
    | \A[^\W\d_]?\d+(?:[.,][+-]?\d+)+\Z|\d+\.\d+\.\d+       # 1.5, v1.2.3, 10.0.0.1
    | [0-9A-Fa-f]::|::[0-9A-Fa-f]|\A(?:urn|arn|did|mailto|tel|data):
    | \A\.\w|\w\.(?:csv|docx?|gif|gz|html?|ini|jpe?g|jsx?|json|lock|log|md|pdf|png|pptx?|py|rb|sh|sql|svg|toml|tsx?|txt|xlsx?|xml|ya?ml|zip)\Z
    | \w\.(?:com|org|net|edu|gov|io|dev|app|co\.[a-z]{2})\Z|\Awww\.
    """,
    re.VERBOSE,
).search
_SECRET = re.compile(
    r"eyJ|(?:sk|pk|rk)[-_](?:live|test|prod|proj|ant)[-_]|AKIA[A-Z0-9]{8}|AIza\w{8}"
    r"|(?:gh[opsu]|github_pat|glpat|hf|npm|pypi|whsec|xox[abeoprs])[-_][A-Za-z0-9-]{10}"
).match
_PARTS = re.compile(r"[^\W_]+").findall
_RUNS = re.compile(r"\d+|[^\W\d_]+").findall
_HEX = re.compile(r"(?=[a-f]*\d)[a-f0-9]{7,}|[a-f]{8,}").fullmatch
_WORD = re.compile(r"[A-Z]{2,}s?(?![a-z])|[A-Z]?[a-z]+|[A-Z]").findall
_CONSONANTS = re.compile(
    r"(?=[A-Z]{6})\w*[B-DF-HJ-NP-TVWXZ]{4}|(?![A-Z]{5}\Z)(?i:\w*[b-df-hj-np-tvwxz]{5})"
).match
"""Words that cannot be spoken, unless they are as short as HTTPS."""
_VALUE = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,39}").fullmatch


def is_name(key: Any) -> bool:
    """Return whether a key is a name, and not an identifier, an address, a number or other data."""
    if type(key) is not str or len(key) > LONGEST_TEXT:
        return False
    return _OBVIOUS(key) is None and _is_name(key)


@lru_cache(maxsize=8192)
def _is_name(key: str) -> bool:
    if _STANDARD(key):
        return True
    if (
        not key.isprintable()
        or key.count(" ") >= _MOST_WORDS
        or _SIGNS(key)
        or _SECRET(key)
        or REDACTED in key
    ):
        return False
    parts = _PARTS(key)
    digits = sum(map(str.isdecimal, key))
    if digits and all(part.isdecimal() for part in parts):
        return False
    # QX4410, JIRA-42 and K7QX are codes; ADDRESS1 is a name.
    if digits and key.upper() == key and (digits > 1 or not key[-1].isdecimal()):
        return False
    return all(map(_is_word, parts))


def _is_word(part: str) -> bool:
    """Return whether letters and digits look chosen, not counted up or drawn at random."""
    if _HEX(part):
        return False
    runs = _RUNS(part)
    if len(runs) > _MOST_RUNS or (len(runs) == _MOST_RUNS and runs[0].isdecimal()):
        return False
    numbers = [run for run in runs if run.isdecimal()]
    if any(len(run) > _MOST_DIGITS or (run[0] == "0" and len(run) > 1) for run in numbers):
        return False
    return (part.islower() and not numbers) or _is_speakable(_WORD(part))


def _is_speakable(words: list[str]) -> bool:
    """Return whether the words of a camel-case name are pronounceable, and not mostly single letters."""
    is_cut_up = len(words) > _MANY_WORDS and len("".join(words)) < 3 * len(words)
    return not is_cut_up and not any(map(_CONSONANTS, words))


def is_tag_value(value: Any) -> bool:
    """Return whether a value under a tag key may be stored: a boolean, or a word that a program would use."""
    return type(value) is bool or (
        type(value) is str and len(value) <= LONGEST_TEXT and _is_word_of_a_program(value)
    )


@lru_cache(maxsize=8192)
def _is_word_of_a_program(value: str) -> bool:
    return _VALUE(value) is not None and is_name(value)
