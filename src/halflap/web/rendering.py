"""Templates and their filters. Every value is escaped, and its invisible characters are written as escapes."""

from __future__ import annotations

import json
import math
import re
import time
from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup, escape
from pygments.lexers.python import PythonLexer
from pygments.token import STANDARD_TYPES

from halflap import __version__
from halflap.core.text import clean, plural, visible

__all__ = ["code_lines", "environment", "label", "pretty", "short_name"]

_MAX_TEXT = 65_536
"""Characters of one value on a page; more make it slow to render."""
_MAX_PROSE = 4_000
_MAX_LABEL = 72
_CODE = re.compile(r"`([^`\n]+)`")
_NONE = "\N{EN DASH}"
_KILO = 1_000
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


def environment() -> Environment:
    """Return the environment with all templates. Reads files: call it in a thread."""
    folder = files("halflap.web").joinpath("templates")
    texts = {one.name: one.read_text("utf-8") for one in folder.iterdir() if one.name.endswith(".html")}
    made = Environment(
        loader=DictLoader(texts),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.filters |= {
        "ago": ago,
        "clean": lambda text: clean(str(text), _MAX_PROSE),
        "duration": duration,
        "number": number,
        "percent": percent,
        "plural": plural,
        "pretty": pretty,
        "prose": prose,
        "short": short_name,
        "size": size,
        "slug": lambda text: quote(str(text), safe=""),
        "stamp": stamp,
        "tojson_text": lambda value: json.dumps(value, ensure_ascii=True),
    }
    made.globals |= {"version": __version__}
    return made


def _shown(value: Any) -> Any:
    """Write invisible characters, such as a right-to-left override, as escapes: in every value of every template."""
    return visible(value, _MAX_TEXT, keep="\n\t") if type(value) is str else value


def ago(seconds: float | None) -> str:
    """Format the time since then."""
    if seconds is None:
        return "never"
    past = max(0.0, time.time() - seconds)
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min")):
        if past >= unit:
            return f"{int(past // unit)} {name} ago"
    return "just now" if past < 5 else f"{int(past)} s ago"  # noqa: PLR2004 -- a few seconds


def stamp(seconds: float | None) -> str:
    """Format a time for the `datetime` attribute of a `<time>` element."""
    try:
        return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


def duration(milliseconds: float | None) -> str:
    if milliseconds is None:
        return _NONE
    if milliseconds < _KILO:
        return f"{milliseconds:.0f} ms" if milliseconds >= 1 else "<1 ms"
    seconds = milliseconds / _KILO
    return f"{seconds:.1f} s" if seconds < _MINUTE else f"{seconds / _MINUTE:.1f} min"


def number(value: float | None) -> str:
    """Format a number in a few characters: 1,234, 56.7k, 8.9M."""
    if value is None:
        return _NONE
    for least, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= least:
            return f"{value / (1e3 if unit == 'k' else least):.3g}{unit}"
    return f"{value:,.0f}" if value == int(value) else f"{value:.2g}"


def percent(share: float | None) -> str:
    if share is None:
        return _NONE
    # Rounded down: confidence is a lower bound.
    return f"{math.floor(share * 100)} %"


def size(count: float | None) -> str:
    if count is None:
        return _NONE
    if count < _KILO:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB"):
        count /= _KILO
        if count < _KILO or unit == "GB":
            break
    return f"{count:.3g} {unit}"


def prose(text: object) -> Markup:
    """Escape a message, and mark text in backticks as code."""
    return Markup(_CODE.sub(r"<code>\1</code>", str(escape(_shown(clean(str(text), _MAX_PROSE))))))  # noqa: S704 -- escaped


def short_name(name: str) -> str:
    """Return a tool's name without the prefix of its server."""
    parts = name.split("__", 2)
    return parts[-1] if parts[0] == "mcp" and len(parts) > 2 else name.partition("__")[2] or name  # noqa: PLR2004


def label(text: str) -> str:
    """Return a name for a drawing, which is made in the browser and bypasses the escaping of templates."""
    return visible(text, _MAX_LABEL)


def pretty(value: Any) -> str:
    """Indent JSON, or text that may be JSON."""
    if isinstance(value, str):
        if len(value) > _MAX_TEXT:
            return value
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            return value
        value = read
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


@lru_cache(maxsize=64)
def code_lines(code: str) -> tuple[Markup, ...]:
    """Return the lines of a Python program, with spans for syntax highlighting."""
    lines: list[list[str]] = [[]]
    text = visible(code.rstrip(), _MAX_TEXT, keep="\n\t")
    for kind, token in PythonLexer(stripnl=False, ensurenl=False).get_tokens(text):
        name = STANDARD_TYPES.get(kind) or STANDARD_TYPES.get(kind.parent, "")
        for at, part in enumerate(token.split("\n")):
            if at:
                lines.append([])
            if part:
                lines[-1].append(
                    f'<span class="c-{name[0]}">{escape(part)}</span>' if name else str(escape(part))
                )
    return tuple(Markup("".join(line)) for line in lines)  # noqa: S704 -- every part was escaped
