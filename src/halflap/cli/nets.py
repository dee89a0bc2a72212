"""Files with workflows: read from JSON or YAWL, whichever it is, and written."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from halflap.cli.options import read_at_most, save
from halflap.cli.output import harmless
from halflap.core.errors import WorkflowError
from halflap.workflows.form import read_specification, write_net, write_specification
from halflap.workflows.orblocks import in_words, or_blocks
from halflap.workflows.source import decoded, parse_source
from halflap.workflows.structure import structure as tree_of
from halflap.workflows.yawl import read_yawl

if TYPE_CHECKING:
    from halflap.workflows.net import Net
    from halflap.workflows.specification import Specification

__all__ = [
    "FileArgument",
    "NetOption",
    "OutputOption",
    "as_json_text",
    "chosen",
    "json_form",
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
    """Read a workflow with its sub-nets; all that is wrong with it is told, with the name of the file."""
    return _read(file, structure=structure)[0]


def read_net(file: Path, name: str | None = None) -> tuple[Specification, Net]:
    """Read a workflow to judge what it can do, the root or the net of that name.

    Or-gates that are not understood are told like all else that is wrong with the file: with its name and their place in it.
    """
    specification, form = _read(file, structure=True)
    net = chosen(specification, name)
    if (
        not any("or" in {task.join, task.split} for task in net.tasks.values())
        or tree_of(net).tree is not None
    ):
        return specification, net
    try:
        or_blocks(net)
    except WorkflowError as error:
        at = list(specification.nets).index(net.id)
        prefix = {"nets": f"nets[{at}].", "net": ""}.get(form)
        problems = [
            (in_words(net, one.path) if prefix is None else f"{prefix}{one.path}", one.message)
            for one in error.problems
        ]
        raise WorkflowError(problems, f"{_shown(file)}: {error.what}") from None
    return specification, net


def read_pair(first: Path, second: Path) -> tuple[Net, Net]:
    """Read two workflows to judge them together; what is wrong with either is told at once."""
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
        raise WorkflowError(problems, "Neither of the two is a workflow that can be compared.")
    return found[0], found[1]


def _shown(file: Path) -> str:
    return "stdin" if str(file) == "-" else str(file)


def _read(file: Path, *, structure: bool) -> tuple[Specification, Literal["yawl", "nets", "net"]]:
    where = _shown(file)
    too_large = f"{_MOST_BYTES // 1_000_000} MB, which no workflow may be."
    data = read_at_most(file, _MOST_BYTES, where, too_large)
    try:
        text = decoded(data)
        if text.lstrip().startswith("<"):
            return read_yawl(text), "yawl"
        value = parse_source(text)
        several = isinstance(value, dict) and "nets" in value
        return read_specification(value, structure=structure), "nets" if several else "net"
    except WorkflowError as error:
        raise WorkflowError(error.problems, f"{where}: {error.what}") from None


def chosen(specification: Specification, name: str | None) -> Net:
    """Give the net that is meant: the root, unless another is named."""
    if name is None:
        return specification.net
    if name not in specification.nets:
        there = ", ".join(specification.nets)
        raise WorkflowError([("--net", f"There is no net {name!r}; there are {there}.")], "It is not there.")
    return specification.nets[name]


def json_form(specification: Specification) -> dict[str, Any]:
    """Give the JSON form: a single net by itself, unless there is more to tell than that."""
    plain = not specification.kept and not specification.notes and specification.version is None
    if len(specification.nets) == 1 and specification.id == specification.net.id and plain:
        return write_net(specification.net)
    return write_specification(specification)


def as_json_text(value: Any) -> str:
    """Write it for a file."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write(text: str, output: Path | None) -> None:
    """Write a text to a file, or to the output."""
    text = text if text.endswith("\n") else f"{text}\n"
    if output is None or str(output) == "-":
        # A terminal would obey what is hidden in it.
        sys.stdout.write(harmless(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()
        return
    save(text, output)
