"""`halflap runs`, `halflap runs show` and `halflap runs purge`."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from halflap.cli.complete import run_ids
from halflap.cli.output import (
    ConfigOption,
    JsonOption,
    data_console,
    harmless,
    note,
    one_line,
    print_json,
    reported,
    set_up_logging,
)
from halflap.cli.progress import working
from halflap.cli.run_text import call_as_json, in_short, run_as_json, run_as_text
from halflap.cli.setting import read_config
from halflap.cli.wrapping import print_lines
from halflap.core.errors import (
    ConfirmationNeededError,
    RunNotFoundError,
    StoreBrokenError,
    StoreError,
    StoreTooNewError,
    UsageError,
)
from halflap.gateway import Gateway
from halflap.store import open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from halflap.config import Config
    from halflap.store import CallRecord, Purged, RunRecord, Store

__all__ = ["runs"]

_LIMIT = 20
_ID_SHOWN = 16
_NARROW = 64
"""So much of an identifier nearly always tells runs apart: the time to the millisecond, and a bit more."""
_LAST = "last"
"""Names the newest run: no identifier, which has hexadecimal digits alone, begins like it."""
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d|w)\Z")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}

runs = typer.Typer(
    name="runs",
    help="List the runs of programs; show one, or delete them.",
    add_completion=False,
    rich_markup_mode=None,
)


@runs.callback(invoke_without_command=True)
@reported
def list_runs(
    context: typer.Context,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=10_000, help="Show so many at most.")
    ] = _LIMIT,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the runs of programs, newest first; `show` tells all of one, `purge` deletes them."""
    if context.invoked_subcommand is not None:
        if as_json or config is not None or limit != _LIMIT:
            raise UsageError(f"Put options behind the command: halflap runs {context.invoked_subcommand} …")
        return
    set_up_logging(verbose=False, tells_of_servers=True)
    found = asyncio.run(_list(read_config(config), limit))
    if as_json:
        print_json([run_as_json(run) for run in found])
    else:
        _show_list(found)
    if not found:
        note("No run is recorded.")


@runs.command()
@reported
def show(
    identifier: Annotated[
        str,
        typer.Argument(
            metavar="ID", help="The run's identifier, its beginning, or `last`.", autocompletion=run_ids
        ),
    ],
    output_alone: Annotated[
        bool, typer.Option("--output", help="Print what the program printed, whole and alone.")
    ] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a run: its code, its output, and each call with what it was given and gave."""
    set_up_logging(verbose=False, tells_of_servers=True)
    if output_alone and as_json:
        raise UsageError("Give --output or --json, not both.")
    run, calls = asyncio.run(_show(read_config(config), identifier))
    if as_json:
        print_json(
            {**run_as_json(run), "output": run.output, "calls": [call_as_json(call) for call in calls]}
        )
        return
    if output_alone and run.output is None:
        note("No output of this run is recorded.")
    text = (run.output or "") if output_alone else run_as_text(run, calls)
    # A program gets it to the letter; a terminal would obey what is hidden in it.
    sys.stdout.write(harmless(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


@runs.command()
@reported
def purge(
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="AGE", help="Delete those older than this: 30m, 12h, 7d, 4w."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete all of them.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do it without asking.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete runs and calls, and nothing else; they are gone from the disk too."""
    set_up_logging(verbose=False, tells_of_servers=True)
    if (older_than is None) == (not everything):
        raise UsageError("Say which: --older-than 7d, or --all.")
    age = None if older_than is None else _age(older_than)
    what = "all runs and calls" if age is None else f"the runs and calls older than {older_than}"
    settings = read_config(config)
    if not yes:
        if not sys.stdin.isatty():
            raise ConfirmationNeededError(
                "Nothing was deleted: there is nobody to ask here. Say --yes if you mean it."
            )
        if not typer.confirm(f"Delete {what}?", err=True):
            note("Nothing was deleted.")
            raise typer.Exit(1)
    gone = asyncio.run(_purge(settings, age))
    if as_json:
        print_json({"runs": gone.runs, "calls": gone.calls})
    else:
        note(f"Deleted {gone.runs} runs and {gone.calls} calls.")


async def _list(config: Config, limit: int) -> Sequence[RunRecord]:
    async with Gateway.open(config) as gateway:
        if gateway.store_trouble is None:
            return await gateway.runs(limit)
    async with _opened_to_read(config, gateway.store_trouble) as store:
        return await store.runs(limit)


async def _show(config: Config, identifier: str) -> tuple[RunRecord, Sequence[CallRecord]]:
    async with Gateway.open(config) as gateway:
        if gateway.store_trouble is None:
            return await gateway.run(_named(identifier, await gateway.runs(1)))
    async with _opened_to_read(config, gateway.store_trouble) as store:
        run = await store.run(_named(identifier, await store.runs(1)))
        if run is None:
            raise RunNotFoundError(identifier)
        return run, await store.calls_of_run(run.id)


def _named(identifier: str, newest: Sequence[RunRecord]) -> str:
    if identifier != _LAST:
        return identifier
    if not newest:
        raise UsageError("No run is recorded, so there is no last one. `halflap run` makes one.")
    return newest[0].id


async def _purge(config: Config, age: float | None) -> Purged:
    async with Gateway.open(config) as gateway:
        if gateway.store_trouble is not None:
            raise StoreError(f"{gateway.store_trouble} Nothing was deleted.")
        with working("Deleting"):
            if age is None:
                return await gateway.purge_runs(everything=True)
            return await gateway.purge_runs(older_than=time.time() - age)


@asynccontextmanager
async def _opened_to_read(config: Config, trouble: str) -> AsyncIterator[Store]:
    """Open the store that could not be opened to be changed: what is in it can perhaps be read."""
    place = config.store.url or config.store.path or config.data_dir / "halflap.db"
    try:
        store = await open_store(place, read_only=True)
    except (StoreTooNewError, StoreBrokenError):
        raise
    except StoreError:
        raise StoreError(f"{trouble} What is recorded in it cannot be read.") from None
    try:
        note(f"Note: {trouble} It can be read, but nothing is recorded in it now.")
        yield store
    finally:
        await store.close()


def _age(text: str) -> float:
    match = _AGE.match(text.strip().lower())
    if match is None:
        raise UsageError(f"--older-than {text!r} is no age. Write it as 30m, 12h, 7d or 4w.")
    return float(match[1]) * _SECONDS[match[2]]


def _show_list(found: Sequence[RunRecord]) -> None:
    rows = [(run.id, in_short(run), one_line(run.name or run.code or "")) for run in found]
    if not sys.stdout.isatty():
        for run, (identifier, short, first) in zip(found, rows, strict=True):
            when = datetime.fromtimestamp(run.started_at).astimezone().isoformat(timespec="seconds")
            sys.stdout.write("\t".join([identifier, when, *short, first]) + "\n")
        sys.stdout.flush()
        return
    from rich.table import Table  # noqa: PLC0415 -- only a terminal needs it

    console, length = data_console(), _telling_apart([run.id for run in found])
    if console.width < _NARROW:
        print_lines(line for run, row in zip(found, rows, strict=True) for line in _short(run, row, length))
        return
    # Expanded, so that the last column gives way, and not all of them alike.
    table = Table(box=None, pad_edge=False, header_style="dim", expand=True)
    for heading in ("run", "when", "outcome"):
        table.add_column(heading, no_wrap=True)
    for heading in ("time", "calls"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("code", no_wrap=True, overflow="ellipsis", ratio=1)
    for run, (identifier, short, first) in zip(found, rows, strict=True):
        table.add_row(identifier[:length], _when(run), *short, first)
    if rows:
        console.print(table)


def _when(run: RunRecord) -> str:
    return datetime.fromtimestamp(run.started_at).astimezone().strftime("%m-%d %H:%M")


def _short(run: RunRecord, row: tuple[str, tuple[str, str, str], str], length: int) -> list[str]:
    """Give a run in lines, for terminals in which columns would be too narrow for its identifier."""
    identifier, (outcome, seconds, calls), first = row
    return [f"{identifier[:length]}  {_when(run)}", f"  {outcome}, {seconds}, {calls} calls", f"  {first}"]


def _telling_apart(identifiers: Sequence[str]) -> int:
    """Say how much of each identifier must be shown for none to be the beginning of another."""
    longest = max(map(len, identifiers), default=0)
    fitting = (
        length for length in range(_ID_SHOWN, longest)
        if len({identifier[:length] for identifier in identifiers}) == len(identifiers)
    )  # fmt: skip
    return next(fitting, longest)
