"""Dates: which names are those of a date or a time, and whether anything says how it is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halflap.lint.parts import Part

__all__ = ["format_told", "is_date", "names_day"]

_LONGEST = 1_000
"""Of a longer description, the rest is not read."""
_DATES = frozenset({"date", "deadline", "birthday", "birthdate", "timestamp"})
_RUN_TOGETHER = re.compile(
    r"(?:from|to|start|end|begin|birth|due|check(?:in|out)|depart(?:ure)?|arrival)date"
)
_TIMES = frozenset(
    [
        "arrival",
        "arrive",
        "begin",
        "begun",
        "close",
        "closed",
        "complete",
        "completed",
        "create",
        "created",
        "depart",
        "departure",
        "due",
        "end",
        "ended",
        "event",
        "expire",
        "expiry",
        "finish",
        "finished",
        "last",
        "modified",
        "modify",
        "open",
        "publish",
        "published",
        "received",
        "sent",
        "start",
        "started",
        "update",
        "updated",
    ]
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
    ):
        return False
    described = part.description[:_LONGEST]
    if _DATE_WORD.search(described) and _ISO_DAY.search(described):
        return True
    last, before = part.words[-1], part.words[-2:-1]
    if last == "at":
        return bool(before) and before[0].endswith(("ed", "e", "t", "n", "s"))
    if last in {"from", "to", "start", "end"}:
        return before == ("date",)
    if last == "time":
        return bool(before) and before[0] in _TIMES
    return last in _DATES or _RUN_TOGETHER.fullmatch(last) is not None


def names_day(part: Part) -> bool:
    """Say whether it is a day rather than a moment, by its name."""
    return "date" in part.words[-1] or part.words[-1] in {"birthday", "from", "to", "start", "end"}


def format_told(part: Part, described: str) -> str | None:
    """Say how a date is written: `schema`, where that says it; `date` or `date-time`, told in words alone.

    `other` is another form that is told, or any; None, that nothing is.
    """
    described = described[:_LONGEST]
    if any(part.said.get(word) for word in ("format", "pattern", "const")):
        return "schema"
    if _FREE.search(described):
        return "other"
    if _ISO_DAY.search(described):
        return "date"
    if _ISO_TIME.search(described):
        return "date-time"
    return "other" if _TOLD.search(described) else None
