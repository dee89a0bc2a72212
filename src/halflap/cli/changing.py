"""Shows what a file would become, and has a person decide."""

from __future__ import annotations

import difflib
import json
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from halflap.cli.breaking import broken
from halflap.cli.hiding import hidden
from halflap.cli.output import data_console, note, visible
from halflap.clients import jsontext
from halflap.core.errors import ConfirmationNeededError, HalflapError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from halflap.clients import Receipt

__all__ = ["Change", "difference", "may_write", "show_difference"]

_CONTEXT = 3
_LONGEST_LINE = 400
_LONGEST_CHANGE = 120
"""In a longer line that is taken out and put in otherwise, nobody sees what is different."""
_HEAD = 2
"""The lines of a diff that name the file."""
_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_HUNK = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)(,\d+)? @@")


@dataclass(frozen=True, slots=True)
class Change:
    """What a file becomes, and what is to be noted of it."""

    text: str | None
    """None deletes the file."""
    receipt: Callable[[Path | None], Receipt | None]
    """What is noted once the file is as it should be; given the copy of the file before."""
    notes: tuple[str, ...]
    report: Mapping[str, Any]
    said: str


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

    whole = _to_be_seen(path, before, after)
    shown = hidden(whole, secrets)
    console = data_console()
    for at, line in enumerate(shown.split("\n")):
        text = visible(line.replace("\t", "    "))
        cut = text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}…"
        lead = len(cut[1:]) - len(cut[1:].lstrip()) + 1
        is_wrapped = console.is_terminal and at >= _HEAD
        for part in broken(cut, console.width, lead) if is_wrapped else [cut]:
            console.print(part, style=_COLOURS.get(cut[:1], ""), soft_wrap=True)
    if MARK in shown and MARK not in whole:
        note(f"What looks secret is shown as {MARK}; in the file it stands as it is.")


def _to_be_seen(path: Path, before: str | None, after: str | None) -> str:
    """Give a change as a diff; of JSON with a line for each value, where it would be within one long line."""
    whole = difference(path, before, after)
    has_comments = not (_is_plain(before) and _is_plain(after))
    longest = _LONGEST_LINE if has_comments else _LONGEST_CHANGE
    if not any(
        len(line) > (longest if line[:1] in {"+", "-"} else _LONGEST_LINE)
        for line in whole.split("\n")[_HEAD:]
    ):
        return whole
    try:
        laid_out = difference(path, _laid_out(before), _laid_out(after))
    except HalflapError:
        # It is no JSON.
        return whole
    less = ", and without its comments" if has_comments else ""
    note(f"The file has long lines: it is shown laid out{less}. It is written as it is.")
    return laid_out


def _is_plain(text: str | None) -> bool:
    """Say whether a text is JSON without comments, of which nothing is lost if it is laid out."""
    try:
        json.loads("{}" if text is None else text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return False
    return True


def _laid_out(text: str | None) -> str | None:
    return None if text is None else json.dumps(jsontext.parse(text), indent=2, ensure_ascii=False)


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
