"""`halflap list`, `search`, `inspect` and `call`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Exit, Option

from halflap.cli.command import Invocation, command
from halflap.cli.options import (
    ArgumentsOption,
    JsonArgumentsOption,
    ServerOption,
    ToolArgument,
    given_arguments,
    list_unlisted,
    resolve,
)
from halflap.cli.output import (
    Table,
    describe_sign_in,
    drift_line,
    note,
    one_line,
    outline,
    print_json,
    safe,
    warn_about_servers,
    working,
    write,
)
from halflap.core.errors import ServerNotFoundError
from halflap.core.text import clean, plural
from halflap.core.values import OWN, CallContext, Result

if TYPE_CHECKING:
    from halflap.config import Profile
    from halflap.core.codes import OtherCode
    from halflap.gateway import Gateway
    from halflap.schema import ToolSchema

_MAX_DESCRIPTION = 20_000
_FAILED: OtherCode = "tool-error"
_MARKS = ("blocked", "held", "unavailable", "changed")


@command()
async def list_tools(
    invocation: Invocation,
    server: ServerOption = None,
    everything: Annotated[bool, Option("--all", "-a", help="Include blocked and held tools.")] = False,
    refresh: Annotated[bool, Option("--refresh", help="Ask the servers again, and report changes.")] = False,
    profile: Annotated[str | None, Option(help="Only tools that this profile may use.")] = None,
) -> None:
    """List the tools of all servers.

    Uses the cached lists; a server that was never listed is started.
    """
    config = invocation.config()
    names = [one.name for one in config.servers]
    used = None if profile is None else config.restricted_to(profile).profiles[profile]
    if server is not None and server not in {*names, *OWN}:
        raise ServerNotFoundError(server, names)
    async with invocation.gateway(config) as gateway:
        with working("Listing tools"):
            changes = await gateway.refresh() if refresh else None
            await list_unlisted(gateway)
        rows = [
            row
            for row in _rows(gateway, used)
            if server in {None, row["server"]} and (everything or not ("blocked" in row or "held" in row))
        ]
        warn_about_servers(gateway, server)
        sign_ins = await gateway.sign_ins()
    marks = [next((f"[{word}] " for word in _MARKS if word in row), "") for row in rows]
    table = [
        (row["name"], mark + one_line(row["description"])) for row, mark in zip(rows, marks, strict=True)
    ]
    invocation.show(rows, Table(["tool", "description"], table))
    if sys.stdout.isatty() and not invocation.as_json:
        note(f"{plural(len(rows), 'tool')}, {plural(len({row['server'] for row in rows}), 'server')}")
    for word, tools in asdict(changes).items() if changes is not None else ():
        if tools:
            note(f"{word.capitalize()}: {', '.join(tools)}")
    if any(one.name == server and one.disabled for one in config.servers):
        note(f"Server {server!r} is disabled. Enable it: halflap enable {server}")
    for name in sorted(sign_ins if server is None else {server} & {*sign_ins}):
        note(f"Signed in to {name!r}: {', '.join(map(describe_sign_in, sign_ins[name]))}")


def _rows(gateway: Gateway, profile: Profile | None) -> Iterator[dict[str, Any]]:
    snapshot, unavailable = gateway.snapshot, gateway.unavailable()
    shows = gateway.parts.calls.policy.shows
    for name, tool in sorted(snapshot.tools.items()):
        if not shows(tool, profile):
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
        yield row


@command()
async def search(
    invocation: Invocation,
    query: Annotated[list[str], Argument(help="What the tool should do, or its name.")],
    limit: Annotated[int, Option("--limit", "-n", min=1, max=100, help="Maximum number of results.")] = 10,
    server: ServerOption = None,
) -> None:
    """Find tools by what they do, best first."""
    async with invocation.gateway() as gateway:
        with working("Searching"):
            hits = await gateway.search(" ".join(query), limit=limit, server=server)
        lines = [
            line for hit in hits for line in (f"{hit.score:.2f}  {hit.signature}", f"      {hit.description}")
        ]
        if hits or invocation.as_json:
            invocation.show([hit._asdict() for hit in hits], lines)
        else:
            warn_about_servers(gateway, server)
            note("No tool found.")


@command()
async def inspect(invocation: Invocation, name: ToolArgument) -> None:
    """Show what a tool takes and returns.

    With --json, the schemas are complete.
    """
    async with invocation.gateway() as gateway:
        with working(f"Looking up {one_line(name)}"):
            full = await resolve(gateway, name)
            described, schema = await gateway.inspect(full), await gateway.get_schema(full)
    invocation.show(described, _description(described, schema))


def result_lines(described: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is known about a tool's result: declared, learned, and how it changed."""
    from halflap.schema import compact, result_type

    declared, learned = described["outputSchema"], described.get("observedSchema")
    kinds = {"declared": result_type(declared), "learned": result_type(learned)}
    if kinds["declared"] is None:
        yield "not declared" if declared is None else "declared, but without any field"
    yield from (f"{word}: {compact(kind)}" for word, kind in kinds.items() if kind is not None)
    if learned is None:
        yield "learned: nothing yet"
    else:
        count, chance = described["observations"], int(described["confidence"] * 100)
        sure = f"the next one fits with at least {chance} % probability" if chance else "too few to be sure"
        yield f"  from {plural(count, 'result')}; {sure}"
    yield from (drift_line(one) for one in described.get("drift", ()))


def _description(described: Mapping[str, Any], schema: ToolSchema) -> Iterator[str]:
    effects = described["annotations"]
    claims = ", ".join(key for key, value in effects["claimed"].items() if value is True)
    how = "trusted" if effects["vouchedBy"] == "server" else "ignored without trust_annotations"
    known = ["read-only" if effects["readOnly"] else "", "destructive" if effects["destructive"] else ""]
    known.append(f"declares {claims} ({how})" if claims else "")
    keys = ("blocked", "held", "unavailable", "unchecked", "spelling", "changed", "accepted")
    yield from (described["name"], f"  {one_line(described['description'], 500)}", "")
    yield from outline(
        {
            "server": f"{described['server']} (original name: {described['originalName']})",
            "effects": [one for one in known if one],
            **{key: described[key] for key in keys if key in described},
        }
    )
    yield from ("", "takes:", *(f"  {line}" for line in schema.parameter_lines() or ["nothing"]))
    yield from ("", "returns:", *(f"  {line}" for line in result_lines(described)))
    if lines := described.get("instructions", "").splitlines():
        yield from ("", "the server's instructions:", *(f"  {one_line(line, 500)}" for line in lines))


@command()
async def call(
    invocation: Invocation,
    name: ToolArgument,
    arguments: ArgumentsOption = None,
    json_arguments: JsonArgumentsOption = None,
) -> None:
    """Call a tool and print its result.

    The exit code is 1 if the tool reports an error.
    """
    async with invocation.gateway() as gateway:
        with working(f"Calling {one_line(name)}"):
            name = await resolve(gateway, name)
            schema = (await gateway.inspect(name))["inputSchema"] if arguments else {}
            given = given_arguments(arguments, json_arguments, schema)
            context = CallContext(unconfirmed="`halflap call` can't ask for confirmation; `halflap run` can")
            result = await gateway.call_tool(name, given, context)
        # Printed before the servers stop, which may take longer than the call.
        if invocation.as_json:
            print_json(result.to_wire())
        else:
            _show_result(result)
    if result.is_error:
        raise Exit(1)


def _show_result(result: Result) -> None:
    parts = [_part(block) for block in result.content]
    if not parts and result.has_structured_content:
        parts = [json.dumps(result.structured_content, indent=2, ensure_ascii=False)]
    text = "".join(part.rstrip("\n") + "\n" for part in parts)
    if result.is_error:
        note(f"Error [{_FAILED}]: The tool reports an error:")
        sys.stderr.write(safe(text) if sys.stderr.isatty() else text)
    else:
        write(text, exact=True)


def _part(block: Mapping[str, Any]) -> str:
    if block.get("type") == "text":
        return str(block.get("text", ""))
    size = len(str(block.get("data", ""))) * 3 // 4
    kind = [str(block.get("type", "unknown")), str(block.get("mimeType") or ""), f"{size} bytes" * bool(size)]
    return one_line(f"[{' '.join(filter(None, kind))}]")
