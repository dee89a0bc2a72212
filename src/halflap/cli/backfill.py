"""`halflap backfill`."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING, Annotated

import typer

from halflap.cli.options import ConfigOption, JsonOption, read_config
from halflap.cli.output import note, plural, print_json, print_lines, print_table, reported, visible
from halflap.cli.progress import advancing
from halflap.core.errors import BackfillError, UsageError
from halflap.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.backfill import SourceReport, Summary
    from halflap.config import Config

__all__ = ["backfill"]

_MOST_BAD = 20
_MOST_TOOLS = 40
_INTERRUPTED = 130
_MB = 1_000_000


@reported
def backfill(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE…",
            help="Files, folders or patterns; - for stdin; store for Halflap's own records.",
        ),
    ],
    server: Annotated[
        str | None,
        typer.Option(
            "--server",
            "-s",
            metavar="NAME",
            help="The server of tools that a log names without one.",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            max=1024,
            help="Number of processes; by default the number of cores.",
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first line that can't be read.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what would be learned; store nothing."),
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn what tools return from logs: traces, conversations with models, MCP messages."""
    if server is not None and not server.strip():
        raise UsageError("--server is empty. Give the name of a server, as in `halflap list`.")
    summary = asyncio.run(
        _backfill(read_config(config), sources, server, jobs, strict=strict, dry_run=dry_run)
    )
    if as_json:
        print_json(summary.to_json())
    else:
        _show(summary)
    if summary.is_stopped and not summary.count("refused"):
        raise typer.Exit(_INTERRUPTED)
    if summary.count("refused", "failed"):
        raise typer.Exit(2 if _lacks_server_alone(summary) else 1)


def _lacks_server_alone(summary: Summary) -> bool:
    """Return whether the only problem is that --server is missing."""
    troubled = [source for source in summary.sources if source.state in {"refused", "failed"}]
    return all(source.found.nameless and not source.found.observations for source in troubled)


async def _backfill(
    config: Config,
    sources: Sequence[str],
    server: str | None,
    jobs: int | None,
    *,
    strict: bool,
    dry_run: bool,
) -> Summary:
    async with Gateway.open(config) as gateway:
        with advancing("Reading") as told:
            work = await gateway.learned.backfill(
                server, jobs=jobs, strict=strict, dry_run=dry_run, progress=told
            )
            loop = asyncio.get_running_loop()

            def interrupt() -> None:
                work.stop()
                # A second Ctrl-C ends it at once.
                loop.remove_signal_handler(signal.SIGINT)

            with contextlib.suppress(NotImplementedError):  # Windows has no signal handlers.
                loop.add_signal_handler(signal.SIGINT, interrupt)
            try:
                return await work.run(sources)
            finally:
                with contextlib.suppress(NotImplementedError):
                    loop.remove_signal_handler(signal.SIGINT)


def _show(summary: Summary) -> None:
    for source in summary.sources:
        _report(source)
    read = sum(source.found.bytes for source in summary.sources)
    known = summary.count("known")
    rate = read / _MB / max(summary.seconds, 1e-3)
    verb = "Would learn" if summary.dry_run else "Learned"
    what = f"{plural(summary.observations, 'result')} of {plural(len(summary.tools), 'tool')}"
    speed = f"{read / _MB:,.1f} MB in {summary.seconds:,.1f} s, {rate:,.0f} MB/s"
    lines = [
        f"{verb} from {what} ({speed})." if summary.observations else "Nothing new to learn.",
        f"Schemas: {summary.schemas('new')} new, {summary.schemas('changed')} changed.",
    ]
    if summary.drift:
        lines.append(
            f"Drift: {plural(len(summary.drift), 'change')} in settled schemas; see halflap schema drift."
        )
    if known:
        lines.append(f"Already counted: {plural(known, 'source')}.")
    unknown = sorted({tool.server for tool in summary.tools if not tool.is_known})
    if unknown:
        count = sum(not tool.is_known for tool in summary.tools)
        lines.append(
            f"Not in the catalogue: {plural(count, 'tool')} of {_few(unknown)}. What was learned applies once they are."
        )
    if summary.is_stopped and not summary.count("refused"):
        kept = "" if summary.dry_run else " What was done is stored; run the same command to continue."
        lines.append(f"Interrupted.{kept}")
    print_lines(lines)
    _show_tools(summary)


def _show_tools(summary: Summary) -> None:
    if not summary.tools:
        return
    rows = [
        (
            visible(tool.server),
            visible(tool.tool),
            f"{tool.observations:,}",
            "only texts or errors" if tool.schema == "none" else tool.schema,
        )
        for tool in summary.tools[:_MOST_TOOLS]
    ]
    print_table(["server", "tool", "results", "schema"], rows, right={2})
    if len(summary.tools) > _MOST_TOOLS:
        note(f"{len(summary.tools) - _MOST_TOOLS} more; --json lists all.")


def _report(source: SourceReport) -> None:
    name, found = visible(source.name), source.found
    for bad in found.bad[:_MOST_BAD]:
        note(f"{name}:{bad.line}: {visible(bad.reason)}")
    if found.bad_count > _MOST_BAD:
        note(f"{name}: {found.bad_count - _MOST_BAD:,} more lines could not be read.")
    if found.other:
        note(
            f"{name}: {plural(found.other, 'line')} in an unknown format, first in line {found.first_other}."
        )
    if found.unpaired:
        note(f"{name}: {found.unpaired:,} calls without a result or results without a call were skipped.")
    if found.nameless and found.observations:
        note(
            f"{name}: {plural(found.nameless, 'result')} skipped, of tools without a server: "
            f"{_few(found.nameless_tools)}."
        )
    for text in source.notes:
        note(f"{name}: {text}")
    if source.skipped_bytes and source.state not in {"known", "refused"}:
        note(f"{name}: continued after {source.skipped_bytes / _MB:,.1f} MB that were counted before.")
    if source.problem is not None:
        failed = source.state in {"failed", "refused"}
        note(f"{f'Error [{BackfillError.code}]: ' if failed else ''}{name}: {visible(source.problem)}")


def _few(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(visible(name) for name in names[:most])
    return f"{shown} and others" if len(names) > most else shown
