"""Descriptions that say nothing but a list of values, or how a date is written: only these can be put into a schema.

A text that goes on (`or any URL`, `may be empty`, `optionally prefixed with '-'`) allows more than a keyword would. So a text
is read as a whole: what it is about, the list or the form, and its end. What does not fit is not understood, and no patch.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.lint.parts import Part

__all__ = ["plain_format", "plain_values"]

_LONGEST = 300
"""What is longer says more than that."""
_FEWEST = 2
_STOP = r"\s*[.:,;\u2013\u2014]\s*|\s+-\s+|\s*(?=[(\[])"
_ABOUT = r"(?P<label>[^\W\d_][\w'\u2019 -]{0,80}?)"
_LABEL = rf"(?:{_ABOUT}(?:{_STOP}))?"
"""What it is about, up to a stop: no word of it may say more than that."""
_SAYS_MORE = re.compile(
    r"\b(?:no|not|never|none|nothing|neither|nor|n't|cannot|except|unless|without|avoid|least|most|any|all|each|every|more|less|many"
    r"|several|multiple|both|or|and/or|other|others|custom|also|else|optionally|prefix\w*|suffix\w*|append\w*|prepend\w*|start\w* with"
    r"|end\w* with|combin\w*|separat\w*|delimit\w*|comma|list|lists|range|ranges|between|pair|partial|relative|case|empty|blank"
    r"|null|wildcard\w*|pattern|expression|regex\w*|followed|like|example|examples|usually|often|typically|mostly|commonly|deprecated"
    r"|old|older|legacy|before|after|negat\w*|exclud\w*|invert\w*|reverse\w*)\b",
    re.IGNORECASE,
)
"""In what stands before a list or a form, these say that there is more to it."""
_LEAD = (
    r"(?:must be (?:one of|either)|(?:can|may|should) be (?:one of|either)|one of(?: these)?|either|choices|options|enum|must be|can be"
    r"|(?:possible|allowed|valid|accepted|supported|available) [\w ]{1,30}?)(?: are| is)?"
)
_QUOTED = r"(?:'[\w.+/-]{1,30}'|\"[\w.+/-]{1,30}\"|`[\w.+/-]{1,30}`)"
_BARE = r"[\w+][\w.+-]{0,29}(?<!\.)"
_BETWEEN = r"(?:\s*[,|/;]\s*(?:(?:or|and)\s+)?|\s+(?:or|and)\s+)"
_DEFAULT = (
    r"(?:\s*[,;.(]?\s*(?:and\s+)?(?:the\s+)?default(?:s to|ing to| is| value is| value)?\s*[:=]?\s*"
    r"(?P<default>['\"`]?[\w.+/-]{1,30}?['\"`]?)\)?)?"
)
_END = r"[\s.,;]{0,4}"
_FIRST = r"(?:defaults? (?:to|is)\s+(?P<first>['\"`]?[\w.+/-]{1,30}?['\"`]?)\s*[.;,]\s*)?"
_BAR = r"\s*\|\s*"


def _listing(value: str, between: str = _BETWEEN) -> str:
    return rf"(?P<list>{value}(?:{between}{value}){{1,49}})"


_LISTS = (
    re.compile(
        rf"{_LABEL}{_FIRST}[(\[]?{_LEAD}\s*[:\uff1a(\[]?\s*{_listing(_QUOTED)}[)\]]{{0,2}}{_DEFAULT}{_END}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_LABEL}{_FIRST}[(\[]?{_LEAD}\s*[:\uff1a(\[]?\s+{_listing(_BARE)}[)\]]{{0,2}}{_DEFAULT}{_END}",
        re.IGNORECASE,
    ),
    re.compile(rf"{_LABEL}{_FIRST}[(\[:]?\s*{_listing(_BARE, _BAR)}\s*[)\]]?{_DEFAULT}{_END}", re.IGNORECASE),
)
_SPLIT = re.compile(_BETWEEN, re.IGNORECASE)
_NO_VALUE = frozenset(
    ["any", "anything", "array", "bool", "boolean", "custom", "date", "dict", "empty", "etc", "expression", "float", "id", "int", "integer",
     "list", "name", "none", "null", "number", "object", "other", "others", "path", "pattern", "regex", "str", "string", "text", "timestamp",
     "undefined", "url", "uuid"]
)  # fmt: skip
"""What a value may be, rather than which."""
_RANGE = re.compile(r"[+-]?\d+(?:\.\d+)?(?:-|\.\.+)[+-]?\d+(?:\.\d+)?")

_DAY = r"['\"`]?y{4}-m{2}-d{2}['\"`]?"
_MOMENT = (
    r"['\"`]?y{4}-m{2}-d{2}['\"`]?t['\"`]?h{2}:m{2}:s{2}(?:\.s{3})?['\"`]?(?:z|xxx|[+\u00b1]h{2}:m{2})['\"`]?"
)
_DATED = rf"(?:{_ABOUT}(?:{_STOP}|\s+(?=(?:written|given|formatted|as|in|format|using)\b|格式)))?"
_IN = r"(?:(?:(?:written|given|formatted)\s+)?(?:as|in|use|using|format|format is|in the format|格式为|格式)\s*[:\uff1a]?\s*(?:an?\s+|the\s+)?)?"
_OF = r"(?:\s+(?:format|form|string|格式))?"
_SHOWN = r"(?:\s*[,;(]?\s*(?:e\.?g\.?|such as|for example|like|example)\s*[,:]?\s*['\"`]?{}['\"`]?\)?)?"
_A_DAY = r"\d{4}-\d{2}-\d{2}"
_A_MOMENT = r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})"
_ISO = r"iso(?:[ -]?8601)?"


def _written(form: str, shown: str) -> re.Pattern[str]:
    return re.compile(
        rf"{_DATED}[(\[]?\s*{_IN}(?:{form}){_OF}{shown}\s*[)\]]?{_DEFAULT}{_END}", re.IGNORECASE
    )


_FORMS = {
    "date": (
        _written(rf"{_ISO} date|(?:{_ISO}\s*[(:,]?\s*)?{_DAY}\)?", _SHOWN.format(_A_DAY)),
        _written(
            _ISO, rf"\s*[,;(]?\s*(?:e\.?g\.?|such as|for example|like)\s*[,:]?\s*['\"`]?{_A_DAY}['\"`]?\)?"
        ),
    ),
    "date-time": (
        _written(
            rf"(?:{_ISO}|rfc[ -]?3339) (?:date[ -]?time|timestamp|date and time|time)|rfc[ -]?3339|{_MOMENT}",
            _SHOWN.format(_A_MOMENT),
        ),
        _written(
            _ISO, rf"\s*[,;(]?\s*(?:e\.?g\.?|such as|for example|like)\s*[,:]?\s*['\"`]?{_A_MOMENT}['\"`]?\)?"
        ),
    ),
}
_VALUES = {"date": re.compile(_A_DAY), "date-time": re.compile(_A_MOMENT)}
_LENGTHS = {"date": (10, 10), "date-time": (20, 35)}
"""The shortest and the longest that a text of each form is, as people write it."""


def plain_values(part: Part, text: str) -> tuple[str, ...]:
    """Give the values that a text lists and that nothing else is said of; none where it says more, or its schema does."""
    text = " ".join(text.split())
    if len(text) > _LONGEST:
        return ()
    for form in _LISTS:
        found = form.fullmatch(text)
        if found is None or _SAYS_MORE.search(text[: found.start("list")]):
            continue
        values = tuple(dict.fromkeys(_bare(one) for one in _SPLIT.split(found["list"])))
        told = [_bare(one) for one in (found["first"], found["default"]) if one]
        if len(values) < _FEWEST or any(_RANGE.fullmatch(one) or one.lower() in _NO_VALUE for one in values):
            return ()
        agrees = set(values).issuperset(told) and all(one in values for one in _given(part))
        return (
            values if agrees and _fit(part, *map(len, (min(values, key=len), max(values, key=len)))) else ()
        )
    return ()


def plain_format(part: Part, text: str) -> str | None:
    """Give the form of a date, where that is all that a text says, and nothing in its schema says otherwise."""
    text = " ".join(text.split())
    if len(text) > _LONGEST:
        return None
    for kind, forms in _FORMS.items():
        for form in forms:
            found = form.fullmatch(text)
            if found is None or _SAYS_MORE.search(found["label"] or ""):
                continue
            is_so = _VALUES[kind].fullmatch
            told = [_bare(found["default"])] if found["default"] else []
            if all(isinstance(one, str) and is_so(one) for one in (*told, *_given(part))) and _fit(
                part, *_LENGTHS[kind]
            ):
                return kind
    return None


def _bare(value: str) -> str:
    return value.strip("'\"`")


def _given(part: Part) -> Iterator[Any]:
    """Give the values that the schema has itself: what is taken where none is passed, and examples."""
    for word in ("default", "example", "examples"):
        said = part.said.get(word)
        for one in said if isinstance(said, list) else [said]:
            inner = one if isinstance(one, list) and part.is_list else [one]
            yield from (each for each in inner if each is not None)


def _fit(part: Part, shortest: int, longest: int) -> bool:
    """Say whether texts of these lengths are as long as the schema allows."""
    least, most = part.said.get("minLength"), part.said.get("maxLength")
    return not (isinstance(least, int) and shortest < least) and not (
        isinstance(most, int) and longest > most
    )
