"""`halflap scripts`."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.complete import script_names
from halflap.cli.output import (
    ConfigOption,
    JsonOption,
    harmless,
    note,
    one_line,
    print_json,
    reported,
    set_up_logging,
    visible,
)
from halflap.cli.running import about_file, read_code
from halflap.cli.setting import opened, read_config
from halflap.core.errors import ConfirmationNeededError, ScriptError
from halflap.core.values import SCRIPTS, Tool
from halflap.schema import parse_schema

if TYPE_CHECKING:
    from halflap.config import Config
    from halflap.scripts import Script

__all__ = ["scripts"]

scripts = typer.Typer(
    name="scripts",
    help="List the programs that are saved under a name; save, show or remove one.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)

NameArgument = Annotated[str, typer.Argument(help="The script's name.", autocompletion=script_names)]


@scripts.callback()
@reported
def list_scripts(context: typer.Context, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the saved scripts: how each is called, and what it does.

    One that cannot be used is listed with the reason. `halflap run NAME` runs one.
    """
    if context.invoked_subcommand is not None:
        return
    set_up_logging(verbose=False, tells_of_servers=True)
    rows = asyncio.run(_rows(read_config(config)))
    if as_json:
        print_json(rows)
        return
    for row in rows:
        if "broken" in row:
            line = f"{row['name']}\n      [broken] {one_line(row['broken'])}"
        else:
            mark = "[blocked] " if "blocked" in row else "[held] " if "held" in row else ""
            line = f"{row['signature']}\n      {mark}{one_line(row['description'])}".rstrip()
        sys.stdout.write(harmless(line) + "\n")
    sys.stdout.flush()
    if not rows:
        note("No script is saved yet: halflap scripts save NAME FILE")


async def _rows(config: Config) -> list[dict[str, Any]]:
    async with opened(config) as gateway:
        shelf = await gateway.scripts.shelf()
        rows = [_described(script) for script in shelf.scripts.values()]
        for row in rows:
            if row["tool"] in gateway.snapshot.blocked:
                row["blocked"] = gateway.snapshot.blocked[row["tool"]]
            if row["tool"] in gateway.snapshot.held:
                row["held"] = True
        rows += [{"name": one_line(name), "broken": reason} for name, reason in shelf.broken.items()]
        return sorted(rows, key=lambda row: str(row["name"]))


def _described(script: Script) -> dict[str, Any]:
    definition = script.definition
    name = f"{SCRIPTS}__{script.name}"
    tool = Tool(
        name, SCRIPTS, script.name, definition.description, definition.input_schema, definition.output_schema
    )
    return {
        "name": script.name,
        "tool": name,
        "signature": parse_schema(tool).format_compact(),
        "description": definition.description,
        "inputSchema": definition.input_schema,
        "outputSchema": definition.output_schema,
    }


@scripts.command()
@reported
def save(
    name: Annotated[
        str,
        typer.Argument(
            help="The name to save it under: lower-case letters, digits and _.", autocompletion=script_names
        ),
    ],
    file: Annotated[str, typer.Argument(help="A Python file, or - for stdin.", metavar="FILE")],
    force: Annotated[bool, typer.Option("--force", help="Replace the script of that name.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Save a program under a name, so that it can be called like any tool.

    Its parameters are those of its main(); nothing of it is run.
    """
    set_up_logging(verbose=False, tells_of_servers=True)
    # That the definition changes is what is being asked for.
    logging.getLogger("halflap.catalog.catalog").setLevel(logging.ERROR)
    code = read_code(file)
    try:
        script = asyncio.run(_save(read_config(config), name, code, force=force))
    except ScriptError as error:
        raise about_file(file, error) from None
    described = _described(script)
    if as_json:
        print_json(described)
    else:
        note(f"Saved: {described['signature']}")


async def _save(config: Config, name: str, code: str, *, force: bool) -> Script:
    async with opened(config) as gateway:
        return await gateway.scripts.save(name, code, force=force)


@scripts.command()
@reported
def show(name: NameArgument, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show the code of a saved script."""
    set_up_logging(verbose=False, tells_of_servers=True)
    script = asyncio.run(_find(read_config(config), name))
    if as_json:
        print_json({**_described(script), "code": script.code})
        return
    text = script.code if script.code.endswith("\n") else f"{script.code}\n"
    if sys.stdout.isatty():
        # What cannot be seen is where somebody would hide something.
        lines = text.expandtabs().splitlines()
        text = "".join(f"{visible(line)}\n" for line in lines)
    sys.stdout.write(text)
    sys.stdout.flush()


async def _find(config: Config, name: str) -> Script:
    async with opened(config) as gateway:
        return await gateway.scripts.find(name)


@scripts.command()
@reported
def remove(
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a saved script."""
    set_up_logging(verbose=False, tells_of_servers=True)
    asyncio.run(_remove(read_config(config), name, yes=yes))
    if as_json:
        print_json({"name": name, "removed": True})


async def _remove(config: Config, name: str, *, yes: bool) -> None:
    async with opened(config) as gateway:
        shelf = await gateway.scripts.shelf()
        if name not in shelf.broken:
            await gateway.scripts.find(name)
        if not yes:
            if not sys.stdin.isatty():
                raise ConfirmationNeededError(
                    "Not removed: there is nobody to ask here. Say --yes if you mean it."
                )
            if not typer.confirm(f"Remove the script {one_line(name)}?", err=True):
                note("Not removed.")
                raise typer.Exit(1)
        await gateway.scripts.remove(name)
    note(f"Removed: {one_line(name)}")
