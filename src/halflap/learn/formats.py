"""The formats of strings: each string has at most one, which every validator accepts."""

from __future__ import annotations

import re
from collections.abc import Sequence

_DAY = (
    r"[1-9][0-9]{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
    r"|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    r"|(?:[1-9][0-9](?:0[48]|[2468][048]|[13579][26])|(?:[13579][26]|[2468][048])00)-02-29"
)
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?"
_ZONE = r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_N = r"[0-9]{1,9}"
_DAYS = f"(?:{_N}D|{_N}M(?:{_N}D)?|{_N}Y(?:{_N}M(?:{_N}D)?)?)"
_HOURS = f"T(?:{_N}S|{_N}M(?:{_N}S)?|{_N}H(?:{_N}M(?:{_N}S)?)?)"
_LABEL = r"[A-Za-z0-9]{1,31}+(?:-[A-Za-z0-9]{1,15}+){0,2}+"
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_SIGN = r"[A-Za-z0-9._~!$&'()*+,;=:@/-]"
_PATH = rf"{_SIGN}*+(?:%[0-9A-Fa-f]{{2}}{_SIGN}*+)*+"

_SAMPLE = 16

_FORMATS = {
    "date-time": f"(?:{_DAY})[Tt]{_CLOCK}{_ZONE}",
    "date-time-local": f"(?:{_DAY})[Tt]{_CLOCK}",
    "date": _DAY,
    "time": f"{_CLOCK}{_ZONE}",
    "time-local": _CLOCK,
    "duration": f"P(?:{_DAYS}(?:{_HOURS})?|{_HOURS}|{_N}W)",
    "uuid": r"[0-9A-Fa-f]{8}+-[0-9A-Fa-f]{4}+-[0-9A-Fa-f]{4}+-[0-9A-Fa-f]{4}+-[0-9A-Fa-f]{12}+",
    "email": (
        rf"[A-Za-z0-9_%+-]{{1,32}}+(?:\.[A-Za-z0-9_%+-]{{1,15}}+){{0,2}}+@(?:{_LABEL}\.){{1,3}}[A-Za-z]{{2,24}}"
    ),
    "uri": (
        rf"[A-Za-z][A-Za-z0-9+.-]{{0,30}}+://[A-Za-z0-9._~-]++(?::[0-9]{{1,4}}+)?+"
        rf"(?:/{_PATH})?+(?:\?{_PATH})?+(?:\#{_PATH})?+"
    ),
    "ipv4": rf"{_BYTE}(?:\.{_BYTE}){{3}}",
}
PATTERNS = {name: re.compile(pattern) for name, pattern in _FORMATS.items()}
"""A date-time has its offset from UTC; without one it is `date-time-local`, as in OpenAPI."""
FORMATS = tuple(PATTERNS)
_LINES = {name: re.compile(f"(?:(?:{pattern})\n)++").fullmatch for name, pattern in _FORMATS.items()}
"""For many texts together, each followed by a line break."""


def format_of(text: str) -> str:
    """Return the format that a text has, or an empty string."""
    return next((name for name, pattern in PATTERNS.items() if pattern.fullmatch(text)), "")


def all_have(name: str, texts: Sequence[str]) -> bool:
    """Return whether all texts have a format."""
    if len(set(texts[:_SAMPLE])) <= _SAMPLE // 2:
        # Texts in real results often repeat.
        texts = list(set(texts))
    lines = "\n".join(texts) + "\n"
    return lines.count("\n") == len(texts) and _LINES[name](lines) is not None
