"""`halflap workflow score` and `halflap workflow optimize`."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.net_text import optimized_lines, score_lines
from halflap.cli.nets import FileArgument, NetOption, OutputOption, as_text, is_yawl, read_net, write
from halflap.cli.options import JsonOption
from halflap.cli.output import note, one_line, print_json, print_lines, reported
from halflap.cli.progress import working
from halflap.core.errors import UsageError
from halflap.workflows.model.net import Specification
from halflap.workflows.optimize.optimizer import optimize
from halflap.workflows.score.score import score

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["optimize_workflow", "score_workflow"]

_PAIR = 2


class Target(StrEnum):
    """What it is to become better in."""

    PERFORMANCE = "performance"
    BEHAVIORAL = "behavioral"
    BALANCED = "balanced"


class Search(StrEnum):
    """What looks for it."""

    GEPA = "gepa"
    BEAM = "beam"


PatternsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--pattern", "-p", help="A pattern to hold it against: sequential, parallel, choice or loop."
    ),
]


@reported
def score_workflow(
    file: FileArgument,
    pattern: PatternsOption = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            "--weight",
            "-w",
            metavar="NAME=NUMBER",
            help="What counts how much: performance (0.4), maintainability (0.3), compliance (0.3).",
        ),
    ] = None,
    net: NetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Score a workflow: performance, maintainability, compliance with its rules, patterns; and say what would be better.

    The exit code is 1 if it is not sound, or if that is not known. With --json it is what gepa_score_workflow answers.
    """
    _, one = read_net(file, net)
    with working(f"Scoring {one_line(one.id)}"):
        told = score(one, pattern or [], _weights(weight or [])).response()
    if as_json:
        print_json(told)
    else:
        print_lines(score_lines(told))
    if not told["raw"]["compliance"]["sound"]:
        raise typer.Exit(1)


def _weights(pairs: Sequence[str]) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        try:
            found[name] = float(text)
        except ValueError:
            equals = ""
        if not equals:
            raise UsageError(
                f"--weight {pair!r} is not of the form NAME=NUMBER. Write it like --weight performance=0.5."
            )
    return found or None


@reported
def optimize_workflow(
    file: FileArgument,
    target: Annotated[
        Target,
        typer.Option(
            "--target",
            "-t",
            help="What it is to be better in: behavioral keeps the traces as they are, performance takes every change that is permitted, balanced those that keep most of the footprint.",
        ),
    ] = Target.BALANCED,
    pattern: PatternsOption = None,
    max_cost: Annotated[
        float | None, typer.Option("--max-cost", help="What a case may cost.", show_default=False)
    ] = None,
    max_parallel: Annotated[
        int | None,
        typer.Option("--max-parallel", help="How many tasks may be under way at once.", show_default=False),
    ] = None,
    keep_order: Annotated[
        list[str] | None,
        typer.Option(
            "--keep-order", metavar="FIRST,THEN", help="Two tasks whose order stays; `all` for that of all."
        ),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option("--fixed", metavar="TASK", help="A task that is neither moved, merged nor dropped."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="The same gives the same answer.")] = 0,
    engine: Annotated[
        Search | None,
        typer.Option(
            "--engine",
            help="What looks for it: gepa, which is the default where it is installed, or beam.",
            show_default=False,
        ),
    ] = None,
    net: NetOption = None,
    output: OutputOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a workflow better, and say what was done at each step, what it gained, and how alike the two are.

    The new workflow is written to the file that --output names, or else to stdout; the steps go to stderr. With --json
    it is what gepa_optimize_workflow answers.
    """
    specification, one = read_net(file, net)
    constraints = {
        "max_cost": max_cost,
        "max_parallel": max_parallel,
        "keep_order": _order(keep_order or []),
        "fixed": fixed,
    }
    given = {name: value for name, value in constraints.items() if value is not None}
    with working(f"Optimising {one_line(one.id)}"):
        found = optimize(
            one,
            target.value,
            given,
            pattern or [],
            seed=seed,
            engine=None if engine is None else engine.value,
        )
    told = found.response()
    result = replace(specification, nets={**specification.nets, one.id: found.net})
    if len(result.nets) == 1 and not is_yawl(output):
        result = Specification.of(found.net)
    if as_json:
        if output is not None:
            write(as_text(result, output), output)
        print_json(told)
        return
    for line in optimized_lines(told):
        note(line)
    write(as_text(result, output), output)


def _order(pairs: Sequence[str]) -> Any:
    if not pairs:
        return None
    if "all" in pairs:
        return True
    found = [pair.split(",") for pair in pairs]
    for pair, names in zip(pairs, found, strict=True):
        if len(names) != _PAIR:
            raise UsageError(
                f"--keep-order {json.dumps(pair)} is not of the form FIRST,THEN. Write it like --keep-order check,ship."
            )
    return found
