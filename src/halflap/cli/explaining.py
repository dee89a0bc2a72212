"""`halflap explain`: what an error code means, what the cause usually is, and what to do.

The text is that of docs/errors.md and of the table in docs/doctor.md, which are made from the same files; see
docs/generate.py.
"""

from __future__ import annotations

import re
import sys
from importlib.resources import files
from typing import Annotated

import typer

from halflap.cli.output import JsonOption, print_json, reported
from halflap.cli.wrapping import print_lines
from halflap.core.errors import UsageError

__all__ = ["explain", "explanations"]

_HEADING = re.compile(r"^### ([a-z0-9-]+)\n+(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `([a-z-]+)` \| ([^|]+) \| `([a-z-]+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_NEAR = 60


def _codes(incomplete: str) -> list[str]:
    return [code for code in explanations() if code.startswith(incomplete)]


@reported
def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            help="The code, as in `Error [tool-not-found]` or on doctor's page; without it, all codes are listed.",
            autocompletion=_codes,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a code of an error, or of something that doctor found, means, and what to do about it."""
    texts = explanations()
    if code is None:
        _list(texts, as_json=as_json)
        return
    asked = code.strip("[]").lower()
    if asked not in texts:
        raise UsageError(f"There is no code {code!r}.{_meant(asked)} `halflap explain` lists them all.")
    if as_json:
        print_json({"code": asked, "text": texts[asked]})
    else:
        print_lines([asked, "", *_lines(_plain(texts[asked]))])


def explanations() -> dict[str, str]:
    """Give the text of each code, in Markdown: of errors, then of what doctor finds."""
    told = {found[1]: found[2].strip() for found in _HEADING.finditer(_text("errors.md"))}
    for code, severity, _, cause, fix in _ROW.findall(_text("findings.md")):
        told.setdefault(
            code,
            f"{cause[0].upper()}{cause[1:]}.\n\n**Found by** `halflap doctor`, as a {severity}.\n\n**Fix.** {fix}",
        )
    return told


def _text(name: str) -> str:
    return files("halflap").joinpath(name).read_text(encoding="utf-8")


def _list(texts: dict[str, str], *, as_json: bool) -> None:
    firsts = {code: _plain(text.partition("\n\n")[0]) for code, text in texts.items()}
    if as_json:
        print_json([{"code": code, "meaning": first} for code, first in firsts.items()])
        return
    width = max(map(len, firsts))
    for code, first in firsts.items():
        sys.stdout.write(f"{code:{width}}  {' '.join(first.split())}\n")


def _plain(text: str) -> str:
    """Leave out what a page needs and a terminal does not: where links lead, and stars."""
    return re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", text).replace("**", "")


def _lines(text: str) -> list[str]:
    """Give the lines of a text; those of a paragraph are one, for whoever breaks it where the terminal ends."""
    found: list[str] = []
    for part in text.split("\n\n"):
        whole = part.splitlines()
        is_prose = not any(line.startswith((" ", "-", "|", "`")) for line in whole)
        found += ["", *([" ".join(whole)] if is_prose and sys.stdout.isatty() else whole)]
    return found[1:]


def _meant(asked: str) -> str:
    from rapidfuzz import fuzz, process  # noqa: PLC0415 -- few make a mistake

    near = process.extractOne(asked, list(explanations()), scorer=fuzz.ratio, score_cutoff=_NEAR)
    return f" Did you mean {near[0]}?" if near else ""
