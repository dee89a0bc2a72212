"""`halflap workflow`: analyse, improve, draw and convert workflows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from typer import Argument, Exit, Option

from halflap.cli.command import Invocation, command, group
from halflap.cli.options import OutputOption, key_values, read_input, write_text
from halflap.cli.output import Table, note, one_line, outline, print_json, print_lines, working
from halflap.core.errors import UsageError, WorkflowError
from halflap.workflows.analysis.compare import compare as compare_nets
from halflap.workflows.analysis.footprint import footprint
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.model.checks import check_or_gates
from halflap.workflows.model.draw import drawing
from halflap.workflows.model.form import (
    BAD_ARGUMENTS,
    decoded,
    parse_json,
    read_specification,
    validated,
    write_specification,
)
from halflap.workflows.model.net import Specification
from halflap.workflows.model.reduce import unstructured_because
from halflap.workflows.optimize.goal import Goal
from halflap.workflows.optimize.optimizer import optimize as optimize_net
from halflap.workflows.score.score import Scoring
from halflap.workflows.score.score import score as score_net
from halflap.workflows.yawl import read_yawl, write_yawl

workflow = group("workflow", "Check, score, optimise, draw, convert and run workflows.")
_OFFLINE = ("json",)
_MAX_SHOWN = 30
"""Activities in a matrix for people."""
_REPORTED = ("transformations", "metrics", "validation", "engine", "evaluations", "notes")

FileArgument = Annotated[Path, Argument(help="A workflow in JSON or YAWL's XML, or - for stdin.")]
PatternsOption = Annotated[
    list[str] | None, Option("--pattern", "-p", help="One of sequential, parallel, choice, loop.")
]


@command(workflow, shared=_OFFLINE)
def validate(invocation: Invocation, file: FileArgument) -> None:
    """Check whether a workflow is sound, and show its footprint.

    Each failure comes with a trace. The exit code is 1 if the workflow is not sound or soundness can't be decided, and
    2 if the file is not a valid workflow.
    """
    specification = _read_analysable(file)
    one = specification.net
    with working(f"Analysing {one_line(one.id)}"):
        study = Study(one)
        judged, known = soundness(study), footprint(study)
    unknown = [f"Soundness: {judged.problem}"] if judged.sound is None else []
    unknown += [f"Footprint: {study.problem}"] if known is None else []
    data = {
        "id": one.id,
        "sound": judged.sound,
        "option_to_complete": judged.option_to_complete,
        "proper_completion": judged.proper_completion,
        "no_dead_tasks": judged.no_dead_tasks,
        "method": "states" if study.block is None else "blocks",
        "failures": [{**each.response(), "marking": each.marking} for each in judged.failures],
        "blocks": study.block is not None,
        "blocks_problem": unstructured_because(study.tree),
        "activities": None if known is None else list(known.activities),
        "start_activities": None if known is None else list(known.start_activities()),
        "end_activities": None if known is None else list(known.end_activities()),
        "footprint": None if known is None else [list(row) for row in known.matrix()],
        "notes": list(one.notes),
        "conclusive": not unknown,
        "inconclusive_because": unknown,
    }
    shown = {key: value for key, value in data.items() if key != "footprint"}
    shown["failures"] = [{**each.response(), "tokens_in": list(each.marking)} for each in judged.failures]
    invocation.show(data, outline(shown))
    if not invocation.as_json:
        if known is not None and 0 < len(known.activities) <= _MAX_SHOWN:
            names = [f"{at} {one_line(name)}" for at, name in enumerate(known.activities, 1)]
            rows = [[name, *row] for name, row in zip(names, known.matrix(), strict=True)]
            print_lines(["", "→ directly followed by, ← directly follows, || both, # neither"])
            Table(["", *map(str, range(1, len(names) + 1))], rows).print()
        _print_notes(specification)
    if not judged.sound:
        raise Exit(1)


@command(workflow, shared=_OFFLINE)
def compare(
    invocation: Invocation,
    file: FileArgument,
    other: Annotated[Path, Argument(help="The workflow to compare it with.")],
    mode: Annotated[
        Literal["strict", "balanced", "lenient"],
        Option("--mode", "-m", help="Require the same traces, or 0.8 or 0.5 of the footprint."),
    ] = "balanced",
) -> None:
    """Check whether one workflow can replace another.

    Compares traces, footprints, soundness and the order of dependent tasks. The exit code is 1 if the second can't
    replace the first. --json prints the answer of gepa_validate_footprint.
    """
    if str(file) == str(other) == "-":
        raise UsageError("The workflows can't both come from stdin.")
    first, second = _read_analysable(file).net, _read_analysable(other).net
    with working(f"Comparing {one_line(first.id)} and {one_line(second.id)}"):
        found = compare_nets(first, second, mode)
    invocation.show(found.response())
    if not found.validation_passed:
        raise Exit(1)


@command(workflow, shared=_OFFLINE)
def score(invocation: Invocation, file: FileArgument, pattern: PatternsOption = None) -> None:
    """Score a workflow, with recommendations.

    Rates performance, maintainability and compliance. The exit code is 1 if the workflow is not sound or soundness
    can't be decided. --json prints the answer of gepa_score_workflow.
    """
    one = _read_analysable(file).net
    with working(f"Scoring {one_line(one.id)}"):
        asked = validated(Scoring, {"reference_patterns": pattern or []}, BAD_ARGUMENTS)
        data = score_net(one, asked).response()
    invocation.show(data)
    if not data["raw"]["compliance"]["sound"]:
        raise Exit(1)


@command(workflow, shared=_OFFLINE)
def optimize(
    invocation: Invocation,
    file: FileArgument,
    target: Annotated[
        Literal["performance", "behavioral", "balanced"],
        Option(
            "--target",
            "-t",
            help="What to keep: the traces (behavioral), or most of the footprint (balanced).",
        ),
    ] = "balanced",
    pattern: PatternsOption = None,
    constraint: Annotated[
        list[str] | None,
        Option(
            metavar="NAME=JSON",
            help='One of max_parallel=2, keep_order=[["first", "then"]], fixed=["task"].',
        ),
    ] = None,
    engine: Annotated[
        Literal["gepa", "beam"] | None, Option(help="By default gepa if it is installed.")
    ] = None,
    output: OutputOption = None,
) -> None:
    """Optimise a workflow.

    The result goes to stdout or --output, a report of the changes to stderr. --json prints the answer of
    gepa_optimize_workflow.
    """
    specification = _read_analysable(file)
    one = specification.net
    try:
        constraints = {
            name: json.loads(text) for name, text in key_values("--constraint", constraint or []).items()
        }
    except ValueError as error:
        raise UsageError(f"--constraint takes JSON, as in max_parallel=2: {error}.") from None
    with working(f"Optimising {one_line(one.id)}"):
        asked = {
            "optimization_target": target,
            "constraints": constraints,
            "reference_patterns": pattern or [],
        }
        found = optimize_net(one, validated(Goal, asked, BAD_ARGUMENTS), engine=engine)
    data = found.response()
    if invocation.as_json:
        print_json(data)
    else:
        note("\n".join(outline({key: data[key] for key in _REPORTED})))
    result = replace(specification, nets={**specification.nets, one.id: found.net})
    is_yawl = output is not None and output.suffix.lower() in {".xml", ".yawl"}
    if len(result.nets) == 1 and not is_yawl:
        result = Specification.of(found.net)
    if output is not None or not invocation.as_json:
        write_text(write_yawl(result) if is_yawl else _json_text(result), output)


@command(workflow, shared=())
def convert(
    _: Invocation,
    file: FileArgument,
    form: Annotated[
        Literal["json", "yawl", "mermaid", "dot"], Option("--to", help="JSON, YAWL's XML, or a diagram.")
    ],
    output: OutputOption = None,
) -> None:
    """Convert a workflow between JSON and YAWL, or draw it.

    Parts of YAWL that JSON can't express are kept as XML, and the reverse as extendedAttributes.
    """
    specification = read_workflow(file)
    texts = {
        "json": lambda: _json_text(specification),
        "yawl": lambda: write_yawl(specification),
        "mermaid": lambda: drawing(specification.net).mermaid(),
        "dot": lambda: drawing(specification.net).dot(),
    }
    write_text(texts[form](), output)
    _print_notes(specification)


def read_workflow(file: Path) -> Specification:
    """Read a workflow with its sub-nets from JSON or YAWL's XML."""
    data = read_input(file)
    with _naming(file):
        text = decoded(data)
        if text.lstrip().startswith("<"):
            return read_yawl(text)
        return read_specification(parse_json(text))


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Add the name of the file to problems of a workflow."""
    try:
        yield
    except WorkflowError as error:
        where = "stdin" if str(file) == "-" else file
        raise WorkflowError(error.problems, f"{where}: {error.what}") from None


def _read_analysable(file: Path) -> Specification:
    """Read a workflow for analysis; unsupported or-gates are problems."""
    specification = read_workflow(file)
    with _naming(file):
        check_or_gates(specification)
    return specification


def _print_notes(specification: Specification) -> None:
    nets = specification.nets.values()
    for text in dict.fromkeys((*specification.notes, *(text for net in nets for text in net.notes))):
        note(f"Note: {one_line(text, 2_000)}")


def _json_text(specification: Specification) -> str:
    return json.dumps(write_specification(specification), indent=2, ensure_ascii=False)
