"""Workflow files: read from JSON or YAWL, and written."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.options import read_at_most, save
from halflap.cli.output import harmless
from halflap.core.errors import WorkflowError
from halflap.workflows.model.form import read_specification, write_specification
from halflap.workflows.model.orblocks import check_or_gates
from halflap.workflows.model.source import decoded, parse_json
from halflap.workflows.yawl import read_yawl, write_yawl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.model.net import Net, Specification

__all__ = [
    "FileArgument",
    "NetOption",
    "OutputOption",
    "as_json_text",
    "as_text",
    "chosen",
    "is_yawl",
    "read",
    "read_net",
    "read_pair",
    "write",
]

FileArgument = Annotated[
    Path, typer.Argument(help="A workflow, in JSON or YAWL's XML; - for stdin.", metavar="FILE")
]
NetOption = Annotated[
    str | None,
    typer.Option("--net", metavar="ID", help="Of several nets in the file, this one instead of the root."),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it to this file.")
]

_MOST_BYTES = 10_000_000


def read(file: Path, *, structure: bool = True) -> Specification:
    """Read a workflow with its sub-nets; problems are reported with the name of the file."""
    data = read_at_most(
        file, _MOST_BYTES, _shown(file), f"{_MOST_BYTES // 1_000_000} MB, the limit for a workflow."
    )
    with _named(file):
        text = decoded(data)
        if text.lstrip().startswith("<"):
            return read_yawl(text)
        return read_specification(parse_json(text), structure=structure)


def read_net(file: Path, name: str | None = None) -> tuple[Specification, Net]:
    """Read a workflow to analyse the root net, or the one of that name; unsupported or-gates are problems."""
    specification = read(file)
    net = chosen(specification, name)
    with _named(file):
        check_or_gates(replace(specification, root=net.id), is_yawl=specification.yawl is not None)
    return specification, net


@contextmanager
def _named(file: Path) -> Iterator[None]:
    try:
        yield
    except WorkflowError as error:
        raise WorkflowError(error.problems, f"{_shown(file)}: {error.what}") from None


def read_pair(first: Path, second: Path) -> tuple[Net, Net]:
    """Read two workflows to compare; problems of both are reported at once."""
    found: list[Net] = []
    wrong: list[WorkflowError] = []
    for file in (first, second):
        try:
            found.append(read_net(file)[1])
        except WorkflowError as error:
            wrong.append(error)
    if len(wrong) == 1:
        raise wrong[0]
    if wrong:
        problems = [
            (": ".join(filter(None, (_shown(file), one.path))), one.message)
            for file, error in zip((first, second), wrong, strict=True)
            for one in error.problems
        ]
        raise WorkflowError(problems, "Neither of the two can be compared.")
    return found[0], found[1]


def _shown(file: Path) -> str:
    return "stdin" if str(file) == "-" else str(file)


def chosen(specification: Specification, name: str | None) -> Net:
    """Return the root net, unless another is named."""
    if name is None:
        return specification.net
    if name not in specification.nets:
        there = ", ".join(specification.nets)
        raise WorkflowError([("--net", f"There is no net {name!r}; there are {there}.")], "Unknown net.")
    return specification.nets[name]


def as_text(specification: Specification, output: Path | None) -> str:
    """Write a workflow for a file: YAWL if its name says so, else JSON."""
    return write_yawl(specification) if is_yawl(output) else as_json_text(write_specification(specification))


def is_yawl(file: Path | None) -> bool:
    return file is not None and file.suffix.lower() in {".xml", ".yawl"}


def as_json_text(value: Any) -> str:

    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write(text: str, output: Path | None) -> None:
    """Write a text to a file, or to stdout."""
    text = text if text.endswith("\n") else f"{text}\n"
    if output is None or str(output) == "-":
        # It may hold terminal escapes.
        sys.stdout.write(harmless(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()
        return
    save(text, output)
