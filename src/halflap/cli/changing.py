"""Shows what a file would become, and has a person decide."""

from __future__ import annotations

import difflib
import json
import re
import sys
from typing import TYPE_CHECKING

import typer

from halflap.cli.hiding import hidden
from halflap.cli.output import data_console, note, visible
from halflap.clients import jsontext
from halflap.errors import ConfirmationNeededError, HalflapError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["difference", "may_write", "show_difference"]

_CONTEXT = 3
_LONGEST_LINE = 400
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


def difference(path: Path, before: str | None, after: str | None) -> str:
    """Give a change as a unified diff; None stands for no file."""
    old, new = (before or "").splitlines(), (after or "").splitlines()
    # What is the same at both ends is left to nobody: files of clients are large.
    start = _same(old, new)
    end = _same(old[start:][::-1], new[start:][::-1])
    first, rest = max(0, start - _CONTEXT), max(0, end - _CONTEXT)
    lines = difflib.unified_diff(
        old[first : len(old) - rest],
        new[first : len(new) - rest],
        "/dev/null" if before is None else str(path),
        "/dev/null" if after is None else str(path),
        lineterm="",
        n=_CONTEXT,
    )
    return "\n".join(_numbered(lines, first))


def _same(one: list[str], other: list[str]) -> int:
    both = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(both) if a != b), min(len(one), len(other)))


def _numbered(lines: Iterable[str], first: int) -> Iterator[str]:
    for line in lines:
        hunk = _HUNK.match(line)
        if hunk is None:
            yield line
        else:
            old, new = int(hunk[1]) + first, int(hunk[3]) + first
            yield f"@@ -{old}{hunk[2] or ''} +{new}{hunk[4] or ''} @@"


def show_difference(path: Path, before: str | None, after: str | None, secrets: Iterable[str]) -> None:
    """Print a change, in colours on a terminal; what looks secret is not shown."""
    from halflap.calls import MARK  # noqa: PLC0415 -- much is loaded with it

    whole = difference(path, before, after)
    if any(len(line) > _LONGEST_LINE for line in whole.split("\n")):
        whole = difference(path, _laid_out(before), _laid_out(after))
        note(
            "The file has long lines: it is shown laid out, and without its comments. It is written as it is."
        )
    shown = hidden(whole, secrets)
    console = data_console()
    for line in shown.split("\n"):
        text = visible(line.replace("\t", "    "))
        cut = text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}…"
        console.print(cut, style=_COLOURS.get(cut[:1], ""), soft_wrap=True)
    if MARK in shown and MARK not in whole:
        note(f"What looks secret is shown as {MARK}; in the file it stands as it is.")


def _laid_out(text: str | None) -> str | None:
    """Give JSON with a line for each value, since a change within one long line cannot be seen."""
    try:
        return None if text is None else json.dumps(jsontext.parse(text), indent=2, ensure_ascii=False)
    except HalflapError:
        return text


def may_write(question: str, *, yes: bool) -> None:
    """Have a person decide; without one, only --yes does."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfirmationNeededError(
            "Nothing was written: there is nobody to ask here. Say --yes if it is to be written."
        )
    try:
        sys.stderr.write(f"{question} [y/N] ")
        sys.stderr.flush()
        answer = sys.stdin.readline().strip().lower()
    except KeyboardInterrupt:
        note("\nNothing was written.")
        raise
    if answer not in {"y", "yes"}:
        note("Nothing was written.")
        raise typer.Exit(1)
