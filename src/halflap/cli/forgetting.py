"""`halflap schema forget`."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from halflap.cli.complete import tool_names
from halflap.cli.output import (
    ConfigOption,
    JsonOption,
    VerboseOption,
    note,
    print_json,
    reported,
    set_up_logging,
    visible,
)
from halflap.cli.setting import opened, read_config
from halflap.core.errors import ConfirmationNeededError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.config import Config
    from halflap.store import ToolKey

__all__ = ["forget"]


@reported
def forget(
    name: Annotated[
        str | None,
        typer.Argument(help="The tool's namespaced name.", autocompletion=tool_names, show_default=False),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(
            "--server", "-s", help="Forget it of all tools of this server, be it configured or not."
        ),
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option(
            "--origin",
            help="Forget only what comes from there: live, backfill, import, or as --history says.",
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Forget what was learned of a tool or a server, or from somewhere. Logs that told it can be read again."""
    set_up_logging(verbose=verbose, tells_of_servers=True)
    if name is None and server is None and origin is None:
        raise UsageError("Say what: the name of a tool, --server NAME, or --origin ORIGIN.")
    if name is not None and server is not None:
        raise UsageError("Give the name of a tool, or --server, not both: the name says whose it is.")
    settings = read_config(config)
    if not yes:
        if not sys.stdin.isatty():
            raise ConfirmationNeededError(
                "Nothing was forgotten: there is nobody to ask here. Say --yes if you mean it."
            )
        what = name or (f"the tools of {server}" if server is not None else "all tools")
        source = "" if origin is None else f", as far as it comes from {origin}"
        if not typer.confirm(f"Forget what was learned of {visible(what)}{visible(source)}?", err=True):
            note("Nothing was forgotten.")
            raise typer.Exit(1)
    gone = asyncio.run(_forget(settings, name, server, origin))
    if as_json:
        told = [
            {"server": key.server, "tool": key.tool, "definition": key.definition_hash or None, "origin": one}
            for one, key in gone
        ]
        print_json({"forgotten": told})
        return
    tools = len({key[:2] for _, key in gone})
    note(
        f"Forgot what was learned of {tools} tool{'' if tools == 1 else 's'}."
        if gone
        else "There was nothing to forget."
    )


async def _forget(
    config: Config, name: str | None, server: str | None, origin: str | None
) -> Sequence[tuple[str, ToolKey]]:
    async with opened(config) as gateway:
        await gateway.prepare()
        if name is None:
            return await gateway.forget_learned(server, origin=origin)
        tool = gateway.snapshot.tools.get(name)
        tools = {(tool.server, tool.original_name)} if tool is not None else set()
        # What logs told of a tool is there before its server is listed.
        tools = tools or {row.key[:2] for row in await gateway.unlisted(name)}
        if not tools:
            gateway.snapshot.find(name)
        gone = [await gateway.forget_learned(*one, origin=origin) for one in sorted(tools)]
        return [row for rows in gone for row in rows]
