"""`halflap schema`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from halflap.cli.exchange import export_learned, import_learned
from halflap.cli.files import save
from halflap.cli.forgetting import forget
from halflap.cli.learned import drift, show
from halflap.cli.output import ConfigOption, VerboseOption, note, reported, set_up_logging
from halflap.cli.progress import working
from halflap.cli.setting import opened, read_config
from halflap.core.errors import ServerNotFoundError
from halflap.core.values import OWN
from halflap.gateway import FIRST_LISTING_SECONDS

if TYPE_CHECKING:
    from halflap.config import Config

__all__ = ["schema"]

schema = typer.Typer(
    name="schema",
    help="Show, share and forget what is known of what tools take and return.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@schema.callback()
def _schema() -> None:
    """Tell what tools take and return."""


schema.command(name="show")(show)
schema.command(name="drift")(drift)
schema.command(name="forget")(forget)
schema.command(name="export")(export_learned)
schema.command(name="import")(import_learned)


@schema.command()
@reported
def stubs(
    server: Annotated[
        str | None, typer.Option("--server", "-s", help="Take the tools of this server alone.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write them to this file; __builtins__.pyi is what editors look for."
        ),
    ] = None,
    config: ConfigOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Write the tools as typed Python functions: what the check before a run knows, for editors and people.

    In a file __builtins__.pyi beside a program, ty and Pyright take them for what the program finds.
    """
    set_up_logging(verbose=verbose, tells_of_servers=True)
    text = asyncio.run(_stubs(read_config(config), server))
    if output is None or str(output) == "-":
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    save(text, output)


async def _stubs(config: Config, server: str | None) -> str:
    names = [one.name for one in config.servers]
    if server is not None and server not in {*names, *OWN}:
        raise ServerNotFoundError(server, names)
    async with opened(config) as gateway:
        with working("Asking the servers for their tools"):
            await gateway.settle(wait_seconds=FIRST_LISTING_SECONDS, behind=False)
        text = await gateway.stubs(server)
        for name, reason in sorted(gateway.unavailable().items()):
            if server in {None, name}:
                note(f"Server {name!r} is not available: {reason}")
    return text
