"""The command line, put together."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from halflap import __version__
from halflap.cli.calling import call
from halflap.cli.demo import demo
from halflap.cli.doctor import doctor
from halflap.cli.inspecting import inspect
from halflap.cli.listing import list_tools
from halflap.cli.output import note, print_json
from halflap.cli.recorded import runs
from halflap.cli.running import run as run_program
from halflap.cli.schemas import schema
from halflap.cli.scripts import scripts
from halflap.cli.searching import search
from halflap.cli.serving import serve
from halflap.cli.trusting import trust

__all__ = ["app", "run"]

app = typer.Typer(
    name="halflap",
    help="One MCP server in front of all your others.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def run() -> None:
    """Run the command that was asked for; a mistake in asking has the same shapes as any other."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A character that the terminal's encoding lacks is no reason to lose the rest.
        sys.stdout.reconfigure(errors="backslashreplace")
    if "--json" not in sys.argv[1:]:
        app()
    try:
        code = app(standalone_mode=False)
    except typer.TyperException as error:
        print_json({"error": True, "code": "usage", "message": error.format_message()})
        sys.exit(error.exit_code)
    except typer.Abort:
        note("Aborted!")
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


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
app.command()(search)
app.command()(inspect)
app.command()(call)
app.add_typer(runs)
app.command(name="run")(run_program)
app.add_typer(scripts)
app.add_typer(schema)
app.command()(trust)
