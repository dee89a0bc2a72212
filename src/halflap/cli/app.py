"""The command line, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from halflap import __version__
from halflap.cli.calling import call
from halflap.cli.demo import demo
from halflap.cli.doctor import doctor
from halflap.cli.inspecting import inspect
from halflap.cli.listing import list_tools
from halflap.cli.serving import serve
from halflap.cli.trusting import trust

__all__ = ["app"]

app = typer.Typer(
    name="halflap",
    help="One MCP server in front of all your others.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"halflap {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    _asked: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """One MCP server in front of all your others."""


app.command()(demo)
app.command()(serve)
app.command()(doctor)
app.command(name="list")(list_tools)
app.command()(inspect)
app.command()(call)
app.command()(trust)
