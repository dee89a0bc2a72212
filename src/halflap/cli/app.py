"""The command line: which command is in which module, and how usage errors are reported."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from halflap import __version__
from halflap.cli.output import note, print_json, stop_writing
from halflap.core.errors import UsageError

COMMANDS = {
    "demo": "demo.demo",
    "init": "commands.clients.init",
    "install": "commands.clients.install",
    "add": "commands.servers.add",
    "remove": "commands.servers.remove",
    "enable": "commands.servers.enable",
    "disable": "commands.servers.disable",
    "trust": "commands.servers.trust",
    "login": "commands.servers.login",
    "logout": "commands.servers.logout",
    "serve": "commands.serve.serve",
    "token": "commands.tokens.token",
    "web": "commands.serve.web",
    "doctor": "commands.doctor.doctor",
    "list": "commands.tools.list_tools",
    "search": "commands.tools.search",
    "inspect": "commands.tools.inspect",
    "call": "commands.tools.call",
    "run": "commands.run.run",
    "runs": "commands.runs.runs",
    "scripts": "commands.run.scripts",
    "schema": "commands.schema.schema",
    "graph": "commands.graph.graph",
    "suggest": "commands.graph.suggest",
    "workflow": "commands.workflow_run.workflow",
    "programs": "commands.dspy_programs.programs",
    "lint": "commands.lint.lint",
    "backfill": "commands.schema.backfill",
    "explain": "commands.doctor.explain",
}
"""Module and attribute of each command, in the order of the help."""


class _Commands(TyperGroup):
    """Imports each command only when it is used."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 -- the library passes it
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> TyperCommand | TyperGroup | None:
        if cmd_name not in COMMANDS:
            # Load all, so that typer can suggest a similar one.
            for name in COMMANDS:
                self.get_command(ctx, name)
            return None
        if cmd_name not in self.commands:
            self.add_command(_loaded(cmd_name), cmd_name)
        found = self.commands[cmd_name]
        assert isinstance(found, TyperCommand | TyperGroup)
        return found


def _loaded(name: str) -> TyperCommand | TyperGroup:
    module, _, attribute = COMMANDS[name].rpartition(".")
    found: typer.Typer | Callable[..., Any] = getattr(import_module(f"halflap.cli.{module}"), attribute)
    if not isinstance(found, typer.Typer):
        alone = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        alone.command(name=name)(found)
        found = alone
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
    """Run a command; report usage errors like all others."""
    if isinstance(sys.stdout, TextIOWrapper):
        # Escape characters that the terminal's encoding lacks.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = app(prog_name="halflap", standalone_mode=False)
    except typer.TyperException as error:
        _report_usage_error(error)
        code = error.exit_code
    except typer.Abort:
        note("Aborted!")
        code = 1
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        stop_writing()
    sys.exit(code if isinstance(code, int) else 0)


def _report_usage_error(error: typer.TyperException) -> None:
    context = getattr(error, "ctx", None)
    message = error.format_message().replace("Value error, ", "")
    if "--json" in sys.argv[1:]:
        print_json({"error": True, "code": UsageError.code, "message": message})
    elif context is not None and message == context.get_help():
        # Called without a command.
        note(message)
    else:
        usage = "" if context is None else f"{context.get_usage()}\n"
        note(f"{usage}Error [{UsageError.code}]: {message}")


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
