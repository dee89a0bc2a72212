"""How commands speak: data on stdout, everything else on stderr, one shape for every error."""

from __future__ import annotations

import errno
import functools
import json
import logging
import os
import re
import select
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec, TypeVar

import typer

from halflap.core.errors import (
    ConfigError,
    HalflapError,
    InvalidArgumentsError,
    ProgramBrokenError,
    ProgramInputsError,
    ProgramNotFoundError,
    RunNotFoundError,
    ScriptError,
    ToolNotFoundError,
    UsageError,
    WorkflowError,
)
from halflap.core.text import clean
from halflap.core.text import visible as shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from halflap.core.codes import OtherCode

__all__ = [
    "ConfigOption",
    "JsonOption",
    "VerboseOption",
    "as_json_error",
    "data_console",
    "harmless",
    "nobody_reads",
    "note",
    "one_line",
    "print_json",
    "reported",
    "set_up_logging",
    "stdout_kept",
    "stop_writing",
    "visible",
]

_P = ParamSpec("_P")
_T = TypeVar("_T")

ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        help="The configuration file to read, instead of your own.",
        metavar="FILE",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the data as JSON, for programs.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Say on stderr what is going on.")]

_ASKED_WRONGLY = (
    ConfigError,
    InvalidArgumentsError,
    ProgramBrokenError,
    ProgramInputsError,
    ProgramNotFoundError,
    RunNotFoundError,
    ScriptError,
    ToolNotFoundError,
    UsageError,
    WorkflowError,
)
_NOT_WRITTEN: OtherCode = "output-not-written"
_NOISY = ("asyncio", "client", "httpcore2", "httpx2", "mcp", "uvicorn")
_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_ESCAPES = r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"
_IN_TEXT = re.compile(rf"{_ESCAPES}|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_ESCAPED = re.compile(_ESCAPES)
_LINES = "\n\t"
_READ = 8
"""So many times as much of a line is looked at as is shown: some of it may not be shown."""
_DELETE = "\x7f"
_PAGE_WIDTH = 200
_ANY_WIDTH = 100_000


def reported(command: Callable[_P, _T]) -> Callable[_P, _T]:
    """Turn what went wrong into a message and an exit code: 1 it failed, 2 it was asked for wrongly."""

    @functools.wraps(command)
    def run(*arguments: _P.args, **options: _P.kwargs) -> _T:
        try:
            return command(*arguments, **options)
        except HalflapError as error:
            _fail(error, as_json=options.get("as_json") is True)
        except BrokenPipeError:
            if not nobody_reads():
                # It was another pipe than our output that broke.
                raise
            # Whoever read our output has seen enough, as in `halflap list | head`.
            stop_writing()
            raise typer.Exit(0) from None
        except OSError as error:
            if error.errno not in _UNWRITABLE:
                raise
            stop_writing()
            note(f"Error [{_NOT_WRITTEN}]: The output cannot be written: {error.strerror}.")
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None

    return run


def nobody_reads() -> bool:
    """Say whether the other end of our output, or of what we say beside it, is closed."""
    poll = select.poll()
    for descriptor in (1, 2):
        poll.register(descriptor, 0)
    return bool(poll.poll(0))


def stop_writing() -> None:
    """Have the rest of the output go nowhere: what a command says by its exit code stays as it is."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


@contextmanager
def stdout_kept() -> Iterator[None]:
    """Keep stdout for data while code runs that is not ours: what it, or a process that it starts, prints goes to stderr."""
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


def _fail(error: HalflapError, *, as_json: bool) -> NoReturn:
    if as_json:
        print_json(as_json_error(error))
    else:
        # Not cleaned: of a name that has something invisible in it, that is what is wrong.
        note(f"Error [{error.code}]: {visible(_ESCAPED.sub('', str(error)), kept=_LINES)}")
    # Whether the name of a tool is wrong cannot be told while its server is down.
    down = isinstance(error, ToolNotFoundError) and error.unavailable_reason is not None
    raise typer.Exit(2 if isinstance(error, _ASKED_WRONGLY) and not down else 1)


def as_json_error(error: HalflapError) -> dict[str, Any]:
    """Give an error for a program; a configuration's and a workflow's with each of its problems."""
    told: dict[str, Any] = {"error": True, "code": error.code, "message": str(error)}
    if isinstance(error, ConfigError):
        told["problems"] = [
            {
                "code": problem.code,
                "file": None if problem.file is None else str(problem.file),
                "line": problem.line,
                "message": problem.message,
                "suggestion": problem.suggestion,
            }
            for problem in error.problems
        ]
    if isinstance(error, WorkflowError):
        told["problems"] = [{"path": one.path, "message": one.message} for one in error.problems]
    return told


def print_json(value: Any) -> None:
    """Print data for a program; what cannot be seen, or does something to a terminal, is written as an escape."""
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
    """Give a letter's units in UTF-16, by which JSON writes it."""
    data = letter.encode("utf-16-be", errors="surrogatepass")
    return [int.from_bytes(data[at : at + 2]) for at in range(0, len(data), 2)]


def note(text: str) -> None:
    """Say something to the person, where it does not get into the data; on a terminal, broken at words."""
    told = _cleaned(text)
    if sys.stderr.isatty():
        from halflap.cli.breaking import broken_at  # noqa: PLC0415 -- only a terminal needs it

        told = broken_at(told)
    sys.stderr.write(told + "\n")
    sys.stderr.flush()


def harmless(text: str) -> str:
    """Make data fit for a terminal: no control characters except line breaks and tabs, and else as it is."""
    return _IN_TEXT.sub("", text)


def visible(text: str, *, kept: str = "") -> str:
    """Show somebody else's text whole, in one line: what cannot be seen is written as an escape."""
    if text.isascii() and text.isprintable():
        return text
    return shown(text, 10 * len(text), keep=kept)


def one_line(text: str, longest: int = 200) -> str:
    """Make somebody else's text fit to be shown in one line: no control or invisible characters."""
    lines = (_cleaned(line[: _READ * longest]).replace("\t", " ").strip() for line in text.splitlines())
    first = next((line for line in lines if line), "")
    return first if len(first) <= longest else first[: longest - 1] + "…"


def _cleaned(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return clean(text, len(text))


def data_console(*, quiet: bool = False, whole: bool = False) -> Console:
    """Give the console for tables: colours and the width of the terminal only if it is one.

    Away from a terminal, a `whole` table is as wide as what is in it: programs read it line by line.
    """
    from rich.console import Console  # noqa: PLC0415 -- only commands that draw need it

    class Drawing(Console):
        def on_broken_pipe(self) -> None:
            # As rich does it, a reader who has seen enough would be a failure.
            self.quiet = True
            stop_writing()

    width = None if sys.stdout.isatty() else _ANY_WIDTH if whole else _PAGE_WIDTH
    return Drawing(highlight=False, markup=False, emoji=False, width=width, soft_wrap=False, quiet=quiet)


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return _cleaned(super().format(record))


def set_up_logging(*, verbose: bool, tells_of_servers: bool = False) -> None:
    """Log to stderr: warnings of ours; with `verbose` everything of ours and what the libraries warn of.

    A command that tells of the servers' troubles itself does not have them logged as well.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter("halflap: %(message)s"))
    level = logging.INFO if verbose else logging.WARNING
    logging.basicConfig(level=level, handlers=[handler], force=True)
    if tells_of_servers and not verbose:
        for name in (
            "halflap.catalog.refresh",
            "halflap.gateway",
            "halflap.scripts.source",
            "halflap.dspy.source",
        ):
            logging.getLogger(name).setLevel(logging.ERROR)
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING if verbose else logging.CRITICAL)
