"""`halflap serve`."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from halflap.cli.output import ConfigOption, VerboseOption, note, reported, set_up_logging
from halflap.cli.setting import read_config

__all__ = ["serve"]


@reported
def serve(
    config: ConfigOption = None,
    http: Annotated[
        str | None,
        typer.Option("--http", metavar="HOST:PORT", help="Serve over HTTP at this address instead of stdio."),
    ] = None,
    verbose: VerboseOption = False,
) -> None:
    """Run the MCP server: over stdio for one client, or over HTTP for many."""
    set_up_logging(verbose=verbose)
    from halflap.server import run_http, run_stdio  # noqa: PLC0415 -- the protocol library takes a while to load

    settings = read_config(config)
    if http is not None:
        asyncio.run(run_http(settings, http, note))
        return
    if sys.stdin.isatty():
        note(
            "Serving MCP over stdin and stdout; this is meant to be started by an MCP client. "
            "Ctrl-C ends it. To try it by hand: halflap list"
        )
    asyncio.run(run_stdio(settings))
