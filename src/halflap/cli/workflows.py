"""`halflap workflow`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.improving import optimize_workflow, score_workflow
from halflap.cli.net_running import run_workflow
from halflap.cli.net_text import comparison, footprint_lines, shown, soundness_lines, width
from halflap.cli.nets import (
    FileArgument,
    NetOption,
    OutputOption,
    as_json_text,
    chosen,
    read,
    read_net,
    read_pair,
    write,
)
from halflap.cli.options import JsonOption
from halflap.cli.output import note, one_line, print_json, print_lines, reported
from halflap.cli.progress import working
from halflap.core.errors import UsageError
from halflap.workflows.analysis.compare import compare as compare_nets
from halflap.workflows.analysis.footprint import footprint
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study, Unknown
from halflap.workflows.model.draw import dot, mermaid
from halflap.workflows.model.form import write_specification
from halflap.workflows.model.net import Specification
from halflap.workflows.model.reduce import unstructured_because
from halflap.workflows.yawl import write_yawl

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.workflows.analysis.footprint import Footprint
    from halflap.workflows.analysis.soundness import Soundness
    from halflap.workflows.model.net import Net

__all__ = ["workflow"]

workflow = typer.Typer(
    name="workflow",
    help="Look at workflows as nets: whether one is sound, how good it is, what is better; draw it, run it.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


_WIDEST = 1_000
"""Of more activities the matrix is left out of the JSON: it would have millions of cells."""


class Mode(StrEnum):
    """How alike two have to be."""

    STRICT = "strict"
    BALANCED = "balanced"
    LENIENT = "lenient"


class Picture(StrEnum):
    """How it is drawn."""

    MERMAID = "mermaid"
    DOT = "dot"


@workflow.callback()
def _workflow() -> None:
    """Look at workflows as nets."""


@workflow.command()
@reported
def validate(file: FileArgument, net: NetOption = None, as_json: JsonOption = False) -> None:
    """Check whether a workflow is sound, with a trace to each failure, and show its footprint.

    The exit code is 1 if it is not sound, or if that is not known, and 2 if it is no workflow.
    """
    specification, one = read_net(file, net)
    with working(f"Looking at {one_line(one.id)}"):
        study = Study(one)
        judged = soundness(study)
        found = footprint(study)
    if as_json:
        print_json(_told(study, judged, found))
    else:
        print_lines(_lines(study, judged, found))
        _remarks(specification, one)
    if not judged.sound:
        raise typer.Exit(1)


def _lines(study: Study, judged: Soundness, found: Footprint | Unknown) -> Iterator[str]:
    net = study.net
    tasks = len(net.tasks)
    yield f"{shown(net.id)}: {tasks} task{'' if tasks == 1 else 's'}, {len(net.flows)} flows"
    yield from soundness_lines(judged)
    unstructured = unstructured_because(study.structure)
    if unstructured is not None:
        yield f"It is not block-structured: {shown(unstructured, 2_000)}"
    yield from footprint_lines(found, width())


def _told(study: Study, judged: Soundness, found: Footprint | Unknown) -> dict[str, Any]:
    known = None if isinstance(found, Unknown) else found
    unknown = [f"Soundness: {judged.problem}"] if judged.sound is None else []
    unknown += [f"Footprint: {found.why}"] if isinstance(found, Unknown) else []
    count = 0 if known is None else len(known.activities)
    wide = [f"The footprint is left out: of {count} activities it has {count**2} cells."] * (count > _WIDEST)
    return {
        "id": study.net.id,
        "sound": judged.sound,
        "option_to_complete": judged.option_to_complete,
        "proper_completion": judged.proper_completion,
        "no_dead_tasks": judged.no_dead_tasks,
        "method": judged.method,
        "failures": [
            {"kind": one.kind, "message": one.why, "trace": list(one.trace), "marking": dict(one.marking)}
            for one in judged.failures
        ],
        "blocks": study.block is not None,
        "blocks_problem": unstructured_because(study.structure),
        "activities": None if known is None else list(known.activities),
        "start_activities": None if known is None else list(known.start_activities()),
        "end_activities": None if known is None else list(known.end_activities()),
        "footprint": None if known is None or wide else [list(row) for row in known.matrix()],
        "notes": [*study.net.notes, *wide],
        "conclusive": not unknown,
        "inconclusive_because": unknown,
    }


@workflow.command()
@reported
def compare(
    file: FileArgument,
    other: Annotated[Path, typer.Argument(help="What may stand for it; - for stdin.", metavar="OTHER")],
    mode: Annotated[
        Mode,
        typer.Option(
            "--mode",
            "-m",
            help="How alike they have to be. strict: the same traces. balanced: 0.8 of the footprint agrees, and no dependent order is reversed. lenient: 0.5, and the same activities.",
        ),
    ] = Mode.BALANCED,
    as_json: JsonOption = False,
) -> None:
    """Compare two workflows: traces, footprints, soundness, and the order of dependent tasks.

    The exit code is 1 if it may not, or if that is not known. With --json it is what gepa_validate_footprint answers.
    """
    if str(file) == str(other) == "-":
        raise UsageError("Only one of the two can come from stdin. Name a file for the other.")
    first, second = read_pair(file, other)
    with working(f"Comparing {one_line(first.id)} and {one_line(second.id)}"):
        found = compare_nets(first, second, mode.value)
    if as_json:
        print_json(found.response())
    else:
        print_lines(comparison(found))
    if not found.passed:
        raise typer.Exit(1)


workflow.command(name="score")(score_workflow)
workflow.command(name="optimize")(optimize_workflow)
workflow.command(name="run")(run_workflow)


@workflow.command()
@reported
def render(
    file: FileArgument,
    form: Annotated[
        Picture | None,
        typer.Option(
            "--format",
            "-f",
            help="How to draw, mermaid or dot; by default what the output file's ending says (.dot, .gv, .mmd, .mermaid), else mermaid.",
        ),
    ] = None,
    net: NetOption = None,
    output: OutputOption = None,
) -> None:
    """Draw a workflow as text for Mermaid or Graphviz."""
    form = form or _form_of(output)
    specification = read(file, structure=False)
    one = chosen(specification, net)
    write(dot(one) if form is Picture.DOT else mermaid(one), output)


_ENDINGS = {
    ".dot": Picture.DOT,
    ".gv": Picture.DOT,
    ".mmd": Picture.MERMAID,
    ".mermaid": Picture.MERMAID,
    "": Picture.MERMAID,
}


def _form_of(output: Path | None) -> Picture:
    """Return how to draw, by the ending of a file."""
    ending = "" if output is None else output.suffix.lower()
    if ending not in _ENDINGS:
        raise UsageError(
            f"{output} is not written: a workflow cannot be drawn as {ending}. Use .mmd, .mermaid, .dot or .gv, or --format."
        )
    return _ENDINGS[ending]


@workflow.command(name="import")
@reported
def import_yawl(file: FileArgument, net: NetOption = None, output: OutputOption = None) -> None:
    """Convert a YAWL specification to JSON.

    What JSON cannot express is kept in it as the original XML, and `halflap workflow export` writes it back.
    """
    specification = read(file)
    one = None if net is None else chosen(specification, net)
    found = specification if one is None else Specification.of(one)
    write(as_json_text(write_specification(found)), output)
    for each in specification.nets.values() if one is None else [one]:
        _remarks(specification, each)


@workflow.command(name="export")
@reported
def export_yawl(file: FileArgument, net: NetOption = None, output: OutputOption = None) -> None:
    """Write a workflow as a YAWL specification; durations, probabilities, reads and writes go into extendedAttributes."""
    specification = read(file, structure=False)
    write(write_yawl(specification if net is None else Specification.of(chosen(specification, net))), output)


def _remarks(specification: Specification, net: Net) -> None:
    """Print notes to stderr, apart from the data."""
    for remark in dict.fromkeys((*specification.notes, *net.notes)):
        note(f"Note: {one_line(remark, 2_000)}")
