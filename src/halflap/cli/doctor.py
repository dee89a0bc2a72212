"""`halflap doctor`."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap import __version__
from halflap.cli.output import (
    ConfigOption,
    JsonOption,
    VerboseOption,
    data_console,
    one_line,
    print_json,
    reported,
    set_up_logging,
)
from halflap.cli.progress import working
from halflap.cli.setting import read_config
from halflap.errors import UsageError
from halflap.gateway import Gateway

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

    from halflap.catalog import ServerReport
    from halflap.config import Config

__all__ = ["doctor"]


@reported
def doctor(
    servers: Annotated[
        list[str] | None, typer.Argument(help="Only these servers.", show_default=False)
    ] = None,
    log: Annotated[bool, typer.Option("--log", help="Show the last lines of each server's stderr.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Start every server, and say how it is doing and what to do about it.

    The exit code is 0 if all is well, 1 if something is wrong.
    """
    set_up_logging(verbose=verbose)
    if not verbose:
        # The report below says it all; nothing needs to be said twice.
        logging.getLogger("halflap").setLevel(logging.CRITICAL)
    examined = asyncio.run(_examine(read_config(config), servers or []))
    if as_json:
        print_json(examined)
    else:
        _show(examined, log=log)
    if not examined["healthy"]:
        raise typer.Exit(1)


async def _examine(config: Config, wanted: list[str]) -> dict[str, Any]:
    names = [server.name for server in config.servers]
    for name in wanted:
        if name not in names:
            raise UsageError(f"There is no server named {name!r}. There are: {', '.join(names) or 'none'}.")
    async with Gateway.open(config) as gateway:
        with working("Starting the servers"):
            if wanted:
                await asyncio.gather(*(gateway.refresh(name) for name in wanted), return_exceptions=True)
            else:
                await gateway.refresh()
        reports = [report for report in await gateway.reports() if not wanted or report.status.name in wanted]
        snapshot = gateway.snapshot
        sources = {server.name: server.source for server in config.servers}
        servers = [_server(report, gateway, sources[report.status.name]) for report in reports]
        counted = await gateway.metrics()
        sandbox = await _sandbox(gateway)
        runs_programs = sandbox["trouble"] is None or config.execution.sandbox == "off"
        return {
            "version": __version__,
            "python": sys.version.split()[0],
            "configuration": [str(path) for path in config.sources],
            "untrustedProjectFiles": [str(file.path) for file in config.pending],
            "store": gateway.store_place,
            "storeTrouble": gateway.store_trouble,
            "sandbox": sandbox,
            "tools": len(snapshot.tools),
            "callable": len(snapshot.callable),
            "outputs": counted["outputs"],
            "edges": counted["edges"],
            "learning": counted["learning"],
            "servers": servers,
            "healthy": gateway.store_trouble is None
            and runs_programs
            and all(server["healthy"] for server in servers),
        }


async def _sandbox(gateway: Gateway) -> dict[str, Any]:
    """Try the locks that programs run behind, and say which are in force."""
    programs = await gateway.programs()
    ready = await programs.ready()
    check = await programs.check_ready()
    return {
        "name": ready.name,
        "layers": list(ready.layers),
        "missing": dict(ready.missing),
        "trouble": ready.trouble,
        "notes": list(ready.notes),
        "check": {"layers": list(check.layers), "missing": dict(check.missing), "trouble": check.trouble},
    }


def _server(report: ServerReport, gateway: Gateway, source: Path | None) -> dict[str, Any]:
    status = report.status
    reason = gateway.unavailable().get(status.name)
    row: dict[str, Any] = {
        "name": status.name,
        "transport": report.transport,
        "state": status.state,
        "healthy": status.state in {"ready", "disabled"},
        "startSeconds": None if status.start_seconds is None else round(status.start_seconds, 3),
        "protocolVersion": status.protocol_version,
        "serverInfo": status.server_info,
        "tools": report.tools,
        "declaredOutputSchemas": report.declared_output_schemas,
        "blocked": report.blocked,
        "changed": list(report.changed),
        "lastError": reason,
        "warnings": list(status.warnings),
        "log": list(report.log),
    }
    row["advice"] = _advice(row, source)
    return row


def _advice(row: dict[str, Any], source: Path | None) -> list[str]:
    """Say what is wrong and what to do."""
    advice = []
    if row["lastError"] and not row["healthy"]:
        reason = str(row["lastError"])
        advice.append(reason[:1].upper() + reason[1:])
    if not row["healthy"]:
        look = "Run its command in a terminal" if row["transport"] == "stdio" else "Try its address yourself"
        place = "the configuration" if source is None else str(source)
        advice.append(f"{look} to see more than this. Its entry is in {place}.")
    if row["changed"]:
        advice.append(
            f"{len(row['changed'])} definitions changed since they were accepted ({', '.join(row['changed'][:3])}"
            f"{', …' if len(row['changed']) > 3 else ''}): look with `halflap inspect NAME`, "  # noqa: PLR2004 -- as shown
            "then `halflap trust --tool NAME`."
        )
    advice.extend(row["warnings"])
    if row["state"] == "ready" and row["tools"] == 0:
        advice.append("It offers no tools.")
    return advice


_MARKS = {"ready": ("✓", "green"), "disabled": ("-", "dim")}
_NARROW = 64
"""In a terminal of fewer columns the table leaves out what matters least."""


def _table(servers: list[dict[str, Any]], *, narrow: bool) -> Table:
    from rich.table import Table  # noqa: PLC0415 -- only drawn output needs it
    from rich.text import Text  # noqa: PLC0415 -- as above

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    table.add_column("Server", overflow="fold")
    table.add_column("State", no_wrap=True)
    table.add_column("Tools", justify="right", no_wrap=True)
    if not narrow:
        table.add_column("Output schemas", justify="right", no_wrap=True)
        table.add_column("Start", justify="right", no_wrap=True)
        table.add_column("Protocol", no_wrap=True)
    for row in servers:
        mark, style = _MARKS.get(row["state"], ("✗", "red"))
        start = "" if row["startSeconds"] is None else f"{row['startSeconds']:.2f} s"
        cells = [
            Text(mark, style=style), Text(one_line(row["name"])), Text(row["state"], style=style),
            Text(str(row["tools"])), Text(str(row["declaredOutputSchemas"])), Text(start),
            Text(row["protocolVersion"] or ""),
        ]  # fmt: skip
        table.add_row(*cells[: len(table.columns)])
    return table


def _sandbox_lines(sandbox: dict[str, Any]) -> list[tuple[str, str]]:
    if sandbox["trouble"] is not None:
        return [(f"Programs: code execution is off: {sandbox['trouble']}", "yellow")]
    where = "the jail" if sandbox["name"] == "jail" else sandbox["name"]
    lines = [(f"Programs: run in {where}, behind {', '.join(sandbox['layers'])}", "")]
    lines += [(f"  without {layer}: {why}", "yellow") for layer, why in sandbox["missing"].items()]
    lines += [(f"  {note}", "yellow") for note in sandbox["notes"]]
    check = sandbox["check"]
    if check["trouble"] is not None:
        return [*lines, (f"  not checked before they run: {check['trouble']}", "yellow")]
    lines.append((f"  checked before they run by ty, behind {', '.join(check['layers'])}", ""))
    return lines + [(f"    without {layer}: {why}", "yellow") for layer, why in check["missing"].items()]


def _graph_lines(examined: dict[str, Any]) -> list[str]:
    edges, learning = examined["edges"], examined["learning"]
    shares = [f"{count} {coverage}" for coverage, count in edges["coverage"].items()]
    kinds = [f"{kind} {sum(counts.values())}" for kind, counts in edges["evidence"].items()]
    lines = [f"What feeds what: {edges['total']} edges ({', '.join(shares)})"]
    if kinds:
        lines.append(f"  by evidence: {', '.join(kinds)}")
    results = learning["results"]
    if results:
        looked = 1_000 * learning["look_seconds"] / results
        lag = learning["lag_seconds"] / results
        lines.append(
            f"Learning: {results:.0f} results, {looked:.2f} ms each behind the calls, in the store {lag:.1f} s after the answer"
        )
    return lines


def _show_server(console: Console, row: dict[str, Any], *, log: bool) -> None:
    from rich.text import Text  # noqa: PLC0415 -- only drawn output needs it

    lines = row["log"] if log or not row["healthy"] else []
    if row["advice"] or lines:
        console.print()
        console.print(Text(row["name"], style="bold"))
    for advice in row["advice"]:
        console.print(Text(f"  {one_line(advice, 1000)}"), soft_wrap=True)
    for line in lines:
        console.print(Text(f"  │ {one_line(line, 1000)}", style="dim"), soft_wrap=True)


def _show(examined: dict[str, Any], *, log: bool) -> None:
    from rich.text import Text  # noqa: PLC0415 -- only drawn output needs it

    console = data_console()
    console.print(f"Halflap {examined['version']}, Python {examined['python']}", style="bold")
    console.print(Text(f"Configuration: {', '.join(examined['configuration']) or 'none found'}"))
    console.print(Text(f"Store: {examined['store']}"))
    if examined["storeTrouble"]:
        console.print(Text(examined["storeTrouble"], style="red"))
    for line, style in _sandbox_lines(examined["sandbox"]):
        console.print(Text(line, style=style), soft_wrap=True)
    for path in examined["untrustedProjectFiles"]:
        console.print(
            Text(f"Not trusted, so left out: {path}. Look at it with `halflap trust`.", style="yellow")
        )
    if examined["servers"]:
        console.print()
        console.print(_table(examined["servers"], narrow=console.width < _NARROW))
    else:
        console.print("No server is configured yet. Name them in a file and pass it with --config.")
    for row in examined["servers"]:
        _show_server(console, row, log=log)
    console.print()
    console.print(f"{examined['tools']} tools, {examined['callable']} of them callable")
    outputs = examined["outputs"]
    if examined["tools"]:
        shares = [f"{word} of {outputs[word]} ({outputs[word] / examined['tools']:.0%})" for word in outputs]
        console.print(f"What they return is {', '.join(shares)}")
        for line in _graph_lines(examined):
            console.print(line)
