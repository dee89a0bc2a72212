"""Where in a text a secret stands beside its name, and not behind it: in pairs, lists, commands and statements.

As everywhere, each search takes a bounded number of steps from where it begins.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from halflap.calls.secret_named import value_at
from halflap.calls.secret_names import looks_secret, names_field, secrecy
from halflap.calls.spans import bounded, in_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from halflap.calls.spans import Span

__all__ = ["find_pairs", "may_hold_pair"]

_Q = r"\\*+[\"'`]"
_SPACE = r"(?:\s|\\++[nrt](?![A-Za-z])){0,40}+"
_NAMING = (
    r"(?i:name|key|header|field|label|variable|option|id|type|element|selector|locator|placeholder|target)"
)
_VALUING = r"(?i:values?|text)"
_IS = rf"(?:{_Q})?{_SPACE}(?:=>|[:=]){_SPACE}"
_NAME_THEN_VALUE = re.compile(
    rf"(?<![\w.$-])({_NAMING}){_IS}(\\*+[\"'])([^\"'\\\n]{{2,128}}+)\2"
    rf"[^{{}}<>]{{0,200}}?(?<![\w.$-])({_VALUING}){_IS}(?={_Q})"
)
_VALUE_THEN_NAME = re.compile(
    rf"(?<![\w.$-])({_VALUING}){_IS}(?=(\\*+[\"'])([^\"'\\\n]{{1,400}}+)\2"
    rf"[^{{}}<>]{{0,100}}?(?<![\w.$-])({_NAMING}){_IS}(\\*+[\"'])([^\"'\\\n]{{2,128}}+)\5)"
)
_ON_FIELDS = frozenset({"element", "selector", "locator", "placeholder", "label", "target", "field"})
_LISTED = re.compile(
    rf"(?:[(\[]{_SPACE}(\\*+[\"'])([^\"'\\\n,]{{2,128}}+)\1|(\\*+[\"'])(-[\w.$-]{{1,64}}+)\3)"
    rf"{_SPACE},{_SPACE}(?=[fbruFBRU]{{0,2}}{_Q})"
)
_END = re.compile(rf"(?:{_Q})?{_SPACE},?{_SPACE}(?:[)\]]|\w{{1,32}}+=)")
_SEVERAL = re.compile(
    r"^[ \t]{0,64}+([A-Za-z_][\w.]{0,64}+(?:[ \t]{0,4},[ \t]{0,4}[A-Za-z_][\w.]{0,64}+){1,8}+)"
    r"[ \t]{0,4}=[ \t]{0,4}\(?(?=[^=\s])",
    re.MULTILINE,
)
_ITEM = re.compile(
    r"[ \t]{0,4}(?:[fbruFBRU]{0,2}(?:\"([^\"\n]{0,4096}+)\"|'([^'\n]{0,4096}+)')|[^\"',\n]{1,200}+)[ \t]{0,4},?"
)
_NETRC = re.compile(
    r"\b(?:machine\s{1,20}\S{1,200}+|default)(?:\s{1,20}(?:login|account)\s{1,20}\S{1,200}+){0,2}"
    r"\s{1,20}password\s{1,20}([^\s\"']{1,512}+)"
)
_SQL = re.compile(
    r"(?:\b(?:PASSWORD|(?i:(?:with|encrypted|set|login|by)\s{1,8}password)"
    r"|(?i:identified(?:\s{1,8}with\s{1,8}[\w'\"]{1,64})?\s{1,8}(?:by|as)(?:\s{1,8}password)?))"
    r"(?:\s{1,8}|\s{0,8}[=(]\s{0,8}))\\*+([\"'])([^\"'\\\n\s][^\"'\\\n]{0,512}+)\\*+\1"
)


def may_hold_pair(text: str) -> bool:
    """Say whether anything in a text can stand beside its name."""
    if "," in text and ('"' in text or "'" in text):
        return True
    return any(sign in text for sign in ("assword", "ASSWORD", "dentified", "DENTIFIED", "value=", "value ="))


def find_pairs(text: str, bare: Callable[[int], bool] | None = None) -> Iterator[Span]:
    """Find what stands beside a secret's name: `("token", "…")`, `"name": "token", "value": "…"`."""
    if not may_hold_pair(text):
        return
    if any(sign in text for sign in ("alue", "ALUE", "text", "Text", "TEXT")):
        yield from _named_values(text)
    if "," in text:
        yield from bounded(_listed(text), len(text))
        yield from bounded(_several(text), len(text))
    if "machine" in text or "default" in text:
        for match in in_parts(_NETRC, text):
            if bare is None or bare(match.start(1)):
                yield match.span(1)
    if any(sign in text for sign in ("assword", "ASSWORD", "dentified", "DENTIFIED")):
        yield from bounded((match.span(2) for match in in_parts(_SQL, text)), len(text))


def _named_values(text: str) -> Iterator[Span]:
    yield from bounded(_name_first(text), len(text))
    yield from bounded(_value_first(text), len(text))


def _name_first(text: str) -> Iterator[Span]:
    for match in in_parts(_NAME_THEN_VALUE, text):
        if _goes_with(match[1], match[3], match[4]):
            span = value_at(text, match.end(), "", allow_bare=False)
            if span is not None:
                yield span


def _value_first(text: str) -> Iterator[Span]:
    for match in in_parts(_VALUE_THEN_NAME, text):
        if _goes_with(match[4], match[6], match[1]):
            yield match.span(3)


def _goes_with(kind: str, name: str, valuing: str) -> bool:
    kind = kind.lower()
    if kind in _ON_FIELDS and names_field(name):
        return True
    if valuing.lower() == "text":
        return False
    return name.lower() == "password" if kind == "type" else secrecy(name) == "all"


def _listed(text: str) -> Iterator[Span]:
    for match in in_parts(_LISTED, text):
        if secrecy(match[2] or match[4]) == "all":
            span = value_at(text, match.end(), "", allow_bare=False)
            if span is not None and (
                (match[2] or "-").startswith("-") or _END.match(text, span[1]) is not None
            ):
                yield span


def _several(text: str) -> Iterator[Span]:
    for match in in_parts(_SEVERAL, text):
        kinds = [secrecy(name.strip()) for name in match[1].split(",")]
        if not any(kind != "no" for kind in kinds):
            continue
        at = match.end()
        for kind in kinds:
            item = _ITEM.match(text, at)
            if item is None:
                break
            group = 1 if item[1] else 2
            if item[group] and looks_secret(kind, item[group]):
                yield item.span(group)
            at = item.end()
