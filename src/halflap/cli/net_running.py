"""`halflap workflow run`."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.calls import new_id
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
from halflap.core.errors import UsageError
from halflap.schema import Reading, read_result, reading_of
from halflap.store import RUNNING
from halflap.workflows.run.check import check_runnable
from halflap.workflows.run.journal import Journal
from halflap.workflows.run.program import net_program, recorded_net
from halflap.workflows.run.tools import check_tools

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from halflap.config import Config
    from halflap.core.values import CallContext, Result, Tool
    from halflap.gateway import Gateway
    from halflap.sandbox import Execution
    from halflap.workflows.model.net import Net

__all__ = ["run_workflow"]

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
        typer.Option("--resume", metavar="RUN", help="Resume a run that was interrupted or failed."),
    ] = None,
    again: Annotated[
        list[str] | None,
        typer.Option(
            "--again",
            metavar="TASK",
            help="With --resume: this task may be done again, though nothing says that it is idempotent.",
        ),
    ] = None,
    program: Annotated[
        bool, typer.Option("--program", help="Print the program it becomes; run nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Call destructive tools without asking.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Run a workflow in the sandbox: tasks call their tools, in parallel where possible, and predicates choose.

    The results of the tasks are printed as JSON. A run that failed or was interrupted can be resumed: what was done is not repeated.
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
            raise UsageError("A run is resumed as it began: --resume takes no file, arguments or --program.")
        work = _Run(settings, None, {}, yes=yes, resume=resume, again=again or ())
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


def _asked(
    file: Path | None, pairs: list[str] | None, text: str | None, again: list[str] | None
) -> tuple[Net, Mapping[str, Any]]:
    """Return the workflow and the arguments of a new run."""
    if again:
        raise UsageError("--again goes with --resume: a new run does every task anyway.")
    if file is None:
        raise UsageError("Name the file of a workflow, or a run with --resume.")
    if str(file) == text == "-":
        raise UsageError("Only one of the workflow and its arguments can come from stdin.")
    net, given = read(file).net, json_object(pairs, text)
    given = arguments_of(pairs or [], {}) if given is None else given
    check_runnable(net, given)
    return net, given


class _Run:
    """A run, from the checks before it to the report after it."""

    def __init__(
        self,
        config: Config,
        net: Net | None,
        given: Mapping[str, Any],
        *,
        yes: bool,
        resume: str | None = None,
        again: Collection[str] = (),
    ) -> None:
        self.journal: Journal | None = None
        """None until it is begun."""
        self.results: dict[str, Any] = {}
        """What tasks returned, if the program could not report it."""
        self.items: dict[str, Any] = {}
        """Of tasks that were not done for all of their items, what became of each."""
        self.interrupted: Execution | None = None
        """What was done when the person stopped it."""
        self._is_begun = False
        self._config = config
        self._net = net
        self._given = given
        self._yes = yes
        self._resume = resume
        self._again = again

    async def done(self) -> Execution:
        async with opened(self._config) as gateway:
            code, context = await self._begun(gateway)
            journal = self.journal
            assert journal is not None
            self._is_begun = True
            note(f"Run {journal.run}")
            left: list[Execution] = []
            context = replace(context, journal=journal, cancelled=left.append)
            try:
                with working(f"Running {one_line(journal.net.id)}"):
                    execution = await gateway.execute(code, context, kind=_KIND, name=journal.net.id)
            except asyncio.CancelledError:
                self.interrupted = next(iter(left), None)
                self._read_results(journal, gateway.snapshot.tools)
                raise
            if not execution.ok:
                await asyncio.to_thread(self._read_results, journal, gateway.snapshot.tools)
            return execution

    def _read_results(self, journal: Journal, tools: Mapping[str, Tool]) -> None:
        def read(task: str, result: Result) -> Any:
            tool = tools.get(journal.net.tasks[task].tool or "")
            return read_result(result, Reading() if tool is None else reading_of(tool), _described)

        for task, result in journal.results.items():
            several = isinstance(result, list)
            self.results[task] = [read(task, one) for one in result] if several else read(task, result)  # type: ignore[union-attr, arg-type]
        for task, state in journal.items().items():
            returned = {str(at): read(task, one) for at, one in sorted(state["returned"].items())}
            self.items[task] = {**state, "returned": returned}

    async def _begun(self, gateway: Gateway) -> tuple[str, CallContext]:
        """Check that everything it needs exists, and begin or resume it; return its program."""
        keeps = self._config.traces.record == "full"
        if self._resume is not None:
            code, journal, given = await _recorded(gateway, self._resume)
        else:
            assert self._net is not None
            given = dict(self._given)
            code = net_program(self._net, given, marked=True)
            journal = Journal(new_id(), self._net, keeps=keeps)
            if not keeps:
                note(
                    f"Note: It cannot be resumed after a crash: `traces.record` is {self._config.traces.record}."
                )
        strict = self._config.execution.check == "on"
        repeatable = await check_tools(
            journal.net, given, gateway.callable_schema, journal.done, strict=strict
        )
        journal.begin(self._again, repeatable)
        named = " ".join(task.tool for task in journal.net.tasks.values() if task.tool is not None)
        asked = await (await gateway.programs()).destructive_within(named)
        context = confirmed(asked, named, yes=self._yes)
        self.journal = journal
        return code, context

    def leave(self, *, is_over: bool, fails_again: bool = False) -> None:
        """Report how to resume, if that is possible."""
        journal = self.journal
        if journal is None or is_over or not self._is_begun or not journal.can_resume:
            return
        doubtful = journal.doubtful()
        for task, what in doubtful.items():
            note(
                f"'{one_line(task)}' {what}, and nothing says that it may be done twice. Check whether it was done."
            )
        if fails_again:
            note("Resuming would fail in the same way. Fix the workflow, and run it from the start.")
            return
        again = "".join(f" --again {quote(task)}" for task in doubtful)
        note(f"What was done is kept. Resume: halflap workflow run --resume {journal.run}{again}")


async def _recorded(gateway: Gateway, run: str) -> tuple[str, Journal, dict[str, Any]]:
    """Return the program of a recorded run, its journal and its arguments."""
    found, calls = await gateway.run(run)
    if found.kind != _KIND:
        raise UsageError(f"The run {found.id} is not that of a workflow but of a {found.kind}.")
    if found.outcome == "ok":
        raise UsageError(f"The run {found.id} is complete: `halflap runs show {found.id}`.")
    if found.outcome == RUNNING:
        raise UsageError(f"The run {found.id} is still running. Wait for its end, then resume what is left.")
    code = found.code or ""
    if sha256(code.encode()).hexdigest() != found.code_hash:
        raise UsageError(
            f"The run {found.id} cannot be resumed: its program is not recorded in full, because `traces.record` was not full, "
            "or because it contains a secret. Run the workflow from the start."
        )
    net, given = recorded_net(code)
    check_runnable(net, given)
    journal = Journal(found.id, net, calls)
    if not journal.can_resume:
        raise UsageError(f"The run {found.id} called nothing. Run the workflow from the start.")
    return code, journal, given


def _described(block: Mapping[str, Any]) -> str:
    return f"[{block.get('type')} {block.get('mimeType') or ''}]"
