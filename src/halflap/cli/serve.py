"""`halflap serve`: the MCP server."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

import typer

from halflap.cli.options import ConfigOption, VerboseOption, read_config
from halflap.cli.output import note, reported, set_up_logging
from halflap.config import load_config

__all__ = ["serve"]


@reported
def serve(
    config: ConfigOption = None,
    http: Annotated[
        str | None, typer.Option("--http", metavar="HOST:PORT", help="Serve over HTTP instead of stdio.")
    ] = None,
    verbose: VerboseOption = False,
) -> None:
    """Run the MCP server: over stdio for one client, or over HTTP for many.

    Changes of the configuration file apply while it runs; clients stay connected.
    """
    set_up_logging(verbose=verbose, servers=True)
    from halflap.server import run_http, run_stdio

    settings = read_config(config)
    if http is not None:
        asyncio.run(run_http(settings, http, note, lambda: load_config(config)))
        return
    if sys.stdin.isatty():
        note(
            "Serving MCP on stdin and stdout, for an MCP client. Ctrl-C stops it. To try Halflap by hand: halflap list"
        )
    asyncio.run(run_stdio(settings, lambda: load_config(config)))
