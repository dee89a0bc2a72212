"""Units of measure: which one a name or a text gives.

A text may use the word of a unit for something else: `the auction won`, `points to`, `the day`. Such words, and symbols of
one letter, count where a unit is told: after `in`, in brackets, behind a number, after `unit:`, or alone.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from halflap.graph.words import pieces_of

__all__ = ["named_unit", "one_unit", "units_in"]

Told = frozenset[tuple[str, str]]
"""What is measured, and in what: `("time", "seconds")`."""


class _Unit(NamedTuple):
    dimension: str
    name: str
    words: str
    """As a pattern: what says it wherever it stands."""
    unsure: str = ""
    """Words that may mean something else."""
    symbol: str = ""
    """One letter or two, in this case alone."""
    in_names: str = ""
    """What else says it at the end of a name."""


_UNITS = (
    _Unit("time", "milliseconds", r"ms|msecs?|millis|milli-?seconds?|毫秒|ミリ秒|밀리초"),
    _Unit("time", "seconds", r"secs?|seconds|sekunden?|秒|초", "second", "s", "s"),
    _Unit("time", "minutes", r"mins|minutes|分钟|分", "minute min"),
    _Unit("time", "hours", r"hrs?|hours|stunden?|小时|時間|시간", "hour", "h"),
    _Unit("time", "days", r"days|tagen?|天|日数", "day", "d"),
    _Unit("time", "weeks", r"weeks|周", "week"),
    _Unit("time", "months", r"months|个月", "month"),
    _Unit("time", "years", r"years|年", "year"),
    _Unit("time", "nanoseconds", r"ns|nano-?seconds?"),
    _Unit("time", "microseconds", r"µs|micro-?seconds?|微秒"),
    _Unit("time", "unix", r"unix|epoch"),
    _Unit("money", "cents", r"cents?|pence"),
    _Unit("money", "USD", r"usd|us ?dollars?|dollars?|\$"),
    _Unit("money", "EUR", r"eur|euros?|€"),
    _Unit("money", "GBP", r"gbp|pounds? sterling|£"),
    _Unit("money", "JPY", r"jpy|yen|円"),
    _Unit("money", "CNY", r"cny|rmb|yuan|元|人民币|¥"),
    _Unit("money", "KRW", r"krw|원", "won"),
    *(
        _Unit("money", name.upper(), name)
        for name in ("chf", "inr", "cad", "aud", "nzd", "sek", "nok", "dkk", "btc", "eth", "brl", "mxn")
    ),
    _Unit("money", "satoshis", r"satoshis?|sats"),
    _Unit("money", "wei", r"wei"),
    _Unit("money", "gwei", r"gwei"),
    _Unit("money", "lamports", r"lamports?"),
    _Unit("money", "credits", "", "credit credits"),
    _Unit("money", "points", "", "point points"),
    _Unit("share", "percent", r"percent(?:ages?)?|pct|%|per cent|百分比|百分之"),
    _Unit("share", "fraction", r"fraction|decimal|0(?:\.0)? ?(?:-|\u2013|to|and|\uff5e|~|到|至) ?1(?:\.0)?(?![\d.])|0\.\d+ ?="),
    _Unit("share", "basis points", r"bps|basis points?"),
    _Unit("size", "bytes", r"bytes?|octets?|字节|バイト"),
    _Unit("size", "kilobytes", r"kb|kib|kilobytes?"),
    _Unit("size", "megabytes", r"mb|mib|megabytes?"),
    _Unit("size", "gigabytes", r"gb|gib|gigabytes?"),
    _Unit("size", "terabytes", r"tb|tib|terabytes?"),
    _Unit("size", "bits", r"bits|bit/s", "bit"),
    _Unit("size", "kilobits", r"kbps|kbits?(?:/s)?"),
    _Unit("size", "megabits", r"mbps|mbits?(?:/s)?"),
    _Unit("size", "gigabits", r"gbps|gbits?(?:/s)?"),
    _Unit("length", "pixels", r"px|pixels?|像素|ピクセル"),
    _Unit("length", "inches", r"inch(?:es)?|英寸"),
    _Unit("length", "points", r"pt|pts|磅", "point points"),
    _Unit("length", "EMU", r"emus?"),
    _Unit("length", "em", "", "em rem", in_names="em|rem"),
    _Unit("length", "twips", r"twips?"),
    _Unit("length", "millimetres", r"mm|millimet(?:er|re)s?|毫米"),
    _Unit("length", "centimetres", r"cm|centimet(?:er|re)s?|厘米"),
    _Unit("length", "metres", r"met(?:er|re)s?|米|미터", "", "m", "m"),
    _Unit("length", "kilometres", r"km|kilomet(?:er|re)s?|公里|千米"),
    _Unit("length", "miles", r"miles?", "mi", in_names="mi"),
    _Unit("length", "feet", r"feet|ft", "foot"),
    _Unit("length", "yards", r"yards|yds?", "yard"),
    _Unit("length", "nanometres", r"nm|nanomet(?:er|re)s?"),
    _Unit("length", "base pairs", r"bp|base pairs?"),
    _Unit("mass", "grams", r"grams?|克", "", "g", "g"),
    _Unit("mass", "milligrams", r"mg|milligrams?"),
    _Unit("mass", "kilograms", r"kg|kgs|kilos?|kilograms?|公斤|千克"),
    _Unit("mass", "tonnes", r"tonnes?|tons?", "", "t"),
    _Unit("mass", "pounds", r"lbs?|pounds?"),
    _Unit("mass", "ounces", r"oz|ounces?"),
    _Unit("temperature", "Celsius", r"celsius|°c|℃|摄氏", "", "C"),
    _Unit("temperature", "Fahrenheit", r"fahrenheit|°f|℉", "", "F"),
    _Unit("temperature", "Kelvin", r"kelvin", "", "K", "k"),
    _Unit("speed", "km/h", r"km/?h|kph|km per hour|kilomet(?:er|re)s? per hour"),
    _Unit("speed", "mph", r"mph|miles per hour"),
    _Unit("speed", "m/s", r"m/s|met(?:er|re)s? per second"),
    _Unit("speed", "knots", r"knots?"),
    _Unit("speed", "per minute", r"rpm|bpm|per minute"),
    _Unit("speed", "per second", r"fps|per second|/ ?s"),
    _Unit("speed", "per hour", r"per hour"),
    _Unit("speed", "per day", r"per day"),
    *(
        _Unit("physics", name, words, unsure, symbol, in_names)
        for name, words, unsure, symbol, in_names in (
            ("kilowatt hours", "kwh", "", "", ""),
            ("kilowatts", "kw|kilowatts?", "", "", ""),
            ("megawatts", "mw|megawatts?", "", "", ""),
            ("watts", "watts?", "", "W", "w"),
            ("volts", "volts?", "", "V", "v"),
            ("amperes", "amps?|amperes?", "", "A", "a"),
            ("hertz", "hz|hertz", "", "", ""),
            ("kilohertz", "khz", "", "", ""),
            ("megahertz", "mhz", "", "", ""),
            ("gigahertz", "ghz", "", "", ""),
            ("pascals", "pa|pascals?", "", "", ""),
            ("hectopascals", "hpa|mbar", "", "", ""),
            ("kilopascals", "kpa", "", "", ""),
            ("bar", "", "bar", "", "bar"),
            ("psi", "psi", "", "", ""),
            ("mmHg", "mmhg", "", "", ""),
            ("joules", "joules?", "", "J", "j"),
            ("kilocalories", "kcal|calories?", "", "", ""),
            ("newton metres", "nm", "", "", ""),
        )
    ),
    _Unit("angle", "degrees", r"degrees?|deg|°|度"),
    _Unit("angle", "radians", r"rad|radians?"),
    _Unit("count", "characters", r"chars?|characters?|tokens?|words?|frames?|samples?|bars|beats?|字符", "line lines"),
)  # fmt: skip
_NO_UNIT_NEXT = r"(?:the|an?|this|that|these|those|each|every|any|one|our|your|its|his|her)\b"
_WORD = re.compile(r"[^\W\d_]+")
_NOT_SO = re.compile(r"\b(?:not|never|rather than|instead of)\s+(?:in\s+|as\s+)?[\w$€£%]+", re.IGNORECASE)


def _either(words: str) -> str:
    return "|".join(words.split())


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z])(?:{pattern or '(?!)'})(?![a-z])", re.IGNORECASE)


def _where_told(pattern: str, *, behind: str) -> re.Pattern[str]:
    """Find a word where nothing but a unit can stand; `behind` is what may come between it and `in`."""
    unit = rf"(?:{pattern or '(?!)'})(?![\w'\u2019-])"
    return re.compile(
        rf"\b(?i:in|as)\s+(?!{_NO_UNIT_NEXT}){behind}{unit}|[(\[]\s*{unit}\s*[)\],;/|]|\d\s?-?{unit}"
        rf"|\b(?i:units?|uom|measured in|number of)\b\W{{0,3}}(?:(?i:is|are)\s+)?{unit}|^\W*{unit}\W*$|,\s*{unit}\W*$"
    )


_IN_TEXT = tuple(
    (
        (one.dimension, one.name),
        _words(one.words),
        frozenset(one.unsure.split()),
        _where_told(f"(?i:{_either(one.unsure)})", behind=r"(?:\w+\s+)?"),
        one.symbol,
        _where_told(one.symbol, behind=""),
    )
    for one in _UNITS
)
_IN_NAME = tuple(
    (
        (one.dimension, one.name),
        re.compile("|".join(filter(None, (one.words, _either(one.unsure), one.in_names))), re.IGNORECASE),
    )
    for one in _UNITS
    if one.dimension != "count"
)


@lru_cache(maxsize=1 << 12)
def units_in(text: str) -> Told:
    """Give all units that a text tells."""
    text = _NOT_SO.sub(" ", text)
    # Most texts have none of the words that have to be looked at closely.
    as_written = frozenset(_WORD.findall(text))
    there = frozenset(word.lower() for word in as_written)
    return frozenset(
        about
        for about, words, unsure, unsure_told, symbol, symbol_told in _IN_TEXT
        if words.search(text)
        or (not unsure.isdisjoint(there) and unsure_told.search(text))
        or (symbol in as_written and symbol_told.search(text))
    )


@lru_cache(maxsize=1 << 12)
def named_unit(name: str) -> tuple[str, str] | None:
    """Give the unit that a name ends with, or has in it: `timeout_ms`, `widthPx`, `price_usd_cents`."""
    for piece in reversed(pieces_of(name)[1:]):
        for about, pattern in _IN_NAME:
            if pattern.fullmatch(piece):
                return about
    return None


def one_unit(told: Told, declared: str = "") -> str | None:
    """Give the one unit that is told: cents of a currency are one; else what was declared, as it stands."""
    names = {name for _, name in told}
    if len(names) == 1:
        return names.pop()
    currencies = {name for dimension, name in told if dimension == "money"}
    if len(names) == 2 and currencies == names and "cents" in names:  # noqa: PLR2004 -- a currency, and its cents
        return f"{(names - {'cents'}).pop()} cents"
    return declared or None
