"""What commands print: data on stdout, everything else on stderr, one form for every error."""

from __future__ import annotations

import json
import logging
import os
import re
import select
import sys
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.core.text import clean
from halflap.core.text import visible as shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from rich.console import Console, JustifyMethod, OverflowMethod

    from halflap.gateway import Gateway

__all__ = [
    "Table",
    "data_console",
    "drift_line",
    "harmless",
    "is_output_closed",
    "note",
    "one_line",
    "outline",
    "plural",
    "print_json",
    "print_lines",
    "progress",
    "set_up_logging",
    "stdout_kept",
    "stop_writing",
    "visible",
    "warn_about_servers",
    "without_escapes",
    "working",
    "write",
]

_ABOUT_SERVERS = (
    "halflap.catalog.refresh",
    "halflap.gateway",
    "halflap.scripts.source",
    "halflap.dspy.source",
)
_NOISY = ("asyncio", "client", "httpcore2", "httpx2", "mcp", "uvicorn")
_ESCAPES = r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"
_IN_TEXT = re.compile(rf"{_ESCAPES}|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_ESCAPED = re.compile(_ESCAPES)
_LINES = "\n\t"
_MAX_INLINE = 80
_CAMEL = re.compile(r"(?<=[a-z])([A-Z])")
_READ_AHEAD = 8
"""How many times the shown length of a line is looked at: some characters are not shown."""
_DELETE = "\x7f"
_PIPE_WIDTH = 100_000
_MIN_LAST_COLUMN = 20


def is_output_closed() -> bool:
    """Return whether the other end of stdout or stderr is closed."""
    poll = select.poll()
    for descriptor in (1, 2):
        poll.register(descriptor, 0)
    return bool(poll.poll(0))


def stop_writing() -> None:
    """Send the rest of the output nowhere; the exit code stays meaningful."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


@contextmanager
def stdout_kept() -> Iterator[None]:
    """Redirect what other code and its processes print from stdout to stderr."""
    before = sys.stdout
    before.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.stdout = before
        os.dup2(kept, 1)
        os.close(kept)


def print_json(value: Any) -> None:
    """Print JSON; invisible and control characters are written as escapes."""
    plain = not sys.stdout.encoding.lower().startswith("utf")
    text = json.dumps(value, indent=2, ensure_ascii=plain)
    hidden = [letter for letter in set(text) if letter >= _DELETE and visible(letter) != letter]
    escapes = {ord(letter): "".join(f"\\u{unit:04x}" for unit in _units(letter)) for letter in hidden}
    try:
        sys.stdout.write(text.translate(escapes) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        stop_writing()


def _units(letter: str) -> list[int]:
    """Return the UTF-16 units by which JSON escapes a letter."""
    data = letter.encode("utf-16-be", errors="surrogatepass")
    return [int.from_bytes(data[at : at + 2]) for at in range(0, len(data), 2)]


def note(text: str) -> None:
    """Print a message to stderr, apart from the data."""
    sys.stderr.write(_cleaned(text) + "\n")
    sys.stderr.flush()


def write(text: str, *, exact: bool = False) -> None:
    """Print text to stdout. On a terminal never with control characters; in a pipe `exact` keeps them."""
    is_exact = exact and not sys.stdout.isatty()
    sys.stdout.write(text if is_exact else harmless(text))
    sys.stdout.flush()


def print_lines(lines: Iterable[str]) -> None:
    write("\n".join(lines) + "\n")


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings: aligned on a terminal, separated by tabs in a pipe. The last column is cut, or wrapped."""

    headings: Sequence[str]
    rows: Iterable[Sequence[str]]
    right: Collection[int] = ()
    wrap: bool = False

    def print(self) -> None:
        if not sys.stdout.isatty():
            write("".join("\t".join(row).rstrip() + "\n" for row in self.rows))
            return
        from rich.table import Table as RichTable
        from rich.text import Text

        console, cells = data_console(), [[harmless(cell) for cell in row] for row in self.rows]
        overflow: OverflowMethod = "fold" if self.wrap else "ellipsis"
        widths = [max(map(len, column)) for column in list(zip(self.headings, *cells, strict=True))[:-1]]
        if sum(widths) + 2 * len(widths) + _MIN_LAST_COLUMN > console.width:
            # Names are never cut: they are there to be copied.
            for first, *more, last in cells:
                console.print(Text(first, "cyan"), soft_wrap=True)
                if more:
                    console.print(Text("  " + "  ".join(more)), soft_wrap=True)
                console.print(Text(f"  {last}"), no_wrap=not self.wrap, overflow=overflow)
            return
        table = RichTable(box=None, pad_edge=False, header_style="dim")
        for at, heading in enumerate(self.headings):
            justify: JustifyMethod = "right" if at in self.right else "left"
            if at < len(widths):
                style = None if at else "cyan"
                table.add_column(heading, no_wrap=True, style=style, justify=justify, min_width=widths[at])
            else:
                table.add_column(heading, no_wrap=not self.wrap, overflow=overflow, justify=justify)
        for row in cells:
            table.add_row(*row)
        console.print(table)


def outline(data: Any, indent: str = "") -> Iterator[str]:
    """Yield JSON data as indented lines for people. What is empty is left out."""
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
    """Return a value that fits into a line; None if it doesn't, or is empty."""
    if isinstance(value, Mapping):
        given = {key: one for key, one in value.items() if one is not None}
        if any(isinstance(one, Mapping | list | tuple) for one in given.values()):
            return None
        text = ", ".join(f"{_words(key)} {_short(one)}" for key, one in given.items())
        return text if 0 < len(text) <= _MAX_INLINE else None
    if isinstance(value, list | tuple):
        is_flat = all(isinstance(one, str | int | float) for one in value)
        return ", ".join(map(_scalar, value)) if value and is_flat else None
    text = "" if value is None else _scalar(value)
    return None if not text or "\n" in text else text


def _words(key: str) -> str:
    return _CAMEL.sub(r" \1", one_line(str(key))).replace("_", " ").lower()


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return visible(str(value), kept="\n").rstrip("\n")


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def harmless(text: str) -> str:
    """Remove control characters except line breaks and tabs."""
    return _IN_TEXT.sub("", text)


def visible(text: str, *, kept: str = "") -> str:
    """Return a text with invisible characters escaped."""
    if text.isascii() and text.isprintable():
        return text
    return shown(text, 10 * len(text), keep=kept)


def without_escapes(text: str) -> str:
    """Return a text without terminal escapes, and with other invisible characters escaped."""
    return visible(_ESCAPED.sub("", text), kept=_LINES)


def one_line(text: str, longest: int = 200) -> str:
    """Return the first line of a text, shortened, without control and invisible characters."""
    lines = (_cleaned(line[: _READ_AHEAD * longest]).replace("\t", " ").strip() for line in text.splitlines())
    first = next((line for line in lines if line), "")
    return first if len(first) <= longest else first[: longest - 1] + "…"


def _cleaned(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return clean(text, len(text))


def drift_line(drift: Mapping[str, Any]) -> str:
    """Describe in a line what drifted, or how results break the declared schema."""
    where = one_line(drift["path"], 200) or "the result"
    since = f", since {drift['since']}" if drift["since"] else ", in logs"
    if "now" in drift:
        return f"{where}: {drift['what'].replace('-', ' ')}, was {drift['before']}, is {drift['now']}{since}"
    often = "once" if drift["times"] == 1 else f"{drift['times']} times"
    return f"{where}: breaks the declared schema, expected {one_line(drift['before'], 200)} ({often}{since})"


def warn_about_servers(gateway: Gateway, server: str | None = None) -> None:
    for name, reason in sorted(gateway.unavailable().items()):
        if server in {None, name}:
            note(f"Server {name!r} is not available: {reason}")


def data_console(*, quiet: bool = False) -> Console:
    """Return a console for stdout; in a pipe its lines are not wrapped."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True
            stop_writing()

    width = None if sys.stdout.isatty() else _PIPE_WIDTH
    return Output(highlight=False, markup=False, emoji=False, width=width, soft_wrap=False, quiet=quiet)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status(Text(f"{what} …")):
        yield


@contextmanager
def progress(what: str) -> Iterator[Callable[..., None] | None]:
    """Show a bar on a terminal; yields a function of how much is done, of how much, and a new text; else None."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (bars.TextColumn("{task.description}"), bars.BarColumn(), bars.TimeRemainingColumn())
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task(what, total=None)

        def update(done: int, total: int, text: str = what) -> None:
            shown.update(task, completed=done, total=total or None, description=one_line(text, 60))

        yield update


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return _cleaned(super().format(record))


def set_up_logging(*, verbose: bool, servers: bool = False) -> None:
    """Log to stderr: our warnings; with `verbose` everything of ours, and the libraries' warnings.

    Most commands report the servers' troubles themselves, so these are logged only with `servers`.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter("halflap: %(message)s"))
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, handlers=[handler], force=True)
    for name in _ABOUT_SERVERS:
        logging.getLogger(name).setLevel(logging.NOTSET if servers or verbose else logging.ERROR)
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING if verbose else logging.CRITICAL)
