"""Print data to stdout, and everything else to stderr."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from halflap.core.text import clean, shorten
from halflap.core.text import visible as spelled_out

if TYPE_CHECKING:
    from rich.console import Console

    from halflap.gateway import Gateway

_ABOUT_SERVERS = (
    "halflap.catalog.servers",
    "halflap.gateway",
    "halflap.scripts.scripts",
    "halflap.dspy.programs",
)
_NOISY = ("asyncio", "client", "httpcore2", "httpx2", "mcp", "uvicorn")
_MAX_INLINE = 80
_MANY = 1_000
"""Numbers from here on are shown without decimals."""
_CAMEL = re.compile(r"(?<=[a-z])([A-Z])")
_MIN_LAST_COLUMN = 20
_PIPE_WIDTH = 100_000


def safe(text: str) -> str:
    """Remove terminal escapes and invisible characters, except line breaks and tabs."""
    return text if text.isascii() and text.isprintable() else clean(text, len(text))


def visible(text: str, *, kept: str = "") -> str:
    """Escape invisible characters, where they may matter."""
    return text if text.isascii() and text.isprintable() else spelled_out(text, 10 * len(text), keep=kept)


def one_line(text: str, longest: int = 200) -> str:
    """Return the first line of a text, shortened and safe."""
    # Read more than is shown, since invisible characters are removed.
    lines = (safe(line[: 8 * longest]).replace("\t", " ").strip() for line in text.splitlines())
    return shorten(next((line for line in lines if line), ""), longest)


def note(text: str) -> None:
    """Print a message to stderr."""
    sys.stderr.write(safe(text) + "\n")
    sys.stderr.flush()


def write(text: str, *, exact: bool = False) -> None:
    """Print text to stdout, made safe; with `exact`, a pipe gets it unchanged."""
    sys.stdout.write(text if exact and not sys.stdout.isatty() else safe(text))
    sys.stdout.flush()


def print_lines(lines: Iterable[str]) -> None:
    write("\n".join(lines) + "\n")


def print_json(value: Any) -> None:
    """Print JSON with invisible characters escaped."""
    plain = not sys.stdout.encoding.lower().startswith("utf")
    text = json.dumps(value, indent=2, ensure_ascii=plain)
    hidden = (letter for letter in set(text) if letter != "\n" and visible(letter) != letter)
    escapes = {ord(letter): json.dumps(letter)[1:-1].replace("\x7f", "\\u007f") for letter in hidden}
    sys.stdout.write(text.translate(escapes) + "\n")
    sys.stdout.flush()


def stop_writing() -> None:
    """Discard further output, so that the exit code stays meaningful."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def data_console() -> Console:
    """Return a console for stdout without markup, and without line wraps in a pipe."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Console(highlight=False, markup=False, emoji=False, width=width)


@dataclass(frozen=True, slots=True)
class Table:
    """Aligned columns on a terminal, where the last one is cut or wrapped; tab-separated lines in a pipe."""

    headings: Sequence[str]
    rows: Iterable[Sequence[str]]
    right: Collection[int] = ()
    wrap: bool = False

    def print(self) -> None:
        if not sys.stdout.isatty():
            write("".join("\t".join(row).rstrip() + "\n" for row in self.rows))
            return
        from rich.table import Table as RichTable

        console, cells = data_console(), [[safe(cell) for cell in row] for row in self.rows]
        *widths, _ = (max(map(len, column)) for column in zip(self.headings, *cells, strict=True))
        table = RichTable(box=None, pad_edge=False, header_style="dim")
        for at, width in enumerate(widths):
            justify: Any = "right" if at in self.right else "left"
            table.add_column(
                self.headings[at],
                style=None if at else "cyan",
                justify=justify,
                no_wrap=True,
                min_width=width,
            )
        # Only the last column is cut, so that names can be copied; on a narrow terminal, lines get too long.
        taken = sum(widths) + 2 * len(widths)
        console.width = max(console.width, taken + _MIN_LAST_COLUMN)
        table.add_column(self.headings[-1], no_wrap=not self.wrap, max_width=console.width - taken)
        for row in cells:
            table.add_row(*row)
        console.print(table)


def outline(data: Any, indent: str = "") -> Iterator[str]:
    """Yield JSON data as indented lines, without empty values."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            name = f"{indent}{_words(key)}:"
            short = _short(value)
            if short is not None:
                yield f"{name} {short}"
            elif lines := list(outline(value, f"{indent}  ")):
                yield name
                yield from lines
    elif isinstance(data, list | tuple):
        for one in data:
            for at, line in enumerate(outline(one, f"{indent}  ")):
                yield line if at else f"{indent}- {line.strip()}"
    elif data is not None and data != "":
        yield from ((indent + line).rstrip() for line in _scalar(data).split("\n"))


def _short(value: Any) -> str | None:
    """Return a value as one line; None if it is empty or does not fit."""
    if isinstance(value, Mapping):
        given = {key: one for key, one in value.items() if one is not None}
        if any(isinstance(one, Mapping | list | tuple) for one in given.values()):
            return None
        text = ", ".join(f"{_words(key)} {_short(one)}" for key, one in given.items())
        return text if 0 < len(text) <= _MAX_INLINE else None
    if isinstance(value, list | tuple):
        is_flat = all(isinstance(one, str | int | float) for one in value)
        if len(value) > 1 and any(isinstance(one, str) and one.endswith(".") for one in value):
            # Several sentences.
            return None
        return ", ".join(map(_scalar, value)) if value and is_flat else None
    text = "" if value is None else _scalar(value)
    return None if not text or "\n" in text else text


def _words(key: str) -> str:
    return _CAMEL.sub(r" \1", one_line(str(key))).replace("_", " ").lower()


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= _MANY else f"{value:.4g}"
    return visible(str(value), kept="\n").rstrip("\n")


def drift_line(drift: Mapping[str, Any]) -> str:
    """Describe a drift, or a breach of the declared schema, in one line."""
    where = one_line(drift["path"]) or "the result"
    what = f"{drift['what'].replace('-', ' ')}, was {drift['before']}, is {drift.get('now')}"
    if "times" in drift:
        often = "once" if drift["times"] == 1 else f"{drift['times']} times"
        what = f"breaks the declared schema, expected {one_line(drift['before'])}, {often}"
    return f"{where}: {what}, since {drift['since']}"


def describe_sign_in(row: Mapping[str, Any]) -> str:
    """Return who is signed in, and until when, unless it renews itself."""
    who = row["person"] or "you"
    if row["expiresAt"] is None or row["renewsItself"]:
        return one_line(who)
    return f"{one_line(who)} until {datetime.fromisoformat(row['expiresAt']).astimezone():%Y-%m-%d %H:%M}"


def warn_about_servers(gateway: Gateway, server: str | None = None) -> None:
    """Print which servers are not available, or that none is configured."""
    if not gateway.config.servers:
        from halflap.gateway import NO_SERVER_ADVICE

        note(f"No server is configured yet. {NO_SERVER_ADVICE}")
    for name, reason in sorted(gateway.unavailable().items()):
        if server in {None, name}:
            note(f"Server {name!r} is not available: {reason}")


@contextmanager
def working(activity: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner on a terminal; yield a function that changes its text."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(f"{activity} …")) as status:
        yield lambda text: status.update(Text(f"{one_line(text, 70).rstrip(' …')} …"))


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return safe(super().format(record))


def set_up_logging(*, verbose: bool, servers: bool = False) -> None:
    """Log our warnings to stderr; with `verbose`, also our info messages and the libraries' warnings.

    Most commands report failures of servers themselves, so these are logged only with `servers`.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter("halflap: %(message)s"))
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _ABOUT_SERVERS:
        logging.getLogger(name).setLevel(logging.NOTSET if servers or verbose else logging.ERROR)
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING if verbose else logging.CRITICAL)
