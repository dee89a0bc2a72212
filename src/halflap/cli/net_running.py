"""`halflap workflow run`."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.calls import new_id
from halflap.catalog import namespaced
from halflap.cli.net_run_text import fails_again, tell_run
from halflap.cli.nets import read
from halflap.cli.options import (
    ArgumentsOption,
    ConfigOption,
    JsonArgumentsOption,
    JsonOption,
    VerboseOption,
    arguments_of,
    json_object,
    opened,
    read_config,
    run_until_signal,
)
from halflap.cli.output import note, one_line, reported
from halflap.cli.progress import working
from halflap.cli.run import confirmed
from halflap.core.errors import RunNotFoundError, StoreError, UsageError
from halflap.schema import Reading, read_result, reading_of
from halflap.workflows.running.journal import Journal
from halflap.workflows.running.pages import forget_old
from halflap.workflows.running.program import net_program
from halflap.workflows.running.runnable import check_runnable
from halflap.workflows.running.tools import check_tools

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from halflap.config import Config
    from halflap.core.values import CallContext, Result, Tool
    from halflap.gateway import Gateway
    from halflap.sandbox import Execution
    from halflap.store import RunRecord
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
        execution = run_until_signal(work.done())
    except BaseException:
        if work.interrupted is not None and work.journal is not None:
            tell_run(work.interrupted, work.journal, work.results, work.items, as_json=as_json)
        work.leave(is_over=False)
        raise
    assert work.journal is not None
    tell_run(execution, work.journal, work.results, work.items, as_json=as_json)
    work.leave(is_over=execution.ok, fails_again=fails_again(execution, work.journal))
    if not execution.ok:
        raise typer.Exit(1)


def _opened(config: Config, run: str) -> Journal:
    """Open what was written down of a run; if nothing is, say why that is."""
    try:
        journal = Journal.resume(config.data_dir / _FOLDER, run)
    except RunNotFoundError:
        try:
            found = asyncio.run(_recorded(config, run))
        except UsageError:
            # Several have that on the record, and none of them can be gone on with.
            raise UsageError(
                f"No run that begins with {run!r} can be gone on with. `halflap runs` lists them; write the identifier of the one that you mean."
            ) from None
        if found.kind != _KIND:
            raise UsageError(f"The run {found.id} is not that of a workflow: it is a {found.kind}.") from None
        if found.outcome == "ok":
            raise _over(found.id) from None
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


def _over(run: str) -> UsageError:
    return UsageError(
        f"The run {run} came to its end: there is nothing to go on with. `halflap runs show {run}` tells of it."
    )


async def _calls_on_record(gateway: Gateway, run: str) -> Sequence[tuple[str, str]]:
    """Give the server and the tool of each call that the record has of a run; it is no run that came to its end."""
    alone = "So nobody can tell whether lines are missing from the run's file: it alone says what was done."
    if gateway.store_trouble is not None:
        note(f"Note: The record cannot be read. {alone}")
        return ()
    try:
        found, calls = await gateway.run(run)
    except RunNotFoundError:
        note(f"Note: The run is not on the record any more. {alone}")
        return ()
    except StoreError as error:
        note(f"Note: {error} {alone}")
        return ()
    if found.outcome == "ok":
        raise _over(run)
    return [(call.server, call.tool) for call in calls]


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
        self.items: dict[str, Any] = {}
        """Of tasks that are done for each of many and were not for all, what became of each."""
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
        def read(task: str, result: Result) -> Any:
            tool = tools.get(self._net.tasks[task].tool or "")
            return read_result(result, Reading() if tool is None else reading_of(tool), _in_words)

        for task, result in journal.results.items():
            if isinstance(result, list):
                self.results[task] = [read(task, one) for one in result]
            else:
                self.results[task] = read(task, result)
        for task, items in journal.partial.items():
            self.items[task] = {
                "of": items.of,
                "returned": {str(at): read(task, one) for at, one in sorted(items.returned.items())},
                "failed": sorted(items.failed),
                "did_not_end": sorted(items.unended),
            }

    async def _begun(self, gateway: Gateway) -> tuple[Journal, CallContext]:
        """Look whether all is there that it needs, and begin it, or go on with it."""
        done = () if self.journal is None else self.journal.done
        calls = () if self.journal is None else await _calls_on_record(gateway, self.journal.run)
        strict = self._config.execution.check == "on"
        look_up = gateway.callable_schema
        repeatable = await check_tools(self._net, self._given, look_up, done, strict=strict)
        if self.journal is not None:
            names = {(one.server, one.original_name): one.name for one in gateway.snapshot.tools.values()}
            recorded = Counter(names.get(call, namespaced(*call)) for call in calls)
            await asyncio.to_thread(self.journal.go_on, self._again, repeatable, recorded)
        named = " ".join(task.tool for task in self._net.tasks.values() if task.tool is not None)
        asked = await (await gateway.programs()).destructive_within(named)
        context = confirmed(asked, named, yes=self._yes)
        if self.journal is None:
            folder = await asyncio.to_thread(_folder, self._config)
            self.journal = await asyncio.to_thread(
                Journal.begin, folder, new_id(), self._net, self._given, repeatable
            )
        return self.journal, context

    def leave(self, *, is_over: bool, fails_again: bool = False) -> None:
        """Let go of what is written down, and say how to go on."""
        journal = self.journal
        if journal is None:
            return
        journal.close(is_over=is_over)
        if is_over or not self._is_begun or not journal.can_go_on:
            return
        doubtful = journal.doubtful()
        for task, what in doubtful.items():
            only = not fails_again and self._net.tasks[task].each is not None
            note(
                f"'{one_line(task)}' {what}, and nothing says that it can be done twice. Look whether it was done."
                + (" Only that is done again." if only else "")
            )
        if fails_again:
            note(
                "To go on with it would fail in the same way: that comes from the workflow and from what is known, and not from a tool. "
                "Mend the workflow, and run it from the start."
            )
            return
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
