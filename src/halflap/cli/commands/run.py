"""`halflap run` and `halflap scripts`: run programs in the sandbox, and save them as scripts."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Exit, Option

from halflap.cli.command import CONFIG_AND_JSON, Invocation, command, group
from halflap.cli.options import (
    ArgumentsOption,
    ForceOption,
    JsonArgumentsOption,
    NewNameArgument,
    YesOption,
    confirm,
    confirmed,
    given_arguments,
    list_unlisted,
    read_input,
)
from halflap.cli.output import note, one_line, print_json, visible, warn_about_servers, working, write
from halflap.core.errors import ScriptError, UsageError
from halflap.core.text import plural
from halflap.core.values import SCRIPTS, Tool
from halflap.sandbox.run.report import calls_made
from halflap.schema import parse_schema
from halflap.scripts import decode, read_definition

if TYPE_CHECKING:
    from halflap.gateway import Gateway
    from halflap.sandbox.check.finding import Checked
    from halflap.sandbox.run.report import Execution
    from halflap.scripts import Definition, Script

scripts = group("scripts", "List, save, show and remove scripts (saved programs).", has_default=True)
_PREFIX = f"{SCRIPTS}__"
NameArgument = Annotated[str, Argument(help="The script's name.")]


@command()
async def run(
    invocation: Invocation,
    what: Annotated[
        str, Argument(metavar="FILE | NAME", help="A Python file, - for stdin, or a saved script.")
    ],
    arguments: ArgumentsOption = None,
    json_arguments: JsonArgumentsOption = None,
    yes: YesOption = False,
    check: Annotated[bool, Option("--check-only", help="Check the program without running it.")] = False,
) -> None:
    """Run a program or a saved script in the sandbox.

    Prints the program's output, then the value that its main() returned, as JSON. The exit code is 1 if it failed.
    """
    if what == json_arguments == "-":
        raise UsageError("Program and arguments can't both come from stdin.")
    is_file = what == "-" or os.sep in what or what.endswith(".py") or Path(what).is_file()
    code = _read_code(what) if is_file else None
    config = invocation.config()
    async with invocation.gateway(config) as gateway:
        name = what.removeprefix(_PREFIX)
        script = None if code is not None else await gateway.scripts.find(name)
        program = code if script is None else script.code
        assert program is not None
        with working("Starting servers"):
            await list_unlisted(gateway, program)
        if not config.servers:
            warn_about_servers(gateway)
        if check:
            with working("Checking"):
                checked = await gateway.check(program)
            is_ok = _show_check(invocation, checked)
        else:
            with _about(name):
                definition = script.definition if script else await asyncio.to_thread(_as_file, program)
            given = given_arguments(arguments, json_arguments, definition.input_schema)
            is_ok = await _run(invocation, gateway, name, code, given, yes=yes)
    if not is_ok:
        raise Exit(1)


def _as_file(code: str) -> Definition:
    return read_definition(code, as_file=True)


async def _run(
    invocation: Invocation, gateway: Gateway, name: str, code: str | None, given: dict[str, Any], *, yes: bool
) -> bool:
    asked = f"{_PREFIX}{name}" if code is None else code
    cancelled: list[Execution] = []
    context = confirmed(await gateway.needing_confirmation(asked), asked, yes=yes)
    context = replace(context, cancelled=cancelled.append)
    try:
        with working(f"Running {one_line(name)}"):
            if code is None:
                execution = await gateway.scripts.run(name, given, context)
            else:
                execution = await gateway.scripts.run_unsaved(code, given, context)
    except asyncio.CancelledError:
        for execution in cancelled:
            _report(invocation, execution)
        raise
    # Printed before the servers stop, which may take a moment.
    _report(invocation, execution)
    return execution.ok


def _report(invocation: Invocation, execution: Execution) -> None:
    if invocation.as_json:
        calls = [
            {"tool": call.name, "outcome": call.outcome, "duration_ms": round(call.duration_ms, 1)}
            | ({"detail": call.detail} if call.detail else {})
            for call in execution.calls
        ]
        about = {"run": execution.run, "outcome": execution.outcome, "code": execution.code}
        found = {"output": execution.output, "value": execution.value, "error": execution.error or None}
        costs = {
            "duration_ms": round(execution.duration_ms, 1),
            "cpu_ms": None if execution.cpu_ms is None else round(execution.cpu_ms, 1),
            "memory_bytes": execution.memory_bytes,
            "sandbox": execution.sandbox,
        }
        print_json(
            {**about, **found, "calls": calls, "shown": [dict(block) for block in execution.shown], **costs}
        )
        return
    output = execution.output
    write(f"{output}\n" if output and not output.endswith("\n") else output, exact=True)
    for block in execution.shown:
        note(one_line(f"[{block.get('type')} {block.get('mimeType') or ''}, not shown here]"))
    if not execution.ok:
        note("\n".join([f"Error [{execution.code}]:", execution.error, *calls_made(execution.calls)]))
    elif execution.value is not None:
        print_json(execution.value)


def _show_check(invocation: Invocation, checked: Checked) -> bool:
    """Return whether the program would run."""
    is_ok = checked.ok and checked.skipped is None
    found = {"mistake": checked.mistakes, "doubt": checked.doubts}
    data = {f"{word}s": [{"code": one.code, **asdict(one)} for one in some] for word, some in found.items()}
    lines = [f"{word}: {one}" for word, some in found.items() for one in some]
    if lines or invocation.as_json:
        invocation.show({"ok": is_ok, **data, "skipped": checked.skipped}, lines)
    if checked.skipped is not None:
        note(f"The program was not checked: {checked.skipped}.")
    elif not lines:
        note("No mistakes found.")
    else:
        counts = " and ".join(plural(len(some), word) for word, some in found.items() if some)
        after = "It would not run." if checked.mistakes else "It would run; doubts are shown if it fails."
        note(f"{counts}. {after}")
    return is_ok


def _read_code(file: str) -> str:
    data = read_input(Path(file))
    with _about(file):
        return decode(data)


@contextmanager
def _about(file: str) -> Iterator[None]:
    """Prefix each line of an error with the file."""
    try:
        yield
    except ScriptError as error:
        where = "stdin" if file == "-" else file
        raise ScriptError("\n".join(f"{where}: {line}" for line in str(error).splitlines())) from None


@command(scripts, "list", shared=CONFIG_AND_JSON, is_default=True)
async def list_scripts(invocation: Invocation) -> None:
    """List the saved scripts.

    Broken ones are listed with the reason. `halflap run NAME` runs a script.
    """
    async with invocation.gateway() as gateway:
        saved, snapshot = await gateway.scripts.saved(), gateway.snapshot
    rows = [_described(script) for script in saved.valid.values()]
    for row in rows:
        if row["tool"] in snapshot.blocked:
            row["blocked"] = snapshot.blocked[row["tool"]]
        if row["tool"] in snapshot.held:
            row["held"] = True
    rows += [{"name": one_line(name), "broken": reason} for name, reason in saved.broken.items()]
    rows.sort(key=lambda row: str(row["name"]))
    lines: list[str] = []
    for row in rows:
        mark = next((f"[{word}] " for word in ("broken", "blocked", "held") if word in row), "")
        about = f"      {mark}{one_line(row.get('broken') or row['description'])}".rstrip()
        lines += [row.get("signature", row["name"]), about]
    if lines or invocation.as_json:
        invocation.show(rows, lines)
    else:
        note("No scripts yet. Save one: halflap scripts save NAME FILE")


def _described(script: Script) -> dict[str, Any]:
    name, made = f"{_PREFIX}{script.name}", script.definition
    tool = Tool(name, SCRIPTS, script.name, made.description, made.input_schema, made.output_schema)
    return {
        "name": script.name,
        "tool": name,
        "signature": parse_schema(tool).format_compact(),
        "description": made.description,
        "inputSchema": made.input_schema,
        "outputSchema": made.output_schema,
    }


@command(scripts, shared=CONFIG_AND_JSON)
async def save(
    invocation: Invocation,
    name: NewNameArgument,
    file: Annotated[str, Argument(help="A Python file, or - for stdin.")],
    force: ForceOption = False,
) -> None:
    """Save a program as a script, which is also a tool.

    The tool's parameters are those of the program's main(). The program is not run.
    """
    # Otherwise the catalogue logs that a definition has changed.
    logging.getLogger("halflap.catalog.catalog").setLevel(logging.ERROR)
    code = _read_code(file)
    async with invocation.gateway() as gateway:
        with _about(file):
            described = _described(await gateway.scripts.save(name, code, force=force))
    invocation.report(described, f"Saved: {described['signature']}")


@command(scripts, shared=CONFIG_AND_JSON)
async def show(invocation: Invocation, name: NameArgument) -> None:
    """Show the code of a saved script."""
    async with invocation.gateway() as gateway:
        script = await gateway.scripts.find(name)
    # Invisible characters could hide something.
    lines = [visible(line) for line in script.code.expandtabs().splitlines()]
    if invocation.as_json or sys.stdout.isatty():
        invocation.show({**_described(script), "code": script.code}, lines)
    else:
        write(script.code if script.code.endswith("\n") else f"{script.code}\n", exact=True)


@command(scripts, shared=CONFIG_AND_JSON)
async def remove(invocation: Invocation, name: NameArgument, yes: YesOption = False) -> None:
    """Remove a saved script."""
    async with invocation.gateway() as gateway:
        if name not in (await gateway.scripts.saved()).broken:
            await gateway.scripts.find(name)
        confirm(f"Remove the script {one_line(name)}?", "Nothing was removed.", yes=yes)
        await gateway.scripts.remove(name)
    invocation.report({"name": name, "removed": True}, f"Removed: {one_line(name)}")
