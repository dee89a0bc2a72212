"""`halflap list`, `search`, `inspect` and `call`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.options import (
    ArgumentsOption,
    ConfigOption,
    JsonArgumentsOption,
    JsonOption,
    LimitOption,
    ServerOption,
    ToolArgument,
    VerboseOption,
    arguments_of,
    check_server,
    json_object,
    opened,
    read_config,
    resolve,
)
from halflap.cli.output import (
    harmless,
    note,
    one_line,
    plural,
    print_json,
    print_lines,
    print_table,
    reported,
    write,
)
from halflap.cli.progress import working
from halflap.core.text import clean
from halflap.core.values import DSPY, SCRIPTS, CallContext
from halflap.gateway import NO_SERVER_TODO

if TYPE_CHECKING:
    from halflap.catalog import Hit
    from halflap.config import Config
    from halflap.core.codes import OtherCode
    from halflap.core.values import Result
    from halflap.gateway import Gateway
    from halflap.schema import ToolSchema

__all__ = ["call", "drift_line", "inspect", "list_tools", "search", "warn_about_servers"]

_MAX_DESCRIPTION = 20_000
_FAILED: OtherCode = "tool-error"


@reported
def list_tools(
    config: ConfigOption = None,
    server: ServerOption = None,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Include tools that can't be called, with the reason.")
    ] = False,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask every server again, and report what changed.")
    ] = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """List the tools of all servers.

    The list is cached; only servers that were never listed are started.
    """
    asyncio.run(_list(read_config(config), server, everything=everything, refresh=refresh, as_json=as_json))


async def _list(
    config: Config, server: str | None, *, everything: bool, refresh: bool, as_json: bool
) -> None:
    check_server(config, server)
    async with opened(config) as gateway:
        with working("Listing the servers' tools"):
            changes = await gateway.refresh() if refresh else None
            if changes is None:
                await gateway.settle(behind=False)
        rows = _rows(gateway, server, everything=everything)
        broken = {SCRIPTS: (await gateway.scripts.shelf()).broken}
        broken[DSPY] = await (await gateway.dspy()).broken() if config.uses_programs else {}
        warn_about_servers(gateway, server)
    if as_json:
        print_json(rows)
    else:
        print_table(
            ["tool", "description"],
            [(row["name"], _mark(row) + one_line(row["description"])) for row in rows],
        )
        if sys.stdout.isatty():
            note(f"{plural(len(rows), 'tool')}, {plural(len({row['server'] for row in rows}), 'server')}")
    for source, word in ((SCRIPTS, "Script"), (DSPY, "DSPy program")):
        for name, reason in broken[source].items() if server in {None, source} else ():
            note(f"{word} {name!r} can't be used: {reason}")
    for word in ("added", "removed", "changed") if changes is not None else ():
        if found := getattr(changes, word):
            note(f"{word}: {', '.join(found)}")
    if not config.servers:
        note(f"No server is configured yet. {NO_SERVER_TODO}")


def warn_about_servers(gateway: Gateway, server: str | None = None) -> None:
    for name, reason in sorted(gateway.unavailable().items()):
        if server in {None, name}:
            note(f"Server {name!r} is not available: {reason}")


def _rows(gateway: Gateway, server: str | None, *, everything: bool) -> list[dict[str, Any]]:
    snapshot, unavailable = gateway.snapshot, gateway.unavailable()
    rows = []
    for name in sorted(snapshot.tools):
        tool = snapshot.tools[name]
        if server is not None and tool.server != server:
            continue
        row: dict[str, Any] = {
            "name": name,
            "description": clean(tool.description, _MAX_DESCRIPTION),
            "server": tool.server,
            "originalName": tool.original_name,
            "available": tool.server not in unavailable,
        }
        if tool.server in unavailable:
            row["unavailable"] = unavailable[tool.server]
        if name in snapshot.changed:
            row["changed"] = list(snapshot.changed[name])
        if name in snapshot.blocked:
            row["blocked"] = snapshot.blocked[name]
        elif name in snapshot.held:
            row["held"] = True
        if everything or not ("blocked" in row or "held" in row):
            rows.append(row)
    return rows


def _mark(row: Mapping[str, Any]) -> str:
    return next((f"[{word}] " for word in ("blocked", "held", "unavailable", "changed") if word in row), "")


@reported
def search(
    query: Annotated[list[str], typer.Argument(help="What the tool should do, or its name.")],
    limit: LimitOption = 10,
    server: ServerOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Find tools by what they do, best first."""
    settings = read_config(config)
    hits = asyncio.run(_search(settings, " ".join(query), limit, server, shown=not as_json))
    if as_json:
        print_json([asdict(hit) for hit in hits])
        return
    for hit in hits:
        print_lines([f"{hit.score:.2f}  {hit.signature}", f"      {hit.description}"])
    if not hits:
        more = f" No server is configured yet. {NO_SERVER_TODO}" if not settings.servers else ""
        note(f"No tool found.{more}")


async def _search(config: Config, query: str, limit: int, server: str | None, *, shown: bool) -> list[Hit]:
    async with opened(config) as gateway:
        with working("Searching"):
            hits = await gateway.search(query, limit=limit, server=server, behind=False)
        if shown and not hits:
            warn_about_servers(gateway, server)
        return hits


@reported
def inspect(
    name: ToolArgument,
    brief: Annotated[bool, typer.Option("--compact", help="Only the signature, in one line.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Show what a tool takes and returns. With --json, the schemas are complete."""
    described, schema = asyncio.run(_inspect(read_config(config), name))
    if as_json:
        print_json({"compact": schema.format_compact()} if brief else described)
    elif brief:
        print_lines([schema.format_compact()])
    else:
        print_lines(_description(described, schema))


async def _inspect(config: Config, name: str) -> tuple[dict[str, Any], ToolSchema]:
    async with opened(config) as gateway:
        with working(f"Looking up {one_line(name)}"):
            full = await resolve(gateway, name)
            return await gateway.inspect(full), await gateway.get_schema(full)


def _description(described: dict[str, Any], schema: ToolSchema) -> list[str]:
    from halflap.schema import compact  # noqa: PLC0415 -- --json doesn't need it

    name = described["name"]
    lines = [name, f"  {one_line(described['description'], 500)}", ""]
    lines.append(f"Server: {described['server']} (its name there: {described['originalName']})")
    lines += _effects(described["annotations"])
    lines += [
        f"{key.capitalize()}: {described[key]}"
        for key in ("blocked", "held", "unavailable", "unchecked", "spelling")
        if key in described
    ]
    if "changed" in described:
        lines.append(f"Changed since it was accepted: {', '.join(described['changed']) or 'its definition'}")
        for key, value in described["accepted"].items():
            text = value if isinstance(value, str) else json.dumps(value)
            lines.append(f"  {key} was: {one_line(text, 1000)}")
    lines += ["", "Takes:", *(f"  {line}" for line in schema.parameter_lines() or ["nothing"])]
    lines += ["", "Returns:", *([f"  {compact(schema.returns)}"] if schema.returns is not None else [])]
    if schema.returns is None and described["outputSchema"] is not None:
        lines.append("  The declared output schema names no fields.")
    lines += [f"  {described['note']}"] if "note" in described else []
    if "observedSchema" in described:
        lines.append(f"  Field by field: halflap schema show {name}")
    lines += [f"  Since {one['since']}: {drift_line(one)}" for one in described.get("drift", ())]
    if "instructions" in described:
        said = described["instructions"].splitlines()
        lines += ["", "The server's instructions:", *(f"  {one_line(line, 500)}" for line in said)]
    return lines


def _effects(effects: Mapping[str, Any]) -> list[str]:
    known = [
        word for word, key in (("read-only", "readOnly"), ("destructive", "destructive")) if effects[key]
    ]
    claims = [key for key, value in effects["claimed"].items() if value is True]
    if claims:
        is_trusted = effects["vouchedBy"] == "server"
        known.append(
            f"declares {', '.join(claims)} ({'trusted' if is_trusted else 'ignored without trust_annotations'})"
        )
    return [f"Effects: {'; '.join(known)}"] if known else []


def drift_line(drift: Mapping[str, Any]) -> str:
    """Describe in a line what drifted, or how results break the declared schema."""
    where = one_line(drift["path"], 200) or "the result"
    if "now" in drift:
        return f"{where}: {drift['what'].replace('-', ' ')}, was {drift['before']}, is {drift['now']}"
    source = ", in logs" if "origin" in drift else ""
    often = "once" if drift["times"] == 1 else f"{drift['times']} times"
    return f"{where}: breaks the declared schema, expected {one_line(drift['before'], 200)} ({often}{source})"


@reported
def call(
    name: ToolArgument,
    arguments: ArgumentsOption = None,
    json_arguments: JsonArgumentsOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Call a tool and print its result. The exit code is 1 if the tool reports an error."""
    given = json_object(arguments, json_arguments)
    result = asyncio.run(_call(read_config(config), name, arguments or [], given, as_json=as_json))
    if result.is_error:
        raise typer.Exit(1)


async def _call(
    config: Config, name: str, pairs: Sequence[str], given: Mapping[str, Any] | None, *, as_json: bool
) -> Result:
    async with opened(config) as gateway:
        with working(f"Calling {one_line(name)}"):
            name = await resolve(gateway, name)
            if given is None:
                given = arguments_of(pairs, (await gateway.inspect(name))["inputSchema"] if pairs else {})
            context = CallContext(unconfirmed="`halflap call` can't ask; `halflap run` can")
            result = await gateway.call_tool(name, given, context)
        # Printed before the servers stop, which may take longer than the call.
        if as_json:
            print_json(result.to_wire())
        else:
            _show_result(result)
        return result


def _show_result(result: Result) -> None:
    parts = [_part(block) for block in result.content]
    if not parts and result.has_structured_content:
        parts = [json.dumps(result.structured_content, indent=2, ensure_ascii=False)]
    text = "".join(part.rstrip("\n") + "\n" for part in parts)
    if result.is_error:
        note(f"Error [{_FAILED}]: The tool reports an error:")
        sys.stderr.write(harmless(text) if sys.stderr.isatty() else text)
    else:
        write(text, exact=True)


def _part(block: Mapping[str, Any]) -> str:
    if block.get("type") == "text":
        return str(block.get("text", ""))
    kind, data = str(block.get("mimeType") or ""), str(block.get("data", ""))
    size = len(data) * 3 // 4 - data[-2:].count("=")
    return one_line(
        f"[{block.get('type', 'unknown')}{' ' + kind if kind else ''}{f', {size} bytes' if size else ''}]"
    )
