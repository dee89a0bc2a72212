"""`halflap workflow run`."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.calls import new_id
from halflap.cli.arguments import ArgumentsOption, JsonArgumentsOption, arguments_of, json_object
from halflap.cli.nets import read
from halflap.cli.output import (
    ConfigOption,
    JsonOption,
    VerboseOption,
    harmless,
    note,
    one_line,
    print_json,
    reported,
    set_up_logging,
)
from halflap.cli.progress import working
from halflap.cli.running import confirmed
from halflap.cli.setting import opened, read_config
from halflap.errors import UsageError
from halflap.execution.report import calls_made
from halflap.workflows.running.journal import Journal, forget_old
from halflap.workflows.running.program import net_program
from halflap.workflows.running.runnable import check_runnable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.config import Config
    from halflap.execution import Execution
    from halflap.workflows.net import Net

__all__ = ["run_workflow"]

_FOLDER = "workflow_runs"
_RAISED = re.compile(r"^(?:RuntimeError|ValueError): (.*)", re.MULTILINE | re.DOTALL)
_DOUBTS = "\nThe check before the run had doubts"


@reported
def run_workflow(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A workflow whose tasks have tools, in JSON or YAWL's XML; - for stdin.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    arguments: ArgumentsOption = None,
    json_arguments: JsonArgumentsOption = None,
    resume: Annotated[
        str | None,
        typer.Option("--resume", metavar="RUN", help="Go on with a run that did not come to its end."),
    ] = None,
    again: Annotated[
        list[str] | None,
        typer.Option(
            "--again",
            metavar="TASK",
            help="With --resume: a task that was begun may be done again, though nothing says that it is idempotent.",
        ),
    ] = None,
    program: Annotated[
        bool, typer.Option("--program", help="Print the program that it becomes, and run nothing.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Let it call tools that destroy something, without asking.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Run a workflow in the sandbox: tasks call their tools, at the same time where they can, and predicates choose.

    What each task returned is printed as JSON. A run that fails or is ended can be gone on with: what was done is not done again.
    """
    set_up_logging(verbose=verbose, tells_of_servers=True)
    settings = read_config(config)
    journal: Journal | None
    if resume is None:
        net, given = _asked(file, arguments, json_arguments, again)
        if program:
            sys.stdout.write(net_program(net, given) + "\n")
            return
        journal = _begun(settings, net, given)
    else:
        if file is not None or arguments or json_arguments or program:
            raise UsageError(
                "A run is gone on with as it began: --resume takes no file, arguments or --program."
            )
        journal = Journal.resume(settings.data_dir / _FOLDER, resume, again or [])
        net, given = journal.net, journal.arguments
    if journal is not None:
        note(f"Run {journal.run}")
    try:
        execution = asyncio.run(_run(settings, net, given, journal, yes=yes))
    except BaseException:
        _leave(journal, is_over=False)
        raise
    _tell(execution, journal, as_json=as_json)
    _leave(journal, is_over=execution.ok)
    if not execution.ok:
        raise typer.Exit(1)


def _leave(journal: Journal | None, *, is_over: bool) -> None:
    if journal is None:
        return
    journal.close(forget=is_over)
    if not is_over:
        note(f"What was done is kept. Go on with it: halflap workflow run --resume {journal.run}")


def _asked(
    file: Path | None, pairs: list[str] | None, text: str | None, again: list[str] | None
) -> tuple[Net, Mapping[str, Any]]:
    """Give the workflow of a new run, and what it is given; it is one that can be run."""
    if again:
        raise UsageError("--again goes with --resume: a new run does every task anyway.")
    if file is None:
        raise UsageError("Name the file of a workflow, or with --resume a run to go on with.")
    if str(file) == text == "-":
        raise UsageError("Only one of the workflow and its arguments can come from stdin.")
    net, given = read(file).net, json_object(pairs, text)
    given = arguments_of(pairs or [], {}) if given is None else given
    check_runnable(net, given)
    return net, given


def _begun(config: Config, net: Net, given: Mapping[str, Any]) -> Journal | None:
    """Begin to write down what is done, unless nothing is to be."""
    folder = config.data_dir / _FOLDER
    if config.traces.record != "full":
        note(f"Note: It cannot be gone on with after a crash: `traces.record` is {config.traces.record}.")
        return None
    forget_old(folder, config.traces.keep_days)
    return Journal.begin(folder, new_id(), net, given)


async def _run(
    config: Config, net: Net, given: Mapping[str, Any], journal: Journal | None, *, yes: bool
) -> Execution:
    code = net_program(net, given)
    async with opened(config) as gateway:
        context = confirmed(await gateway.needing_confirmation(code), code, yes=yes)
        with working(f"Running {one_line(net.id)}"):
            return await gateway.execute(
                code, replace(context, journal=journal), kind="workflow", name=net.id
            )


def _tell(execution: Execution, journal: Journal | None, *, as_json: bool) -> None:
    done: dict[str, Any] = json.loads(execution.output) if execution.ok else {"trace": None, "results": None}
    recalled = 0 if journal is None else journal.recalled
    if as_json:
        print_json(
            {
                "run": execution.run,
                "resume": None if journal is None or execution.ok else journal.run,
                "outcome": execution.outcome,
                "code": execution.code,
                "error": _reason(execution.error) or None,
                **done,
                "recalled": recalled,
                "duration_ms": round(execution.duration_ms, 1),
                "sandbox": execution.sandbox,
            }
        )
        return
    if recalled:
        note(
            f"{recalled} call{' was' if recalled == 1 else 's were'} not made again: what they returned is known."
        )
    if execution.ok:
        print_json(done["results"])
        note(f"Done: {', '.join(map(one_line, done['trace']))}. It took {execution.duration_ms:,.0f} ms.")
        return
    note(f"Error [{execution.code}]:")
    note(harmless(_reason(execution.error)))
    for line in calls_made(execution.calls):
        note(line)


def _reason(error: str) -> str:
    """Take the program's own lines out of an error, which are not the person's."""
    found = _RAISED.search(error)
    return error if found is None else found[1].partition(_DOUBTS)[0].rstrip()
