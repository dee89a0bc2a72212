"""`halflap run`: run a program or a saved script in the sandbox."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    script_names,
)
from halflap.cli.output import note, one_line, plural, print_json, print_lines, reported, write
from halflap.cli.progress import working
from halflap.core.errors import ScriptError, ToolRefusedError, UsageError
from halflap.core.values import SCRIPTS, CallContext
from halflap.gateway import NO_SERVER_TODO
from halflap.sandbox.run.report import calls_made
from halflap.scripts import decode, read_definition, read_file

if TYPE_CHECKING:
    from halflap.config import Config
    from halflap.core.values import Tool
    from halflap.sandbox import Checked, Execution

__all__ = ["about_file", "confirmed", "read_code", "run"]

_NO_TERMINAL = "no terminal to confirm on; use --yes"


@reported
def run(
    what: Annotated[
        str,
        typer.Argument(
            metavar="FILE_OR_NAME",
            help="A Python file, the name of a saved script, or - for stdin.",
            autocompletion=script_names,
        ),
    ],
    arguments: ArgumentsOption = None,
    json_arguments: JsonArgumentsOption = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Allow calls of destructive tools without asking.")
    ] = False,
    check: Annotated[bool, typer.Option("--check-only", help="Check the program; don't run it.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Run a program or a saved script in the sandbox.

    Prints its output, then what its main() returned, as JSON. The exit code is 1 if it failed.
    """
    if what == json_arguments == "-":
        raise UsageError("Only one of the program and its arguments can come from stdin.")
    given = json_object(arguments, json_arguments)
    is_file = what == "-" or os.sep in what or what.endswith(".py") or Path(what).is_file()
    code = read_code(what, follow=True) if is_file else None
    settings = read_config(config)
    if not settings.servers:
        note(f"No server is configured yet, so the program has no tools. {NO_SERVER_TODO}")
    if check:
        checked = asyncio.run(_check(settings, what, code))
        _show_check(checked, as_json=as_json)
        is_ok = checked.ok and checked.skipped is None
    else:
        work = _run(settings, what, code, arguments or [], given, yes=yes, as_json=as_json)
        is_ok = run_until_signal(work).ok
    if not is_ok:
        raise typer.Exit(1)


def read_code(file: str, *, follow: bool = False) -> str:
    """Read a program from a file, or from stdin."""
    try:
        return decode(sys.stdin.buffer.read()) if file == "-" else read_file(Path(file), follow=follow)
    except ScriptError as error:
        raise about_file(file, error) from None


def about_file(file: str, error: ScriptError) -> ScriptError:
    """Name the file in each line of an error."""
    where = "stdin" if file == "-" else file
    return ScriptError("\n".join(f"{where}: {line}" for line in str(error).splitlines()))


async def _run(
    config: Config,
    what: str,
    code: str | None,
    pairs: Sequence[str],
    given: Mapping[str, Any] | None,
    *,
    yes: bool,
    as_json: bool,
) -> Execution:
    async with opened(config) as gateway:
        name = what.removeprefix(f"{SCRIPTS}__")
        try:
            if code is None:
                definition = (await gateway.scripts.find(name)).definition
            else:
                definition = await asyncio.to_thread(read_definition, code, as_file=True)
        except ScriptError as error:
            raise error if code is None else about_file(what, error) from None
        if given is None:
            given = arguments_of(pairs, definition.input_schema)
        asked = f"{SCRIPTS}__{name}" if code is None else code
        context = confirmed(await gateway.needing_confirmation(asked), asked, yes=yes)
        cancelled: list[Execution] = []
        context = replace(context, cancelled=cancelled.append)
        try:
            with working(f"Running {one_line(what)}"):
                if code is None:
                    execution = await gateway.scripts.run(name, given, context)
                else:
                    execution = await gateway.scripts.run_unsaved(code, given, context)
        except asyncio.CancelledError:
            for execution in cancelled:
                _report(execution, as_json=as_json)
            raise
        # Printed before the servers stop, which may take longer than the run.
        _report(execution, as_json=as_json)
        return execution


def confirmed(tools: Sequence[Tool], code: str, *, yes: bool) -> CallContext:
    """Ask whether a program may call these destructive tools."""
    names = frozenset(tool.name for tool in tools)
    if not tools or yes:
        return CallContext(confirmations=names)
    if not sys.stdin.isatty():
        if code in names:
            raise ToolRefusedError(f"{code!r} is destructive and was not run: {_NO_TERMINAL}.")
        return CallContext(unconfirmed=_NO_TERMINAL)
    note("The program can call destructive tools:")
    for tool in tools:
        note(f"  {tool.name}: {one_line(tool.description)}" if tool.description else f"  {tool.name}")
    if not typer.confirm("Allow this once?", err=True):
        note("It was not run.")
        raise typer.Exit(1)
    return CallContext(confirmations=names)


def _report(execution: Execution, *, as_json: bool) -> None:
    if as_json:
        print_json(_summary(execution))
        return
    output = execution.output
    write(f"{output}\n" if output and not output.endswith("\n") else output, exact=True)
    for block in execution.shown:
        note(one_line(f"[{block.get('type')} {block.get('mimeType') or ''}, not shown here]"))
    if not execution.ok:
        note(f"Error [{execution.code}]:")
        note(execution.error)
        for line in calls_made(execution.calls):
            note(line)
    elif execution.value is not None:
        print_json(execution.value)


def _summary(execution: Execution) -> dict[str, Any]:
    return {
        "run": execution.run,
        "outcome": execution.outcome,
        "code": execution.code,
        "output": execution.output,
        "value": execution.value,
        "error": execution.error or None,
        "calls": [
            {
                "tool": call.name,
                "outcome": call.outcome,
                "duration_ms": round(call.duration_ms, 1),
                **({"detail": call.detail} if call.detail else {}),
            }
            for call in execution.calls
        ],
        "shown": [dict(block) for block in execution.shown],
        "duration_ms": round(execution.duration_ms, 1),
        "cpu_ms": None if execution.cpu_ms is None else round(execution.cpu_ms, 1),
        "memory_bytes": execution.memory_bytes,
        "sandbox": execution.sandbox,
    }


async def _check(config: Config, what: str, code: str | None) -> Checked:
    async with opened(config) as gateway:
        if code is None:
            code = (await gateway.scripts.find(what.removeprefix(f"{SCRIPTS}__"))).code
        with working("Checking"):
            return await gateway.check(code)


def _show_check(checked: Checked, *, as_json: bool) -> None:
    found = {"mistake": checked.mistakes, "doubt": checked.doubts}
    if as_json:
        print_json(
            {
                "ok": checked.ok and checked.skipped is None,
                **{
                    f"{word}s": [{"code": one.code, **asdict(one)} for one in some]
                    for word, some in found.items()
                },
                "skipped": checked.skipped,
            }
        )
    elif checked.skipped is not None:
        note(f"The program could not be checked: {checked.skipped}.")
    elif not checked.mistakes and not checked.doubts:
        note("No mistakes found.")
    else:
        print_lines(f"{word}: {one}" for word, some in found.items() for one in some)
        counts = [plural(len(some), word) for word, some in found.items() if some]
        after = "It would not run." if checked.mistakes else "It would run; doubts are shown if it fails."
        note(f"{' and '.join(counts)}. {after}")
