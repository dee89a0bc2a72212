"""`halflap lint`."""

from __future__ import annotations

import asyncio
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.lint_text import show_drafts, show_report
from halflap.cli.options import ConfigOption, JsonOption, VerboseOption, opened, read_config
from halflap.cli.output import data_console, note, one_line, print_json, reported
from halflap.cli.progress import working
from halflap.core.errors import UsageError
from halflap.gateway import NO_SERVER_TODO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.config import Config
    from halflap.lint import LintServer, Report

__all__ = ["lint"]

_LARGEST = 64 * 1024 * 1024
_PIPED = "tools"
"""The name of a server from stdin."""
_NO_TOOLS_TODO = "`halflap list` shows what servers list; a file has what `tools/list` answered."


class FailOn(StrEnum):
    """The lowest severity that makes the exit code 1."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    NEVER = "never"


@reported
def lint(
    servers: Annotated[
        list[str] | None, typer.Argument(help="Only these servers.", show_default=False)
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", help="Definitions in a file, instead of live servers; - for stdin."),
    ] = None,
    suggest: Annotated[
        bool, typer.Option("--suggest", help="Draft missing output schemas from observed results.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", "-a", help="Show every finding with its fix.")] = False,
    show_ignored: Annotated[bool, typer.Option("--show-ignored", help="Include ignored findings.")] = False,
    fail_on: Annotated[
        FailOn | None,
        typer.Option("--fail-on", help="Override lint.fail_on.", show_default=False),
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Lint MCP servers for problems that make their tools hard to compose.

    The exit code is 1 if there is an error, or a server can't be reached; --fail-on makes it stricter.
    """
    if file is not None and suggest:
        raise UsageError(
            "--suggest and --file exclude each other: what results showed is known of live servers alone."
        )
    settings = read_config(config)
    unavailable: Mapping[str, str] = {}
    if file is not None:
        report, read = _from_file(file, servers or [], settings)
    else:
        report, read, unavailable = asyncio.run(_live(settings, servers or []))
    if report.servers and not unavailable and not any(one.tools for one in report.servers):
        whose = ", ".join(one_line(one.server, 80) for one in report.servers[:20])
        if file is not None and str(file) == "-":
            whose = "standard input" if whose == _PIPED else f"{whose} of standard input"
        raise UsageError(f"There are no tools in {whose}, so nothing was looked at. {_NO_TOOLS_TODO}")
    if not report.servers and not unavailable:
        raise UsageError(
            f"No server is configured and enabled, so nothing was looked at. {NO_SERVER_TODO} A file of definitions can be "
            "passed with --file."
        )
    if suggest:
        _suggest(read, as_json=as_json)
    elif as_json:
        print_json({**report.to_json(), "unavailable": dict(unavailable)})
    else:
        show_report(report, data_console(), everything=everything, ignored=show_ignored)
    for name, reason in sorted(unavailable.items()):
        note(f"Server {name!r} is not available: {reason}")
    if unavailable or (not suggest and report.fails(fail_on or settings.lint.fail_on)):
        raise typer.Exit(1)


async def _live(
    config: Config, servers: Sequence[str]
) -> tuple[Report, Sequence[LintServer], Mapping[str, str]]:
    async with opened(config) as gateway:
        with working("Asking the servers for their tools"):
            # What was noticed of their listings is logged as they come.
            linted = await gateway.lint(servers)
        return linted.report, linted.servers, linted.unavailable


def _from_file(file: Path, wanted: Sequence[str], config: Config) -> tuple[Report, Sequence[LintServer]]:
    from halflap.lint import lint as apply
    from halflap.lint import read_definitions

    source = "Standard input" if str(file) == "-" else str(file)
    read = read_definitions(_text_of(file, source), _PIPED if str(file) == "-" else file.stem, source)
    names = [one.name for one in read]
    for name in wanted:
        if name not in names:
            shown = ", ".join(one_line(one, 80) for one in names[:20])
            more = f", and {len(names) - 20} more" if len(names) > 20 else ""  # noqa: PLR2004 -- as above
            raise UsageError(f"{source} has no server named {name!r}. It has: {shown}{more}.")
    chosen = [one for one in read if not wanted or one.name in wanted]
    return apply(chosen, config.lint), chosen


def _text_of(file: Path, source: str) -> str:
    try:
        if str(file) == "-":
            data = sys.stdin.buffer.read(_LARGEST + 1)
        else:
            with file.open("rb") as opened_file:
                data = opened_file.read(_LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name is not valid"
        raise UsageError(f"{source} cannot be read: {reason}.") from None
    if len(data) > _LARGEST:
        raise UsageError(f"{source} is larger than {_LARGEST >> 20} MB.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{source} is not UTF-8: byte {error.start + 1} cannot be read.") from None


def _suggest(servers: Sequence[LintServer], *, as_json: bool) -> None:
    from halflap.lint import drafts_of

    drafts = [draft for server in servers for draft in drafts_of(server)]
    if as_json:
        told: list[dict[str, Any]] = [one.to_json() for one in drafts]
        print_json({"suggestions": told})
    else:
        show_drafts(drafts)
