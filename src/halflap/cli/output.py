"""How commands speak: data on stdout, everything else on stderr, one shape for every error."""

from __future__ import annotations

import functools
import json
import logging
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, ParamSpec, TypeVar

import typer

from halflap.errors import ConfigError, HalflapError, InvalidArgumentsError, ToolNotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

__all__ = [
    "ConfigOption",
    "JsonOption",
    "VerboseOption",
    "data_console",
    "note",
    "one_line",
    "print_json",
    "reported",
    "set_up_logging",
]

_P = ParamSpec("_P")
_T = TypeVar("_T")

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="Configuration file.", metavar="FILE", show_default=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print data as JSON.")]
VerboseOption = Annotated[bool, typer.Option("--verbose", "-v", help="Say on stderr what is going on.")]

_ASKED_WRONGLY = (ConfigError, InvalidArgumentsError, ToolNotFoundError, UsageError)
_NOISY = ("asyncio", "client", "httpcore2", "httpx2", "mcp", "uvicorn")
_UNSHOWABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]")


def reported(command: Callable[_P, _T]) -> Callable[_P, _T]:
    """Turn what went wrong into a message and an exit code: 1 it failed, 2 it was asked for wrongly."""

    @functools.wraps(command)
    def run(*arguments: _P.args, **options: _P.kwargs) -> _T:
        try:
            return command(*arguments, **options)
        except HalflapError as error:
            _fail(error, as_json=options.get("as_json") is True)
        except BrokenPipeError:
            # Whoever read our output has seen enough, as in `halflap list | head`.
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            raise typer.Exit(0) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None

    return run


def _fail(error: HalflapError, *, as_json: bool) -> NoReturn:
    if as_json:
        print_json({"error": True, "code": error.code, "message": str(error)})
    else:
        note(f"Error: {error}")
    raise typer.Exit(2 if isinstance(error, _ASKED_WRONGLY) else 1)


def print_json(value: Any) -> None:
    """Print data for a program."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Say something to the person, where it does not get into the data."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def one_line(text: str, longest: int = 200) -> str:
    """Make somebody else's text fit to be shown in one line: no control or invisible characters."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    clean = _UNSHOWABLE.sub("", first)
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


def data_console() -> Console:
    """Give the console for tables: colours and the width of the terminal only if it is one."""
    from rich.console import Console  # noqa: PLC0415 -- only commands that draw need it

    return Console(highlight=False, width=None if sys.stdout.isatty() else 200, soft_wrap=False)


def set_up_logging(*, verbose: bool) -> None:
    """Log to stderr: warnings of ours; with `verbose` everything of ours and what the libraries warn of."""
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING,
        format="halflap: %(message)s",
        stream=sys.stderr,
        force=True,
    )
    for name in _NOISY:
        logging.getLogger(name).setLevel(logging.WARNING if verbose else logging.CRITICAL)
