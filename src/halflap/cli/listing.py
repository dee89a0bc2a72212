"""`halflap list`."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.output import (
    ConfigOption,
    JsonOption,
    VerboseOption,
    data_console,
    note,
    one_line,
    print_json,
    reported,
    set_up_logging,
)
from halflap.cli.progress import working
from halflap.cli.setting import opened, read_config
from halflap.core.errors import ServerNotFoundError
from halflap.core.text import clean
from halflap.core.values import DSPY, OWN, SCRIPTS
from halflap.gateway import FIRST_LISTING_SECONDS, NO_SERVER_TODO

if TYPE_CHECKING:
    from halflap.config import Config
    from halflap.core.values import Changes
    from halflap.gateway import Gateway

__all__ = ["list_tools"]

_LONGEST_TEXT = 20_000
_NARROWEST = 20
"""With fewer columns beside the names, descriptions go below them."""


@reported
def list_tools(
    config: ConfigOption = None,
    server: Annotated[
        str | None, typer.Option("--server", "-s", help="Take the tools of this server alone.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Show the tools that may not be called as well, and why.")
    ] = False,
    refresh: Annotated[
        bool,
        typer.Option("--refresh", help="Ask every server anew, and say what was added, removed and changed."),
    ] = False,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """List the tools of all servers.

    Answers from the kept catalogue; only a server that was never listed is started and asked.
    """
    set_up_logging(verbose=verbose, tells_of_servers=True)
    asyncio.run(_list(read_config(config), server, everything=everything, refresh=refresh, as_json=as_json))


async def _list(
    config: Config, server: str | None, *, everything: bool, refresh: bool, as_json: bool
) -> None:
    names = [one.name for one in config.servers]
    if server is not None and server not in {*names, *OWN}:
        raise ServerNotFoundError(server, names)
    async with opened(config) as gateway:
        with working("Asking the servers for their tools"):
            if refresh:
                changes = await gateway.refresh()
            else:
                await gateway.settle(wait_seconds=FIRST_LISTING_SECONDS, behind=False)
        rows = _rows(gateway, server, everything=everything)
        unavailable = gateway.unavailable()
        broken = (await gateway.scripts.shelf()).broken
        unusable = await (await gateway.dspy()).broken() if config.uses_programs else {}
    if as_json:
        print_json(rows)
    else:
        _show(rows)
    for name, reason in sorted(unavailable.items()):
        if server in {None, name}:
            note(f"Server {name!r} is not available: {reason}")
    for name, reason in broken.items() if server in {None, SCRIPTS} else ():
        note(f"Script {name!r} cannot be used: {reason}")
    for name, reason in unusable.items() if server in {None, DSPY} else ():
        note(f"DSPy program {name!r} cannot be used: {reason}")
    if refresh:
        _tell(changes)
    if not config.servers:
        note(f"No server is configured yet. {NO_SERVER_TODO}")


def _tell(changes: Changes) -> None:
    for word, found in (("added", changes.added), ("removed", changes.removed), ("changed", changes.changed)):
        if found:
            note(f"{word}: {', '.join(found)}")


def _rows(gateway: Gateway, server: str | None, *, everything: bool) -> list[dict[str, Any]]:
    snapshot = gateway.snapshot
    unavailable = gateway.unavailable()
    rows = []
    for name in sorted(snapshot.tools):
        tool = snapshot.tools[name]
        if server is not None and tool.server != server:
            continue
        row: dict[str, Any] = {
            "name": name,
            "description": clean(tool.description, _LONGEST_TEXT),
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


def _show(rows: list[dict[str, Any]]) -> None:
    if not sys.stdout.isatty():
        for row in rows:
            sys.stdout.write(f"{row['name']}\t{_mark(row)}{one_line(row['description'])}\n")
        sys.stdout.flush()
        return
    from rich.text import Text  # noqa: PLC0415 -- only a terminal needs it

    console = data_console()
    longest = max((len(row["name"]) for row in rows), default=0)
    beside = console.width - longest - 2 >= _NARROWEST
    for row in rows:
        gap = " " * (longest - len(row["name"])) if beside else "\n"
        described = Text(_mark(row) + one_line(row["description"]))
        described.truncate(console.width - 2 - (longest if beside else 0), overflow="ellipsis")
        # A name is never cut: it is there to be copied.
        console.print(Text.assemble((row["name"], "cyan"), gap, "  ", described), soft_wrap=True)
    tools, servers = len(rows), len({row["server"] for row in rows})
    console.print(f"\n{_count(tools, 'tool')} of {_count(servers, 'server')}", style="dim")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _mark(row: dict[str, Any]) -> str:
    if "blocked" in row:
        return "[blocked] "
    if "held" in row:
        return "[held] "
    if "unavailable" in row:
        return "[unavailable] "
    return "[changed] " if "changed" in row else ""
