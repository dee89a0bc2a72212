"""`halflap schema` and `halflap backfill`: what tools return, learned from results and logs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option

from halflap.cli.command import CONFIG_AND_JSON, INTERRUPTED, Invocation, command, group, on_interrupt
from halflap.cli.commands.tools import result_lines
from halflap.cli.options import ToolArgument, YesOption, confirm, read_input, resolve, write_text
from halflap.cli.output import Table, drift_line, note, one_line, outline, print_lines, visible, working
from halflap.core.errors import BackfillError, ShapeError, UsageError
from halflap.core.text import join, plural
from halflap.gateway import Gateway
from halflap.observe import drift_json
from halflap.schema import json_problem, parse_json
from halflap.store import Breach

if TYPE_CHECKING:
    from halflap.backfill import SourceReport, Summary
    from halflap.store import DriftEvent

_MAX_BAD = 20
_MB = 1_000_000
_LEARNED_KEYS = ("outputSchema", "observedSchema", "observations", "confidence", "lastObserved", "drift")

schema = group("schema", "Show, share and forget learned result schemas.")
OptionalTool = Annotated[str | None, Argument(help="Only this tool.")]


@command(schema)
async def show(invocation: Invocation, name: ToolArgument) -> None:
    """Show a tool's declared and learned result schema."""
    async with invocation.gateway() as gateway:
        with working(f"Looking up {one_line(name)}"):
            name = await resolve(gateway, name)
            described = await gateway.inspect(name)
        tool = gateway.snapshot.find(name)
        known = await gateway.learned.of(tool)
    data = {"name": tool.name, **{key: described[key] for key in _LEARNED_KEYS if key in described}}
    data |= {} if known is None else {"texts": known.learned.texts, "errors": known.learned.errors}
    lines = [tool.name, *(f"  {line}" for line in result_lines(described))]
    if known is not None and known.learned.errors:
        lines.append(f"  {plural(known.learned.errors, 'failed call')}")
    invocation.show(data, lines)


@command(schema)
async def drift(invocation: Invocation, name: OptionalTool = None) -> None:
    """List tools whose results changed or break their declared schema."""
    async with invocation.gateway() as gateway:
        wanted = None if name is None else gateway.snapshot.find(await resolve(gateway, name))
        key = () if wanted is None else (wanted.server, wanted.original_name)
        events, breaches = await gateway.learned.drift(*key)
        tools = {(tool.server, tool.original_name): tool for tool in gateway.snapshot.tools.values()}
    found = []
    changes: list[DriftEvent | Breach] = [*events, *breaches]
    for one in changes:
        tool = tools.get((one.server, one.tool))
        (described,) = drift_json([], [one]) if isinstance(one, Breach) else drift_json([one], [])
        is_current = tool is not None and one.definition_hash in {tool.schema_hash, ""}
        full = f"{one.server}.{one.tool}" if tool is None else tool.name
        found.append({"tool": full, **described, "current": is_current})
    invocation.show(found, Table(["tool", "change"], [(one["tool"], drift_line(one)) for one in found]))
    if not found:
        note("No drift found.")


@command(schema)
async def forget(
    invocation: Invocation,
    name: OptionalTool = None,
    server: Annotated[str | None, Option("--server", "-s", help="All tools of this server.")] = None,
    origin: Annotated[
        str | None, Option(help="Only what was learned live, by backfill or by import.")
    ] = None,
    yes: YesOption = False,
) -> None:
    """Forget what was learned about a tool or server, or from an origin."""
    if name is None and server is None and origin is None:
        raise UsageError("Name a tool, or use --server or --origin.")
    if name is not None and server is not None:
        raise UsageError("Use a tool's name or --server, not both.")
    what = name or (f"the tools of {server}" if server is not None else "all tools")
    source = "" if origin is None else f" from {origin}"
    question = f"Forget what was learned about {visible(what)}{visible(source)}?"
    config = invocation.config()
    confirm(question, "Nothing was forgotten.", yes=yes)
    async with invocation.gateway(config) as gateway:
        if name is None:
            removed = await gateway.learned.forget(server, origin=origin)
        else:
            tool = gateway.snapshot.find(await resolve(gateway, name))
            removed = await gateway.learned.forget(tool.server, tool.original_name, origin=origin)
    forgotten = [
        {"server": key.server, "tool": key.tool, "definition": key.definition_hash or None, "origin": one}
        for one, key in removed
    ]
    count = plural(len({key[:2] for _, key in removed}), "tool")
    message = f"Forgot what was learned about {count}." if removed else "There was nothing to forget."
    invocation.report({"forgotten": forgotten}, message)


@command(schema, "export", shared=("config", "verbose"))
async def export_learned(
    invocation: Invocation,
    file: Annotated[Path | None, Argument(help="By default stdout.")] = None,
) -> None:
    """Export what was learned, for another gateway.

    The export has the names of servers, tools and fields and the values of tag fields; with `learning.values`, other
    values as well.
    """
    async with invocation.gateway() as gateway:
        data = await gateway.learned.export()
    write_text(json.dumps(data, ensure_ascii=False, separators=(",", ":")), file)


@command(schema, "import")
async def import_learned(
    invocation: Invocation,
    file: Annotated[Path, Argument(help="From `halflap schema export`, or - for stdin.")],
) -> None:
    """Import what another gateway learned.

    Importing the same file again changes nothing.
    """
    config, text = invocation.config(), read_input(file)
    try:
        data = parse_json(text.decode("utf-8-sig"))
    except ValueError as error:
        raise ShapeError(f"{file} can't be read: {json_problem(error)}. Nothing was imported.") from None
    except RecursionError:
        raise ShapeError(f"{file} is nested too deeply. Nothing was imported.") from None
    async with invocation.gateway(config) as gateway:
        imported = await gateway.learned.import_from(data)
    shapes = [(key, shape) for each in imported.shapes.values() for key, shape in each.items()]
    counts = {
        "tools": len({(key.server, key.tool) for key, _ in shapes}),
        "origins": len(imported.shapes),
        "observations": sum(shape.observations for _, shape in shapes),
        "new": imported.new,
        "own": imported.own,
    }
    found = f"{plural(counts['observations'], 'result')} of {plural(counts['tools'], 'tool')}"
    new = f"Imported {found}, {imported.new} of them new." if imported.new else f"Nothing new in {found}."
    own = f" {plural(imported.own, 'part')} came from this gateway itself." if imported.own else ""
    invocation.report(counts, new + own)


@command(shared=CONFIG_AND_JSON)
async def backfill(
    invocation: Invocation,
    sources: Annotated[
        list[str],
        Argument(metavar="SOURCE…", help="Files or folders, - for stdin, or store: for own records."),
    ],
    server: Annotated[
        str | None, Option("--server", "-s", help="The server of tools that name none.")
    ] = None,
    jobs: Annotated[int | None, Option("--jobs", "-j", min=1, max=1024, help="Number of processes.")] = None,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show what would be learned, and store nothing.")
    ] = False,
) -> None:
    """Learn from logs what tools return.

    Reads traces, conversations with models, and MCP messages.
    """
    if server is not None and not server.strip():
        raise UsageError("--server needs the name of a server.")
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
        # A missing --server is wrong usage.
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
            "sources read before": summary.count("known") or None,
            "servers not configured yet": unknown,
        }
    )
    if summary.is_stopped and not summary.count("refused"):
        kept = "" if summary.dry_run else " What was learned is stored; run the command again to continue."
        yield f"Interrupted.{kept}"


def _remarks(source: SourceReport) -> Iterator[str]:
    """Yield remarks about a source; each follows its name."""
    found = source.found
    yield from (f":{bad.line}: {visible(bad.reason)}" for bad in found.bad[:_MAX_BAD])
    if found.bad_count > _MAX_BAD:
        yield f": {found.bad_count - _MAX_BAD:,} more lines could not be read."
    if found.other:
        yield f": {plural(found.other, 'line')} in an unknown format, first in line {found.first_other}."
    if found.unpaired:
        yield f": {found.unpaired:,} calls without a result, or the reverse, were skipped."
    if found.nameless and found.observations:
        tools = join(map(visible, found.nameless_tools), limit=5)
        yield f": {plural(found.nameless, 'result')} of tools without a server skipped: {tools}."
    yield from (f": {text}" for text in source.notes)
    if source.problem is not None:
        failed = source.state in {"failed", "refused"}
        yield f": {f'Error [{BackfillError.code}]: ' if failed else ''}{visible(source.problem)}"
