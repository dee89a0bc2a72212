"""The command line, put together."""

from __future__ import annotations

import sys
from importlib import import_module
from io import StringIO, TextIOWrapper
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from halflap import __version__
from halflap.cli.output import nobody_reads, note, print_json, stop_writing
from halflap.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["COMMANDS", "app", "run"]

COMMANDS = {
    "demo": "demo.demo",
    "init": "clients.init",
    "install": "clients.install",
    "serve": "serving.serve",
    "doctor": "doctor.doctor",
    "list": "listing.list_tools",
    "search": "searching.search",
    "inspect": "inspecting.inspect",
    "call": "calling.call",
    "run": "running.run",
    "trust": "trusting.trust",
    "runs": "recorded.runs",
    "scripts": "scripts.scripts",
    "programs": "programs.programs",
    "schema": "schemas.schema",
    "graph": "graphs.graph",
    "suggest": "suggesting.suggest",
    "workflow": "workflows.workflow",
    "lint": "linting.lint",
    "backfill": "backfilling.backfill",
    "explain": "explaining.explain",
}
"""Where each command is, a function or an app of several, in the order in which they are shown."""


_WHOLE = 10_000


class _Group(TyperGroup):
    """Commands whose summaries are shown whole, over several lines where they must: the library cuts each at one."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, one.get_short_help_str(_WHOLE)) for name, one in found if one and not one.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class _Commands(_Group):
    """The commands, each loaded when it is asked for: one does not wait for what another needs."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 -- the library passes it
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | TyperGroup | None:
        if cmd_name not in COMMANDS:
            # All of them, for the library to suggest the one that was meant.
            for name in COMMANDS:
                self.get_command(ctx, name)
            return None
        if cmd_name not in self.commands:
            self.add_command(_loaded(cmd_name), cmd_name)
        found = self.commands[cmd_name]
        assert isinstance(found, TyperCommand | TyperGroup)
        return found


def _loaded(name: str) -> TyperCommand | TyperGroup:
    module, _, attribute = COMMANDS[name].partition(".")
    found: typer.Typer | Callable[..., Any] = getattr(import_module(f"halflap.cli.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        alone.command(name=name)(found)
        found = alone
    else:
        found.info.cls = _Group
    command = get_command(found)
    assert isinstance(command, TyperCommand | TyperGroup)
    return command


app = typer.Typer(
    name="halflap",
    cls=_Commands,
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
    try:
        code = app(standalone_mode=False)
    except typer.TyperException as error:
        if "--json" in sys.argv[1:]:
            print_json({"error": True, "code": UsageError.code, "message": error.format_message()})
        else:
            _tell(error)
        code = error.exit_code
    except typer.Abort:
        note("Aborted!")
        code = 1
    except SystemExit:
        # The library takes a reader who has seen enough for a failure.
        if not nobody_reads():
            raise
        stop_writing()
        code = 0
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        stop_writing()
    sys.exit(code if isinstance(code, int) else 0)


def _tell(error: typer.TyperException) -> None:
    """Say what the library says of a mistake in asking, with the code that all such mistakes have."""
    told = StringIO()
    # Of these the library shows the usage, too; of others, it says nothing itself.
    show = getattr(error, "show", None)
    if show is None:
        told.write(f"Error: {error.format_message()}\n")
    else:
        show(told)
    usage, found, message = told.getvalue().rpartition("Error: ")
    sys.stderr.write(f"{usage}Error [{UsageError.code}]: {message}" if found else told.getvalue())
    sys.stderr.flush()


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
