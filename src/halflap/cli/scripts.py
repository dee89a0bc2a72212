"""`halflap scripts`."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.options import (
    ConfigOption,
    JsonOption,
    YesOption,
    confirm,
    opened,
    read_config,
    script_names,
)
from halflap.cli.output import note, one_line, print_json, print_lines, reported, visible, write
from halflap.cli.run import about_file, read_code
from halflap.core.errors import ScriptError
from halflap.core.values import SCRIPTS, Tool
from halflap.schema import parse_schema

if TYPE_CHECKING:
    from halflap.config import Config
    from halflap.scripts import Script

__all__ = ["scripts"]

scripts = typer.Typer(
    name="scripts",
    help="List, save, show and remove scripts: programs saved under a name.",
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,
)

NameArgument = Annotated[str, typer.Argument(help="The script's name.", autocompletion=script_names)]


@scripts.callback()
@reported
def list_scripts(context: typer.Context, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """List the saved scripts, and broken ones with the reason. `halflap run NAME` runs one."""
    if context.invoked_subcommand is not None:
        return
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
        print_lines([line])
    if not rows:
        note("No scripts are saved yet. Save one: halflap scripts save NAME FILE")


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
        typer.Argument(help="Its name: lower-case letters, digits and _.", autocompletion=script_names),
    ],
    file: Annotated[str, typer.Argument(help="A Python file, or - for stdin.", metavar="FILE")],
    force: Annotated[bool, typer.Option("--force", help="Replace the script of that name.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Save a program under a name, so that it can be called like any tool.

    Its parameters are those of its main(). It is not run.
    """
    # Saving changes a definition, which need not be logged.
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
    script = asyncio.run(_find(read_config(config), name))
    if as_json:
        print_json({**_described(script), "code": script.code})
        return
    text = script.code if script.code.endswith("\n") else f"{script.code}\n"
    if sys.stdout.isatty():
        # Something may be hidden in invisible characters.
        text = "".join(f"{visible(line)}\n" for line in text.expandtabs().splitlines())
    write(text, exact=True)


async def _find(config: Config, name: str) -> Script:
    async with opened(config) as gateway:
        return await gateway.scripts.find(name)


@scripts.command()
@reported
def remove(
    name: NameArgument,
    yes: YesOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a saved script."""
    asyncio.run(_remove(read_config(config), name, yes=yes))
    if as_json:
        print_json({"name": name, "removed": True})


async def _remove(config: Config, name: str, *, yes: bool) -> None:
    async with opened(config) as gateway:
        shelf = await gateway.scripts.shelf()
        if name not in shelf.broken:
            await gateway.scripts.find(name)
        confirm(f"Remove the script {one_line(name)}?", "Nothing was removed.", yes=yes)
        await gateway.scripts.remove(name)
    note(f"Removed: {one_line(name)}")
