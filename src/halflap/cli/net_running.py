"""`halflap workflow run`."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.calls import new_id
from halflap.cli.arguments import ArgumentsOption, JsonArgumentsOption, arguments_of, json_object
from halflap.cli.net_run_text import tell_run
from halflap.cli.nets import read
from halflap.cli.output import (
    ConfigOption,
    JsonOption,
    VerboseOption,
    note,
    one_line,
    reported,
    set_up_logging,
)
from halflap.cli.progress import working
from halflap.cli.running import confirmed
from halflap.cli.setting import opened, read_config
from halflap.errors import RunNotFoundError, UsageError
from halflap.schema import Reading, read_result, reading_of
from halflap.workflows.running.journal import Journal
from halflap.workflows.running.pages import forget_old
from halflap.workflows.running.program import net_program
from halflap.workflows.running.runnable import check_runnable
from halflap.workflows.running.tools import check_tools

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from halflap.config import Config
    from halflap.execution import Execution
    from halflap.gateway import Gateway
    from halflap.store import RunRecord
    from halflap.values import CallContext, Tool
    from halflap.workflows.net import Net

__all__ = ["run_workflow"]

_FOLDER = "workflow_runs"
_KIND = "workflow"


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
    if resume is None:
        net, given = _asked(file, arguments, json_arguments, again)
        if program:
            sys.stdout.write(net_program(net, given) + "\n")
            return
        work = _Run(settings, net, given, yes=yes)
    else:
        if file is not None or arguments or json_arguments or program:
            raise UsageError(
                "A run is gone on with as it began: --resume takes no file, arguments or --program."
            )
        journal = _opened(settings, resume)
        work = _Run(settings, journal.net, journal.arguments, yes=yes, journal=journal, again=again or ())
    try:
        execution = asyncio.run(work.done())
    except BaseException:
        if work.interrupted is not None and work.journal is not None:
            tell_run(work.interrupted, work.journal, work.results, as_json=as_json)
        work.leave(is_over=False)
        raise
    assert work.journal is not None
    tell_run(execution, work.journal, work.results, as_json=as_json)
    work.leave(is_over=execution.ok)
    if not execution.ok:
        raise typer.Exit(1)


def _opened(config: Config, run: str) -> Journal:
    """Open what was written down of a run; if nothing is, say why that is."""
    try:
        journal = Journal.resume(config.data_dir / _FOLDER, run)
    except RunNotFoundError:
        found = asyncio.run(_recorded(config, run))
        if found.kind != _KIND:
            raise UsageError(f"The run {found.id} is not that of a workflow: it is a {found.kind}.") from None
        if found.outcome == "ok":
            raise UsageError(
                f"The run {found.id} came to its end: there is nothing to go on with. `halflap runs show {found.id}` tells of it."
            ) from None
        raise UsageError(
            f"Of the run {found.id} nothing is written down to go on with: it called nothing, `traces.record` was not full, "
            "or it is older than `traces.keep_days`. Run the workflow from the start."
        ) from None
    try:
        # It comes from a file, like any other.
        check_runnable(journal.net, journal.arguments)
    except BaseException:
        journal.close(is_over=False)
        raise
    return journal


async def _recorded(config: Config, run: str) -> RunRecord:
    async with opened(config) as gateway:
        found, _ = await gateway.run(run)
        return found


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


class _Run:
    """A run, from what is looked at before it to what is said after it."""

    def __init__(
        self,
        config: Config,
        net: Net,
        given: Mapping[str, Any],
        *,
        yes: bool,
        journal: Journal | None = None,
        again: Collection[str] = (),
    ) -> None:
        self.journal = journal
        """None until it is begun."""
        self.results: dict[str, Any] = {}
        """What tasks returned, if the program could not say so any more."""
        self.interrupted: Execution | None = None
        """What there was of it when the person ended it."""
        self._is_begun = False
        self._config = config
        self._net = net
        self._given = given
        self._yes = yes
        self._again = again

    async def done(self) -> Execution:
        net, code = self._net, net_program(self._net, self._given, marked=True)
        async with opened(self._config) as gateway:
            journal, context = await self._begun(gateway)
            self._is_begun = True
            note(f"Run {journal.run}")
            left: list[Execution] = []
            context = replace(context, journal=journal, cancelled=left.append)
            try:
                with working(f"Running {one_line(net.id)}"):
                    execution = await gateway.execute(code, context, kind=_KIND, name=net.id)
            except asyncio.CancelledError:
                # By the person: what was done until then is all that they get.
                self.interrupted = next(iter(left), None)
                self._read_results(journal, gateway.snapshot.tools)
                raise
            if not execution.ok:
                await asyncio.to_thread(self._read_results, journal, gateway.snapshot.tools)
            return execution

    def _read_results(self, journal: Journal, tools: Mapping[str, Tool]) -> None:
        for task, result in journal.results.items():
            tool = tools.get(self._net.tasks[task].tool or "")
            reading = Reading() if tool is None else reading_of(tool)
            if isinstance(result, list):
                self.results[task] = [read_result(one, reading, _in_words) for one in result]
            else:
                self.results[task] = read_result(result, reading, _in_words)

    async def _begun(self, gateway: Gateway) -> tuple[Journal, CallContext]:
        """Look whether all is there that it needs, and begin it, or go on with it."""
        done = () if self.journal is None else self.journal.done
        strict = self._config.execution.check == "on"
        look_up = gateway.callable_schema
        repeatable = await check_tools(self._net, self._given, look_up, done, strict=strict)
        if self.journal is not None:
            await asyncio.to_thread(self.journal.go_on, self._again, repeatable)
        named = " ".join(task.tool for task in self._net.tasks.values() if task.tool is not None)
        asked = await (await gateway.programs()).destructive_within(named)
        context = confirmed(asked, named, yes=self._yes)
        if self.journal is None:
            folder = await asyncio.to_thread(_folder, self._config)
            self.journal = await asyncio.to_thread(
                Journal.begin, folder, new_id(), self._net, self._given, repeatable
            )
        return self.journal, context

    def leave(self, *, is_over: bool) -> None:
        """Let go of what is written down, and say how to go on."""
        journal = self.journal
        if journal is None:
            return
        journal.close(is_over=is_over)
        if is_over or not self._is_begun or not journal.can_go_on:
            return
        doubtful = journal.doubtful()
        for task, what in doubtful.items():
            note(
                f"'{one_line(task)}' {what}, and nothing says that it can be done twice. Look whether it was done."
            )
        again = "".join(f" --again {quote(task)}" for task in doubtful)
        note(f"What was done is kept. Go on with it: halflap workflow run --resume {journal.run}{again}")


def _in_words(block: Mapping[str, Any]) -> str:
    return f"[{block.get('type')} {block.get('mimeType') or ''}]"


def _folder(config: Config) -> Path | None:
    """Give where to write down what is done, unless nothing is to be."""
    folder = config.data_dir / _FOLDER
    if config.traces.record != "full":
        note(f"Note: It cannot be gone on with after a crash: `traces.record` is {config.traces.record}.")
        return None
    forget_old(folder, config.traces.keep_days)
    return folder
