"""`halflap workflow run`: run a workflow in the sandbox, or resume a run."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Exit, Option

from halflap.calls import new_id
from halflap.cli.command import Invocation, command
from halflap.cli.commands.workflow import read_workflow, workflow
from halflap.cli.options import (
    ArgumentsOption,
    JsonArgumentsOption,
    YesOption,
    confirmed,
    given_arguments,
    write_text,
)
from halflap.cli.output import note, one_line, print_json, working
from halflap.core.errors import UsageError
from halflap.core.text import plural
from halflap.sandbox.run.report import calls_made
from halflap.schema import Reading, read_result, reading_of
from halflap.store import RUNNING
from halflap.workflows.run.check import check_runnable, check_tools
from halflap.workflows.run.journal import Journal
from halflap.workflows.run.program import net_program, recorded_net

if TYPE_CHECKING:
    from halflap.config import Config
    from halflap.core.values import CallContext, Result, Tool
    from halflap.gateway import Gateway
    from halflap.sandbox.run.report import Execution
    from halflap.workflows.model.net import Net

_KIND = "workflow"
_RAISED = re.compile(r"^(?:RuntimeError|ValueError): (.*)", re.MULTILINE | re.DOTALL)


@command(workflow, "run")
async def run_workflow(
    invocation: Invocation,
    file: Annotated[Path | None, Argument(help="A workflow whose tasks have tools.")] = None,
    arguments: ArgumentsOption = None,
    json_arguments: JsonArgumentsOption = None,
    resume: Annotated[str | None, Option(metavar="RUN", help="Resume a failed or interrupted run.")] = None,
    again: Annotated[
        list[str] | None, Option(metavar="TASK", help="With --resume, repeat this task.")
    ] = None,
    program: Annotated[bool, Option("--program", help="Print the program without running it.")] = False,
    yes: YesOption = False,
) -> None:
    """Run a workflow in the sandbox, or resume a run.

    Tasks call their tools, in parallel where possible, and predicates decide choices. Prints the tasks' results as
    JSON. A failed or interrupted run can be resumed; finished tasks are not repeated.
    """
    net: Net | None = None
    given: Mapping[str, Any] = {}
    if resume is None:
        net, given = _new_run(file, arguments, json_arguments, again)
        if program:
            write_text(net_program(net, given), None)
            return
    elif file is not None or arguments or json_arguments or program:
        raise UsageError("--resume takes no file, arguments or --program.")
    config = invocation.config()
    async with invocation.gateway(config) as gateway:
        if net is not None:
            code, journal = net_program(net, given, marked=True), _new_journal(config, net)
        else:
            code, journal, given = await _recorded(gateway, resume or "")
        context = await _begun(gateway, journal, given, again or (), yes=yes)
        note(f"Run {journal.run}")
        cancelled: list[Execution] = []
        try:
            with working(f"Running {one_line(journal.net.id)}"):
                context = replace(context, journal=journal, cancelled=cancelled.append)
                execution = await gateway.execute(code, context, kind=_KIND, name=journal.net.id)
        except BaseException:
            for one in cancelled:
                _report(invocation, one, journal, gateway.snapshot.tools)
            if not cancelled:
                _print_how_to_resume(journal)
            raise
        await asyncio.to_thread(_report, invocation, execution, journal, gateway.snapshot.tools)
    if not execution.ok:
        raise Exit(1)


def _new_run(
    file: Path | None, pairs: Sequence[str] | None, text: str | None, again: Sequence[str] | None
) -> tuple[Net, Mapping[str, Any]]:
    if again:
        raise UsageError("--again needs --resume.")
    if file is None:
        raise UsageError("Name a workflow's file, or a run with --resume.")
    if str(file) == text == "-":
        raise UsageError("Workflow and arguments can't both come from stdin.")
    net, given = read_workflow(file).net, given_arguments(pairs, text, {})
    check_runnable(net, given)
    return net, given


def _new_journal(config: Config, net: Net) -> Journal:
    record = config.traces.record
    if record != "full":
        note(f"Note: This run can't be resumed after a crash: `traces.record` is {record}.")
    return Journal(new_id(), net, keeps=record == "full")


async def _recorded(gateway: Gateway, run: str) -> tuple[str, Journal, Mapping[str, Any]]:
    """Return the program of a recorded run, its journal and its arguments."""
    found, calls = await gateway.run(run)
    if found.kind != _KIND:
        raise UsageError(f"Run {found.id} is of a {found.kind}, not of a workflow.")
    if found.outcome == "ok":
        raise UsageError(f"Run {found.id} is complete: `halflap runs show {found.id}`.")
    if found.outcome == RUNNING:
        raise UsageError(f"Run {found.id} is still running.")
    code = found.code or ""
    if sha256(code.encode()).hexdigest() != found.code_hash:
        raise UsageError(
            f"Run {found.id} can't be resumed, because its program is not recorded in full: `traces.record` was not "
            "full, or it contains a secret. Run the workflow from the start."
        )
    net, given = recorded_net(code)
    check_runnable(net, given)
    journal = Journal(found.id, net, calls)
    if not journal.can_resume:
        raise UsageError(f"Run {found.id} called nothing. Run the workflow from the start.")
    return code, journal, given


async def _begun(
    gateway: Gateway, journal: Journal, given: Mapping[str, Any], again: Sequence[str], *, yes: bool
) -> CallContext:
    """Check the tools, begin or resume the journal, and ask about destructive tools."""
    strict, schemas = gateway.config.execution.check == "on", gateway.parts.tools.callable_schema
    tools = await check_tools(journal.net, dict(given), schemas, journal.done, strict=strict)
    journal.begin(again, tools)
    named = " ".join(task.tool for task in journal.net.tasks.values() if task.tool is not None)
    return confirmed(await gateway.parts.programs.destructive_within(named), named, yes=yes)


def _report(
    invocation: Invocation, execution: Execution, journal: Journal, tools: Mapping[str, Tool]
) -> None:
    """Print the results, or how to resume a failed run."""

    def value(task: str, result: Result) -> Any:
        tool = tools.get(journal.net.tasks[task].tool or "")
        reading = Reading() if tool is None else reading_of(tool)
        return read_result(result, reading, lambda block: f"[{block.get('type')}]")

    data = _printed(execution)
    if data is None:
        results = {task: value(task, found) for task, found in journal.results.items()}
        data = {"failed": None, "trace": journal.ended, "results": results}
    is_ok = execution.ok
    raised = _RAISED.search(execution.error)
    error = execution.error if raised is None else raised[1].rstrip()
    if invocation.as_json:
        print_json(
            {
                "run": execution.run,
                "resume": execution.run if journal.can_resume and not is_ok else None,
                "outcome": execution.outcome,
                "code": execution.code,
                "error": error or None,
                **data,
                "under_way": journal.under_way,
                "recalled": journal.recalled,
                "duration_ms": round(execution.duration_ms, 1),
                "sandbox": execution.sandbox,
            }
        )
    else:
        if journal.recalled:
            note(f"{plural(journal.recalled, 'call')} replayed from the earlier run.")
        if is_ok:
            print_json(data["results"])
            note(f"Done in {execution.duration_ms:,.0f} ms: {', '.join(map(one_line, data['trace']))}")
        else:
            note("\n".join([f"Error [{execution.code}]:", error, *calls_made(execution.calls)]))
    if not is_ok:
        _print_how_to_resume(journal)


def _printed(execution: Execution) -> dict[str, Any] | None:
    """Return what the program printed, or None if it was stopped."""
    if execution.outcome not in {"ok", "failed"}:
        return None
    try:
        found: dict[str, Any] = json.loads(execution.output)
    except ValueError:
        return None
    return found


def _print_how_to_resume(journal: Journal) -> None:
    if not journal.can_resume:
        return
    doubtful = journal.doubtful()
    for task, what in doubtful.items():
        note(f"'{one_line(task)}' {what} and may not be idempotent. Check whether it took effect.")
    again = "".join(f" --again {quote(task)}" for task in doubtful)
    note(f"Resume: halflap workflow run --resume {journal.run}{again}")
