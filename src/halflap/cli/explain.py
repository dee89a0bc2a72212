"""`halflap explain`: what an error code means, and what to do about it.

The texts are those of docs/errors.md and docs/doctor.md, which docs/generate.py makes from the same files.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Annotated

import typer

from halflap.cli.options import JsonOption
from halflap.cli.output import print_json, print_lines, print_table, reported
from halflap.core.errors import UsageError
from halflap.core.suggest import closest

__all__ = ["explain", "explanations"]

_HEADING = re.compile(r"^### ([a-z0-9-]+)\n+(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `([a-z-]+)` \| ([^|]+) \| `([a-z-]+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")


def _codes(incomplete: str) -> list[str]:
    return [code for code in explanations() if code.startswith(incomplete)]


@reported
def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            help="A code, as in `Error [tool-not-found]`; without it, all are listed.", autocompletion=_codes
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Explain the code of an error, or of something that doctor found."""
    texts = explanations()
    if code is None:
        firsts = {one: _first_sentence(text) for one, text in texts.items()}
        if as_json:
            print_json([{"code": one, "meaning": first} for one, first in firsts.items()])
        else:
            print_table(["code", "meaning"], list(firsts.items()), wrap=True)
        return
    asked = code.strip("[]").lower()
    if asked not in texts:
        near = closest(asked, list(texts))
        meant = f" Did you mean {near[0]}?" if near else ""
        raise UsageError(f"There is no code {code!r}.{meant} `halflap explain` lists them all.")
    if as_json:
        print_json({"code": asked, "text": texts[asked]})
    else:
        print_lines([asked, "", _plain(texts[asked])])


def explanations() -> dict[str, str]:
    """Return the text of each code, in Markdown."""
    found = {match[1]: match[2].strip() for match in _HEADING.finditer(_text("errors.md"))}
    for code, severity, _, cause, fix in _ROW.findall(_text("findings.md")):
        found.setdefault(
            code,
            f"{cause[0].upper()}{cause[1:]}.\n\n**Found by** `halflap doctor`, as a {severity}.\n\n**Fix.** {fix}",
        )
    return found


def _text(name: str) -> str:
    return files("halflap").joinpath(name).read_text(encoding="utf-8")


def _first_sentence(text: str) -> str:
    paragraph = " ".join(_plain(text).partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".") + "."


def _plain(text: str) -> str:
    return _LINK.sub(r"\1", text).replace("**", "")
