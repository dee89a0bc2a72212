"""`halflap schema`: show, share and forget what is known about tools' results."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.options import (
    ConfigOption,
    JsonOption,
    ServerOption,
    ToolArgument,
    VerboseOption,
    YesOption,
    check_server,
    confirm,
    opened,
    read_at_most,
    read_config,
    resolve,
    save,
    tool_names,
)
from halflap.cli.output import (
    note,
    one_line,
    plural,
    print_json,
    print_lines,
    print_table,
    reported,
    visible,
    write,
)
from halflap.cli.progress import working
from halflap.cli.schema_text import field_rows, history_lines, learned_schema, summary_lines, versions
from halflap.cli.tools import drift_line, warn_about_servers
from halflap.core.errors import FileError, ShapeBrokenError, ToolNotFoundError, UsageError

if TYPE_CHECKING:
    from halflap.config import Config
    from halflap.core.values import Tool
    from halflap.gateway import Gateway
    from halflap.store import Breach, DriftEvent, ToolKey

__all__ = ["schema"]

_MAX_IMPORT = 256 * 1024 * 1024
_MAX_DEPTH = 8
_MAX_FIELDS = 300
_MAX_TEXT = 100

schema = typer.Typer(
    name="schema",
    help="Show, share and forget what is known about tools' parameters and results.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
OptionalTool = Annotated[
    str | None, typer.Argument(help="Only this tool.", autocompletion=tool_names, show_default=False)
]


@schema.callback()
def _schema() -> None:
    """Show, share and forget what is known about tools' parameters and results."""


@schema.command()
@reported
def show(
    name: ToolArgument,
    history: Annotated[
        bool, typer.Option("--history", help="Include earlier definitions of the tool.")
    ] = False,
    python: Annotated[bool, typer.Option("--python", help="Show a typed Python function.")] = False,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Show the learned JSON Schema, with counts.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Show what a tool returns: declared, learned, and how certain that is."""
    if sum((history, python, json_schema)) > 1:
        raise UsageError("Use one of --history, --python and --json-schema.")
    form = "history" if history else "python" if python else "schema" if json_schema else ""
    asyncio.run(_show(read_config(config), name, form, as_json=as_json))


async def _show(config: Config, name: str, form: str, *, as_json: bool) -> None:
    async with opened(config) as gateway:
        with working(f"Looking up {one_line(name)}"):
            name = await resolve(gateway, name)
            described = await _inspected(gateway, name)
        tool = gateway.snapshot.find(name)
        if form == "python":
            write((await gateway.stubs(name=name)).rstrip("\n") + "\n")
            return
        known = await gateway.known(tool)
        if form == "schema":
            if known is None:
                note(f"Nothing was learned about {one_line(name)} yet.")
                raise typer.Exit(1)
            write(json.dumps(learned_schema(known, enums=config.learning.values), indent=2) + "\n")
            return
        rows = await gateway.learned_rows(tool.server, tool.original_name)
    if as_json:
        keys = ("outputSchema", "observedSchema", "observations", "confidence", "lastObserved", "drift")
        data = {"name": tool.name, **{key: described[key] for key in keys if key in described}}
        data |= {} if known is None else {"texts": known.texts, "errors": known.errors}
        print_json({**data, **({"history": versions(tool, rows)} if form == "history" else {})})
    elif form == "history":
        print_lines(history_lines(tool, rows))
    else:
        print_lines(summary_lines(described, known))
        fields = field_rows(tool, known)
        print_table(
            ["field", "type", "seen", "known"], [(path or "(result)", *more) for path, *more in fields]
        )


async def _inspected(gateway: Gateway, name: str) -> dict[str, Any]:
    try:
        return await gateway.inspect(name)
    except ToolNotFoundError:
        rows = await gateway.unlisted(name)
        if not rows:
            raise
        results = sum(row.learned.observations for row in rows)
        raise UsageError(
            f"No server lists {name}, but {plural(results, 'result')} of it are known. Configure its server "
            f"{rows[0].server!r} and run `halflap list`, or drop them with `halflap schema forget`."
        ) from None


@schema.command()
@reported
def drift(
    name: OptionalTool = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """List tools whose results changed, or break their declared schema."""
    found = asyncio.run(_drift(read_config(config), name))
    if as_json:
        print_json(found)
    elif found:
        print_table(
            ["since", "tool", "change"],
            [(one["since"] or "in logs", one["tool"], drift_line(one)) for one in found],
        )
    else:
        note("No drift found.")


async def _drift(config: Config, name: str | None) -> list[dict[str, Any]]:
    async with opened(config) as gateway:
        tools = gateway.snapshot.tools
        wanted = None if name is None else gateway.snapshot.find(await resolve(gateway, name))
        key = () if wanted is None else (wanted.server, wanted.original_name)
        events, breaches = await gateway.drift(*key)
        names = {(tool.server, tool.original_name): tool for tool in tools.values()}
        found: list[DriftEvent | Breach] = [*events, *breaches]
        return [_drift_json(one, names.get((one.server, one.tool))) for one in found]


def _drift_json(one: DriftEvent | Breach, tool: Tool | None) -> dict[str, Any]:
    from halflap.observe import drift_json  # noqa: PLC0415 -- only this command needs it
    from halflap.store import Breach  # noqa: PLC0415

    (told,) = drift_json([], [one]) if isinstance(one, Breach) else drift_json([one], [])
    return {
        "tool": f"{one.server}.{one.tool}" if tool is None else tool.name,
        **told,
        "current": tool is not None and one.definition_hash in {tool.schema_hash, ""},
    }


@schema.command()
@reported
def forget(
    name: OptionalTool = None,
    server: Annotated[
        str | None, typer.Option("--server", "-s", help="All tools of this server, configured or not.")
    ] = None,
    origin: Annotated[
        str | None,
        typer.Option("--origin", help="Only what came from live, backfill, import, or as --history shows."),
    ] = None,
    yes: YesOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Forget what was learned about a tool, a server, or from an origin."""
    if name is None and server is None and origin is None:
        raise UsageError("Name a tool, or use --server or --origin.")
    if name is not None and server is not None:
        raise UsageError("Use a tool's name or --server, not both.")
    settings = read_config(config)
    what = name or (f"the tools of {server}" if server is not None else "all tools")
    source = "" if origin is None else f" from {origin}"
    confirm(
        f"Forget what was learned about {visible(what)}{visible(source)}?", "Nothing was forgotten.", yes=yes
    )
    gone = asyncio.run(_forget(settings, name, server, origin))
    if as_json:
        print_json(
            {
                "forgotten": [
                    {
                        "server": key.server,
                        "tool": key.tool,
                        "definition": key.definition_hash or None,
                        "origin": one,
                    }
                    for one, key in gone
                ]
            }
        )
        return
    tools = len({key[:2] for _, key in gone})
    note(
        f"Forgot what was learned about {plural(tools, 'tool')}." if gone else "There was nothing to forget."
    )


async def _forget(
    config: Config, name: str | None, server: str | None, origin: str | None
) -> Sequence[tuple[str, ToolKey]]:
    async with opened(config) as gateway:
        if name is None:
            return await gateway.forget_learned(server, origin=origin)
        name = await resolve(gateway, name)
        tool = gateway.snapshot.tools.get(name)
        tools = {(tool.server, tool.original_name)} if tool is not None else set()
        # Logs may have taught something about a tool before its server was listed.
        tools = tools or {row.key[:2] for row in await gateway.unlisted(name)}
        if not tools:
            gateway.snapshot.find(name)
        gone: list[tuple[str, ToolKey]] = []
        for key in sorted(tools):
            gone += await gateway.forget_learned(*key, origin=origin)
        return gone


@schema.command(name="export")
@reported
def export_learned(
    file: Annotated[
        Path | None, typer.Argument(help="The file to write; by default stdout.", show_default=False)
    ] = None,
    config: ConfigOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Write what was learned about all tools as JSON, for another gateway to import.

    It contains names of servers, tools and fields, and values of tag fields; with learning.values, other values, too.
    """
    data = asyncio.run(_export(read_config(config)))
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"
    if file is None or str(file) == "-":
        write(text, exact=True)
        return
    try:
        file.write_text(text, encoding="utf-8", errors="surrogatepass")
    except OSError as error:
        raise FileError(
            f"{file} can't be written: {error.strerror}. Name a file that you may write."
        ) from None
    count = len({(one["server"], one["tool"]) for one in data["learned"]})
    note(f"Wrote what was learned about {plural(count, 'tool')} to {file}.")


async def _export(config: Config) -> dict[str, Any]:
    async with opened(config) as gateway:
        return await gateway.export_learned()


@schema.command(name="import")
@reported
def import_learned(
    file: Annotated[Path, typer.Argument(help="A file from `halflap schema export`, or - for stdin.")],
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Import what another gateway learned. Importing it again changes nothing."""
    asyncio.run(_import(read_config(config), _read_export(file), as_json=as_json))


async def _import(config: Config, data: Any, *, as_json: bool) -> None:
    async with opened(config) as gateway:
        imported = await gateway.import_learned(data)
    shapes = [(key, shape) for each in imported.shapes.values() for key, shape in each.items()]
    tools = len({(key.server, key.tool) for key, _ in shapes})
    results = sum(shape.observations for _, shape in shapes)
    if as_json:
        print_json(
            {
                "tools": tools,
                "origins": len(imported.shapes),
                "observations": results,
                "new": imported.new,
                "own": imported.own,
            }
        )
        return
    found = f"{plural(results, 'result')} of {plural(tools, 'tool')}"
    note(f"Imported {found}, {imported.new} of them new." if imported.new else f"Nothing new in {found}.")
    if imported.own:
        note(f"{plural(imported.own, 'part')} came from this gateway, and count already.")


def _read_export(file: Path) -> Any:
    from halflap.schema import json_problem, parse_json  # noqa: PLC0415 -- only this command needs it

    data = read_at_most(file, _MAX_IMPORT, str(file), f"{_MAX_IMPORT // 2**20} MiB.")
    try:
        return parse_json(data.decode("utf-8-sig"))
    except ValueError as error:
        raise ShapeBrokenError(
            f"{file} can't be read: {json_problem(error)}. Nothing was imported."
        ) from None
    except RecursionError:
        raise ShapeBrokenError(f"{file} is nested too deeply. Nothing was imported.") from None


@schema.command()
@reported
def stubs(
    server: ServerOption = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write them to this file; editors look for __builtins__.pyi."),
    ] = None,
    config: ConfigOption = None,
    verbose: VerboseOption = False,
) -> None:
    """Write the tools as typed Python functions, as the check before a run sees them.

    In a file __builtins__.pyi next to a program, ty and Pyright use them.
    """
    text = asyncio.run(_stubs(read_config(config), server))
    if output is None or str(output) == "-":
        write(text)
    else:
        save(text, output)


async def _stubs(config: Config, server: str | None) -> str:
    check_server(config, server)
    async with opened(config) as gateway:
        with working("Listing the servers' tools"):
            await gateway.settle(behind=False)
        warn_about_servers(gateway, server)
        return await gateway.stubs(server)
