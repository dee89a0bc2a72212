"""`halflap run`."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.arguments import ArgumentsOption, JsonArgumentsOption, arguments_of, json_object
from halflap.cli.checking import check_only
from halflap.cli.complete import script_names
from halflap.cli.ending import run_in_order
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
from halflap.cli.setting import opened, read_config
from halflap.core.errors import ScriptError, ToolRefusedError, UsageError
from halflap.core.values import SCRIPTS, CallContext
from halflap.sandbox.run.report import calls_made
from halflap.scripts import decode, read_definition, read_file

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.config import Config
    from halflap.core.values import Tool
    from halflap.sandbox import Execution

__all__ = ["about_file", "confirmed", "read_code", "run"]

_NOBODY = "there is no terminal to ask on; --yes confirms"


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
        bool, typer.Option("--yes", "-y", help="Let it call tools that destroy something, without asking.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check-only", help="Only say what is wrong with it; run nothing.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Run a program or a saved script over the tools, in the sandbox.

    Prints what it printed, then what its main() returned, as JSON. The exit code is 1 if it failed.
    """
    set_up_logging(verbose=verbose, tells_of_servers=True)
    if what == json_arguments == "-":
        raise UsageError(
            "Only one of the program and its arguments can come from stdin. Name a file for the program, or use --arg."
        )
    given = json_object(arguments, json_arguments)
    code = read_code(what, follow=True) if _is_file(what) else None
    if check:
        if not check_only(read_config(config), what, code, as_json=as_json):
            raise typer.Exit(1)
        return
    execution = run_in_order(
        _run(read_config(config), what, code, arguments or [], given, yes=yes, as_json=as_json)
    )
    if not execution.ok:
        raise typer.Exit(1)


def _is_file(what: str) -> bool:
    return what == "-" or os.sep in what or what.endswith(".py") or Path(what).is_file()


def read_code(file: str, *, follow: bool = False) -> str:
    """Read a program from a file, or from stdin."""
    try:
        return decode(sys.stdin.buffer.read()) if file == "-" else read_file(Path(file), follow=follow)
    except ScriptError as error:
        raise about_file(file, error) from None


def about_file(file: str, error: ScriptError) -> ScriptError:
    """Say of each problem which file it is in."""
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
            definition = (
                (await gateway.scripts.find(name)).definition
                if code is None
                else await asyncio.to_thread(read_definition, code, as_file=True)
            )
        except ScriptError as error:
            raise error if code is None else about_file(what, error) from None
        if given is None:
            given = arguments_of(pairs, definition.input_schema)
        asked = f"{SCRIPTS}__{name}" if code is None else code
        context = confirmed(await gateway.needing_confirmation(asked), asked, yes=yes)
        left: list[Execution] = []
        context = replace(context, cancelled=left.append)
        try:
            with working(f"Running {one_line(what)}"):
                if code is None:
                    execution = await gateway.scripts.run(name, given, context)
                else:
                    execution = await gateway.scripts.run_unsaved(code, given, context)
        except asyncio.CancelledError:
            # By the person: what was printed and called until then is all that they get, and its effects stay.
            for execution in left:
                _tell(execution, as_json=as_json)
            raise
        # Before the servers are stopped: that may take longer than the run.
        _tell(execution, as_json=as_json)
        return execution


def confirmed(tools: Sequence[Tool], code: str, *, yes: bool) -> CallContext:
    """Have a person say whether the program may call these tools, which destroy something."""
    names = frozenset(tool.name for tool in tools)
    if not tools or yes:
        return CallContext(confirmations=names)
    if not sys.stdin.isatty():
        if code in names:
            # What is run itself is what destroys something; there is nothing of it that could be let through.
            raise ToolRefusedError(f"{code!r} destroys something and was not run: {_NOBODY}.")
        return CallContext(unconfirmed=_NOBODY)
    note("It can call tools that destroy something:")
    for tool in tools:
        note(f"  {_line(tool)}")
    if not typer.confirm("May it?", err=True):
        note("It was not run.")
        raise typer.Exit(1)
    return CallContext(confirmations=names)


def _line(tool: Tool) -> str:
    return f"{tool.name}: {one_line(tool.description)}" if tool.description else tool.name


def _tell(execution: Execution, *, as_json: bool) -> None:
    if as_json:
        print_json(_summary(execution))
    else:
        _show(execution)


def _show(execution: Execution) -> None:
    output = execution.output
    # A program gets what was printed to the letter; a terminal would obey what is hidden in it.
    sys.stdout.write(harmless(output) if sys.stdout.isatty() else output)
    if output and not output.endswith("\n"):
        sys.stdout.write("\n")
    sys.stdout.flush()
    for block in execution.shown:
        note(one_line(f"[{block.get('type')} {block.get('mimeType') or ''}, not shown here]"))
    if execution.ok:
        if execution.value is not None:
            print_json(execution.value)
        return
    note(f"Error [{execution.code}]:")
    note(execution.error)
    for line in calls_made(execution.calls):
        note(line)


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
