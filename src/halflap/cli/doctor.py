"""`halflap doctor`."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.output import (
    ConfigOption,
    JsonOption,
    VerboseOption,
    print_json,
    reported,
    set_up_logging,
)
from halflap.cli.progress import awaiting
from halflap.config import load_config
from halflap.gateway import Gateway

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.config import Config
    from halflap.core.values import Tool

__all__ = ["doctor"]

_INTERRUPTED = 130


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
    """Start every server, and say on one page what is wrong and what to do about it, the worst first.

    The exit code is 0 if all is well, 1 if there is a problem, 2 if it was asked for wrongly. Hints are no problem.
    """
    set_up_logging(verbose=verbose)
    if not verbose:
        # The report below says it all; nothing needs to be said twice.
        logging.getLogger("halflap").setLevel(logging.CRITICAL)
    # Not by `read_config`: what that would say beside the report is in it.
    code = asyncio.run(_doctor(load_config(config), servers or [], log=log, as_json=as_json))
    if code:
        raise typer.Exit(code)


async def _doctor(config: Config, wanted: list[str], *, log: bool, as_json: bool) -> int:
    stop = asyncio.Event()
    with _heeding_interrupts(stop):
        async with Gateway.open(config) as gateway:
            with awaiting("Starting the servers") as told:
                examined = await gateway.examine(wanted, on_progress=told, stop=stop)
            # Before the servers are stopped, which may take them a moment.
            if stop.is_set():
                examined["tokens"] = None
            else:
                await asyncio.to_thread(_add_tokens, examined, gateway)
            if as_json:
                print_json(examined)
            else:
                from halflap.cli.doctor_page import show  # noqa: PLC0415 -- only drawn output needs it

                show(examined, log=log)
    if stop.is_set():
        return _INTERRUPTED
    return 0 if examined["healthy"] else 1


@contextlib.contextmanager
def _heeding_interrupts(stop: asyncio.Event) -> Any:
    """Have the first Ctrl-C end the examination with what is known, and the next end everything."""
    loop = asyncio.get_running_loop()

    def interrupt() -> None:
        stop.set()
        loop.remove_signal_handler(signal.SIGINT)

    with contextlib.suppress(NotImplementedError):  # Windows has no such thing
        loop.add_signal_handler(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        with contextlib.suppress(NotImplementedError):
            loop.remove_signal_handler(signal.SIGINT)


def _add_tokens(examined: dict[str, Any], gateway: Gateway) -> None:
    """Count what all definitions would cost a model, and what those cost that Halflap has in their place."""
    from halflap.cli.tokens import TO_COUNT, tokenizer_name  # noqa: PLC0415 -- nothing else needs it
    from halflap.server import Front  # noqa: PLC0415 -- as above

    # Saved scripts and DSPy programs are there with Halflap alone, and those that were not asked about are not told of.
    names = {row["name"] for row in examined["servers"]}
    by_server = {
        server: _cost(_as_sent(tool) for tool in tools)
        for server, tools in gateway.snapshot.by_server.items()
        if server in names
    }
    exposed = [
        {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
        for tool in Front(gateway).tools
    ]
    name = tokenizer_name()
    examined["tokens"] = {
        "tokenizer": name,
        "definitions": _sum(by_server.values()),
        "exposed": _cost(exposed),
        "toCount": None if name is not None else TO_COUNT,
    }
    for row in examined["servers"]:
        row["tokens"] = by_server.get(row["name"], _cost(()))["tokens"]


def _as_sent(tool: Tool) -> dict[str, Any]:
    """Give a definition as a client puts it before the model."""
    return {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}


def _cost(definitions: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    from halflap.cli.tokens import count_tokens  # noqa: PLC0415 -- as above

    texts = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in definitions]
    tokens = [count_tokens(text) for text in texts]
    counted = [one for one in tokens if one is not None]
    return {
        "tools": len(texts),
        "characters": sum(map(len, texts)),
        "tokens": sum(counted) if len(counted) == len(texts) else None,
    }


def _sum(costs: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    parts = list(costs)
    known = all(part["tokens"] is not None for part in parts)
    return {
        "tools": sum(part["tools"] for part in parts),
        "characters": sum(part["characters"] for part in parts),
        "tokens": sum(part["tokens"] for part in parts) if known else None,
    }
