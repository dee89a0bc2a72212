"""`halflap search`."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from halflap.cli.output import (
    ConfigOption,
    JsonOption,
    VerboseOption,
    data_console,
    harmless,
    note,
    print_json,
    reported,
    set_up_logging,
)
from halflap.cli.progress import working
from halflap.cli.setting import opened, read_config
from halflap.cli.wrapping import say
from halflap.gateway import NO_SERVER_TODO

if TYPE_CHECKING:
    from halflap.catalog import Hit
    from halflap.config import Config

__all__ = ["search"]


@reported
def search(
    query: Annotated[list[str], typer.Argument(help="What the tool should do, or its name.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="Show so many at most.")] = 10,
    server: Annotated[
        str | None, typer.Option("--server", "-s", help="Take the tools of this server alone.")
    ] = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Find tools by what they do, best first."""
    set_up_logging(verbose=verbose, tells_of_servers=True)
    settings = read_config(config)
    hits = asyncio.run(_search(settings, " ".join(query), limit, server))
    if as_json:
        print_json([asdict(hit) for hit in hits])
        return
    if not hits and not settings.servers:
        note(f"Nothing fits: no server is configured yet. {NO_SERVER_TODO}")
        return
    if not hits:
        note("Nothing fits. Other words may; `halflap list` shows all tools.")
        return
    _show(hits)


def _show(hits: list[Hit]) -> None:
    from rich.text import Text  # noqa: PLC0415 -- only drawn output needs it

    console = data_console(whole=True)
    for hit in hits:
        score = f"{hit.score:.2f}  "
        name, bracket, more = harmless(hit.signature).partition("(")
        say(console, Text.assemble((name, "cyan"), bracket, more), Text(score, style="dim"))
        say(console, Text(harmless(hit.description)), Text(" " * len(score)))


async def _search(config: Config, query: str, limit: int, server: str | None) -> list[Hit]:
    async with opened(config) as gateway:
        with working("Searching"):
            return await gateway.search(query, limit=limit, server=server, behind=False)
