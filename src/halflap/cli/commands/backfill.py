"""`halflap backfill`: learn from logs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option

from halflap.cli.command import INTERRUPTED, Invocation, command, on_interrupt
from halflap.cli.output import Table, note, outline, print_lines, visible, working
from halflap.core.errors import BackfillError, UsageError
from halflap.core.text import join, plural
from halflap.gateway import Gateway

if TYPE_CHECKING:
    from halflap.backfill import SourceReport, Summary

_MAX_BAD = 20
_MB = 1_000_000


@command(shared=("config", "json"))
async def backfill(
    invocation: Invocation,
    sources: Annotated[
        list[str],
        Argument(
            metavar="SOURCE…",
            help="Files, folders or patterns; - for stdin; store for Halflap's own records.",
        ),
    ],
    server: Annotated[
        str | None,
        Option("--server", "-s", metavar="NAME", help="The server of tools that a log names without one."),
    ] = None,
    jobs: Annotated[
        int | None,
        Option("--jobs", "-j", min=1, max=1024, help="Number of processes; by default the number of cores."),
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Show what would be learned; store nothing.")] = False,
) -> None:
    """Learn what tools return from logs.

    Reads traces, conversations with models, and MCP messages.
    """
    if server is not None and not server.strip():
        raise UsageError("--server is empty. Give the name of a server, as in `halflap list`.")
    async with Gateway.open(invocation.config()) as gateway:
        with working("Reading") as update:
            work = await gateway.learned.backfill(
                server,
                jobs=jobs,
                dry_run=dry_run,
                progress=lambda done, total: update(f"Reading, {100 * done // max(total, 1)} %"),
            )
            with on_interrupt(work.stop):
                summary = await work.run(sources)
    for source in () if invocation.as_json else summary.sources:
        for line in _remarks(source):
            note(f"{visible(source.name)}{line}")
    invocation.show(summary.to_json(), _lines(summary))
    if summary.tools and not invocation.as_json:
        print_lines([""])
        rows = (
            (visible(one.server), visible(one.tool), f"{one.observations:,}", one.schema)
            for one in summary.tools
        )
        Table(["server", "tool", "results", "schema"], rows, right={2}).print()
    troubled = [source for source in summary.sources if source.state in {"refused", "failed"}]
    if summary.is_stopped and not summary.count("refused"):
        raise Exit(INTERRUPTED)
    if troubled:
        # Wrong usage if the only problem is that --server is missing.
        lacks_server = all(one.found.nameless and not one.found.observations for one in troubled)
        raise Exit(2 if lacks_server else 1)


def _lines(summary: Summary) -> Iterator[str]:
    read = sum(source.found.bytes for source in summary.sources) / _MB
    what = f"{plural(summary.observations, 'result')} of {plural(len(summary.tools), 'tool')}"
    verb = "Would learn" if summary.dry_run else "Learned"
    speed = f"{read:,.1f} MB in {summary.seconds:,.1f} s"
    yield f"{verb} from {what} ({speed})." if summary.observations else "Nothing new to learn."
    unknown = sorted({visible(tool.server) for tool in summary.tools if not tool.is_known})
    yield from outline(
        {
            "new schemas": summary.schemas("new"),
            "changed schemas": summary.schemas("changed"),
            "drift": f"{len(summary.drift)}, see halflap schema drift" if summary.drift else None,
            "sources counted before": summary.count("known") or None,
            "servers not configured yet": unknown,
        }
    )
    if summary.is_stopped and not summary.count("refused"):
        kept = "" if summary.dry_run else " What was done is stored; run the same command to continue."
        yield f"Interrupted.{kept}"


def _remarks(source: SourceReport) -> Iterator[str]:
    """Yield what a person should know about a source; each follows its name."""
    found = source.found
    yield from (f":{bad.line}: {visible(bad.reason)}" for bad in found.bad[:_MAX_BAD])
    if found.bad_count > _MAX_BAD:
        yield f": {found.bad_count - _MAX_BAD:,} more lines could not be read."
    if found.other:
        yield f": {plural(found.other, 'line')} in an unknown format, first in line {found.first_other}."
    if found.unpaired:
        yield f": {found.unpaired:,} calls without a result or results without a call were skipped."
    if found.nameless and found.observations:
        tools = join(map(visible, found.nameless_tools), limit=5)
        yield f": {plural(found.nameless, 'result')} of tools without a server skipped: {tools}."
    yield from (f": {text}" for text in source.notes)
    if source.problem is not None:
        failed = source.state in {"failed", "refused"}
        yield f": {f'Error [{BackfillError.code}]: ' if failed else ''}{visible(source.problem)}"
