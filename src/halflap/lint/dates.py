"""Dates: which names are those of a date or a time, and whether anything says how it is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.graph.words import Words
    from halflap.lint.parts import Part

__all__ = ["format_told", "is_date", "kind_named"]

_LONGEST = 1_000
"""Of a longer description, the rest is not read."""
_DATES = frozenset({"date", "deadline", "birthday", "birthdate", "timestamp"})
_RUN_TOGETHER = re.compile(
    r"(?:from|to|start|end|begin|birth|due|check(?:in|out)|depart(?:ure)?|arrival)date"
)
_TIMES = frozenset(
    ["arrival", "arrive", "begin", "begun", "close", "closed", "complete", "completed", "create", "created", "depart",
     "departure", "due", "end", "ended", "event", "expire", "expiry", "finish", "finished", "last", "modified", "modify", "open",
     "publish", "published", "received", "sent", "start", "started", "update", "updated"]
)  # fmt: skip
_DONE = frozenset(
    ["changed", "closed", "completed", "created", "delivered", "due", "edited", "ended", "expire", "finished", "issued", "modified",
     "opened", "ordered", "paid", "placed", "posted", "published", "received", "registered", "released", "sent", "shipped",
     "signed", "started", "submitted", "updated"]
)  # fmt: skip
"""What is done on a day: `modified_on`; and what alone is called so where its description says that it is a date."""
_WHEN = _DONE | {
    "after", "before", "begin", "birth", "born", "death", "end", "expiration", "expiry", "from", "joined", "login", "released",
    "since", "start", "to", "until",
}  # fmt: skip
_LASTLY = frozenset(
    ["access", "accessed", "active", "activity", "changed", "checked", "contacted", "edited", "login", "logon", "modified", "opened",
     "played", "seen", "sync", "synced", "updated", "used", "viewed", "visit", "visited"]
)  # fmt: skip
_UNTIL = frozenset(
    ["active", "available", "blocked", "booked", "effective", "embargoed", "free", "good", "hidden", "locked", "muted", "open", "paused",
     "reserved", "snoozed", "suspended", "valid"]
)  # fmt: skip
_OTHERWISE = (("up", "to", "date"), ("out", "of", "date"))
"""What ends so and is no date."""
_SAYS_DATE = re.compile(
    r"\bdates?\b(?! (?:range|format|field|column|type|string))(?<!up to date)(?<!out of date)|^when\b|日期",
    re.IGNORECASE,
)
_DATE_WORD = re.compile(r"\bdate\b|日期", re.IGNORECASE)
_NO_INSTANT = frozenset({"format", "range", "type", "field", "zone", "column", "interval", "unit"})
_ISO_DAY = re.compile(
    r"y{4}-m{2}-d{2}(?!['\"]?\s*[tT ]\s*h)|\biso[ -]?(?:8601)? date\b(?!.?time)", re.IGNORECASE
)
_ISO_TIME = re.compile(r"\biso[ -]?8601|\biso\b|rfc[ -]?3339|y{4}-m{2}-d{2}['\"]?\s*t", re.IGNORECASE)
_TOLD = re.compile(
    r"y{2,4}\W?m{1,2}|m{2}\W?d{2}|d{2}\W?m{2}|h{2}\W?m{2}|\biso\b|\biso[ -]?8601|\brfc[ -]?\d|\bunix|\bepoch\b|\d{4}\W\d{1,2}|\d{8}|\d{1,2}:\d{2}|年|格式|strftime|"
    r"\b(?:milli)?seconds since\b|\bin (?:milli)?seconds\b",
    re.IGNORECASE,
)
_NOT_SO = re.compile(
    r"\b(?:not|never|rather than|instead of)\s+(?:(?:as|in|the|an?)\s+)*(?:iso[ -]?8601|iso|rfc[ -]?\d+|[ymdh]{1,4}(?:\W?[ymdh]{1,4}){1,4})",
    re.IGNORECASE,
)
_NO_DAY = re.compile(
    r"\biso[ -]?(?:8601)?\W{0,2}(?:week|duration|interval|period|ordinal|range|month|year)|\b\d{4}-?W\d{2}|\bP(?:\d+[YMWD]|T\d+[HMS])",
    re.IGNORECASE,
)
"""Forms of ISO 8601 that are neither those of a day nor of a moment."""
_OTHER_FORM = re.compile(
    r"(?<![a-z])(?<![ymd]\W)(?:d{1,2}\W?m{1,3}\W?y{2,4}|m{1,3}\W?d{1,2}\W?y{2,4}|y{4}[/.]?m{2}[/.]?d{2})(?![ymd])|\bunix|\bepoch\b",
    re.IGNORECASE,
)
_WITH_TIME = re.compile(r"y{4}-m{2}-d{2}['\"]?\s*t|\bh{2}:m{2}|\bdate[- ]?time\b", re.IGNORECASE)
_MOMENT = re.compile(r"\btime|\brfc[ -]?3339|\bmoment\b|\bdate-?time", re.IGNORECASE)
_DAY_SHOWN = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}(?![\dT]| \d)")
_MOMENT_SHOWN = re.compile(r"(?<!\d)\d{4}-\d{2}-\d{2}[T ]\d")
_FREE = re.compile(
    r"\brelative\b|\bnatural(?:[ -]language)?\b|today|yesterday|tomorrow|\bago\b|last week|\"\d+[dwmh]\"|'\d+[dwmh]'|\bor\b.*\b(?:year|month)\b|"
    r"\bhuman[- ](?:readable|friendly)",
    re.IGNORECASE,
)


def is_date(part: Part) -> bool:
    """Say whether a field is a text that tells a date or a time."""
    if (
        part.kinds - {"integer", "number"} != {"string"}
        or part.values
        or not part.words
        or not _NO_INSTANT.isdisjoint(part.words)
        or part.words[-3:] in _OTHERWISE
    ):
        return False
    described = part.description[:_LONGEST]
    if _DATE_WORD.search(described) and _ISO_DAY.search(described):
        return True
    return kind_named(part) is not None or _is_named_so(part.words, described)


def _is_named_so(words: Words, described: str) -> bool:
    """Say whether a name is that of a date, though not whether that is a day or a moment."""
    last, before = words[-1], words[-2:-1]
    if last == "on" and before:
        return before[0] in _DONE | {"start", "end", "begin"}
    if last in {"until", "till"} and before and before[0] in _UNTIL:
        return True
    return last in _WHEN and _SAYS_DATE.search(described.strip()) is not None


def kind_named(part: Part) -> str | None:
    """Say whether it is a day, `date`, or a moment, `date-time`, where its name alone says that."""
    words = part.words
    last, before = words[-1], words[-2:-1]
    if last in {"from", "to", "start", "end"}:
        return "date" if before == ("date",) else None
    if last in _DATES or _RUN_TOGETHER.fullmatch(last) or words[:2] == ("date", "of"):
        return "date-time" if last in {"timestamp", "deadline"} else "date"
    if last == "at":
        is_moment = bool(before) and before[0].endswith(("ed", "e", "t", "n", "s"))
    elif last == "time":
        is_moment = bool(before) and before[0] in _TIMES
    else:
        is_moment = words[0] == "last" and len(words) == 2 and last in _LASTLY  # noqa: PLR2004 -- `last_login`
    return "date-time" if is_moment else None


def format_told(part: Part, described: str) -> str | None:
    """Say how a date is written: `schema`, where that says it; `date` or `date-time`, told in words alone.

    `iso` is that it is one of the two, and not which; `other` another form that is told, several, or any; None, that
    nothing is.
    """
    described = _NOT_SO.sub(" ", described[:_LONGEST])
    if any(part.said.get(word) for word in ("format", "pattern", "const")):
        return "schema"
    if _FREE.search(described) or _NO_DAY.search(described) or _OTHER_FORM.search(described):
        return "other"
    if _ISO_DAY.search(described):
        return "other" if _WITH_TIME.search(described) else "date"
    if _ISO_TIME.search(described):
        return _iso(part, described)
    return "other" if _TOLD.search(described) else None


def _iso(part: Part, described: str) -> str:
    """Say which form of ISO 8601 is meant: by what is shown, by what is said, or by the name."""
    days, moments = _DAY_SHOWN.search(described), _MOMENT_SHOWN.search(described)
    if days and moments:
        return "other"
    if moments or (not days and _MOMENT.search(described)):
        return "date-time"
    if days:
        return "date"
    return "date-time" if kind_named(part) == "date-time" else "iso"
