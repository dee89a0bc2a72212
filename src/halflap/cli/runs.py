"""`halflap runs`: list, show and delete recorded runs."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from halflap.cli.options import ConfigOption, JsonOption, YesOption, confirm, read_config, run_ids
from halflap.cli.output import note, one_line, plural, print_json, print_table, reported, write
from halflap.cli.progress import working
from halflap.core.errors import (
    RunNotFoundError,
    StoreBrokenError,
    StoreError,
    StoreTooNewError,
    UsageError,
)
from halflap.gateway import Gateway
from halflap.store import RUNNING, SENT, open_store

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from halflap.config import Config
    from halflap.store import CallRecord, Purged, RunRecord, Store

__all__ = ["runs"]

_LIMIT = 20
_MIN_ID = 16
_LAST = "last"
"""Names the newest run; identifiers are hexadecimal."""
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d|w)\Z")
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_MAX_VALUE = 300
_MAX_OUTPUT = 4_000
_KILO = 1_000

runs = typer.Typer(
    name="runs",
    help="List, show and delete the runs of programs.",
    add_completion=False,
    rich_markup_mode=None,
)


@runs.callback(invoke_without_command=True)
@reported
def list_runs(
    context: typer.Context,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=10_000, help="Maximum number of runs.")
    ] = _LIMIT,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the runs of programs, newest first."""
    if context.invoked_subcommand is not None:
        if as_json or config is not None or limit != _LIMIT:
            raise UsageError(f"Put options after the command: halflap runs {context.invoked_subcommand} …")
        return
    found = asyncio.run(_list(read_config(config), limit))
    if as_json:
        print_json([_run_json(run) for run in found])
    else:
        length = len(found[0].id) if found and not sys.stdout.isatty() else _distinct_length(found)
        print_table(
            ["run", "when", "outcome", "time", "calls", "code"],
            [_row(run, length) for run in found],
            right={3, 4},
        )
    if not found:
        note("No runs are recorded.")


def _row(run: RunRecord, length: int) -> list[str]:
    moment = datetime.fromtimestamp(run.started_at).astimezone()
    when = moment.strftime("%m-%d %H:%M") if sys.stdout.isatty() else moment.isoformat(timespec="seconds")
    first = one_line(run.name or run.code or "", 80)
    return [run.id[:length], when, run.outcome, _seconds(run.duration_ms), str(run.calls), first]


def _distinct_length(found: Sequence[RunRecord]) -> int:
    """Return how many characters of the identifiers distinguish all of them."""
    longest = max((len(run.id) for run in found), default=_MIN_ID)
    return next(
        (size for size in range(_MIN_ID, longest) if len({run.id[:size] for run in found}) == len(found)),
        longest,
    )


@runs.command()
@reported
def show(
    identifier: Annotated[
        str,
        typer.Argument(metavar="ID", help="The run's id, its beginning, or `last`.", autocompletion=run_ids),
    ],
    only_output: Annotated[bool, typer.Option("--output", help="Print only the program's output.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a run: its code, its output, and each call with arguments and result."""
    if only_output and as_json:
        raise UsageError("Use --output or --json, not both.")
    run, calls = asyncio.run(_find(read_config(config), identifier))
    if as_json:
        print_json({**_run_json(run), "output": run.output, "calls": [_call_json(call) for call in calls]})
        return
    if only_output and run.output is None:
        note("The output of this run was not recorded.")
    write((run.output or "") if only_output else _run_text(run, calls), exact=True)


@runs.command()
@reported
def purge(
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="AGE", help="Delete runs older than this: 30m, 12h, 7d, 4w."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete all runs.")] = False,
    yes: YesOption = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete recorded runs and calls, also from the disk."""
    if (older_than is None) == (not everything):
        raise UsageError("Use either --older-than 7d or --all.")
    age = None if older_than is None else _age(older_than)
    settings = read_config(config)
    what = "all runs and calls" if age is None else f"runs and calls older than {older_than}"
    confirm(f"Delete {what}?", "Nothing was deleted.", yes=yes)
    gone = asyncio.run(_purge(settings, age))
    if as_json:
        print_json({"runs": gone.runs, "calls": gone.calls})
    else:
        note(f"Deleted {plural(gone.runs, 'run')} and {plural(gone.calls, 'call')}.")


async def _list(config: Config, limit: int) -> Sequence[RunRecord]:
    async with Gateway.open(config) as gateway:
        if gateway.store_trouble is None:
            return await gateway.runs(limit)
    async with _read_only(config, gateway.store_trouble) as store:
        return await store.runs(limit)


async def _find(config: Config, identifier: str) -> tuple[RunRecord, Sequence[CallRecord]]:
    async with Gateway.open(config) as gateway:
        if gateway.store_trouble is None:
            return await gateway.run(_full_id(identifier, await gateway.runs(1)))
    async with _read_only(config, gateway.store_trouble) as store:
        run = await store.run(_full_id(identifier, await store.runs(1)))
        if run is None:
            raise RunNotFoundError(identifier)
        return run, await store.calls_of_run(run.id)


def _full_id(identifier: str, newest: Sequence[RunRecord]) -> str:
    if identifier != _LAST:
        return identifier
    if not newest:
        raise UsageError("No runs are recorded.")
    return newest[0].id


@asynccontextmanager
async def _read_only(config: Config, trouble: str) -> AsyncIterator[Store]:
    """Open a store that can't be written to."""
    place = config.store.url or config.store.path or config.data_dir / "halflap.db"
    try:
        store = await open_store(place, read_only=True)
    except (StoreTooNewError, StoreBrokenError):
        raise
    except StoreError:
        raise StoreError(f"{trouble} The recorded runs can't be read.") from None
    try:
        note(f"Note: {trouble} It can be read, but nothing is recorded now.")
        yield store
    finally:
        await store.close()


async def _purge(config: Config, age: float | None) -> Purged:
    async with Gateway.open(config) as gateway:
        if gateway.store_trouble is not None:
            raise StoreError(f"{gateway.store_trouble} Nothing was deleted.")
        with working("Deleting"):
            if age is None:
                return await gateway.purge_runs(everything=True)
            return await gateway.purge_runs(older_than=time.time() - age)


def _age(text: str) -> float:
    match = _AGE.match(text.strip().lower())
    if match is None:
        raise UsageError(f"--older-than {text!r} is not an age. Write 30m, 12h, 7d or 4w.")
    return float(match[1]) * _SECONDS[match[2]]


def _run_json(run: RunRecord) -> dict[str, Any]:
    return {
        "id": run.id,
        "principal": run.principal,
        "kind": run.kind,
        "name": run.name,
        "startedAt": _moment(run.started_at),
        "durationMs": run.duration_ms,
        "outcome": run.outcome,
        "error": run.error,
        "callCount": run.calls,
        "outputBytes": run.output_bytes,
        "cpuMs": run.cpu_ms,
        "memoryBytes": run.memory_bytes,
        "sandbox": run.sandbox,
        "codeHash": run.code_hash,
        "code": run.code,
    }


def _call_json(call: CallRecord) -> dict[str, Any]:
    return {
        "id": call.id,
        "parent": call.parent,
        "server": call.server,
        "tool": call.tool,
        "definitionHash": call.definition_hash,
        "startedAt": _moment(call.started_at),
        "durationMs": call.duration_ms,
        "outcome": call.outcome,
        "error": call.error,
        "breach": call.breach,
        "argumentBytes": call.argument_bytes,
        "resultBytes": call.result_bytes,
        "arguments": None if call.arguments is None else json.loads(call.arguments),
        "argumentsCut": call.arguments_cut,
        "result": None if call.result is None else json.loads(call.result),
        "resultCut": call.result_cut,
    }


def _run_text(run: RunRecord, calls: Sequence[CallRecord]) -> str:
    when = datetime.fromtimestamp(run.started_at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    outcome = "running, or interrupted" if run.outcome == RUNNING else run.outcome
    took = [_seconds(run.duration_ms)] if run.duration_ms is not None else []
    took += [f"{_seconds(run.cpu_ms)} of CPU"] if run.cpu_ms is not None else []
    took += [_bytes(run.memory_bytes)] if run.memory_bytes is not None else []
    kind = one_line(run.kind if run.name is None else f"{run.kind} {run.name}")
    lines = [
        f"Run {run.id}",
        f"  {kind} of {one_line(run.principal)}, {when}",
        f"  {outcome}" + (f" ({', '.join(took)})" if took else ""),
    ]
    if run.error is not None:
        lines += ["", "Error:", _indented(run.error)]
    if run.code is not None:
        lines += ["", "Code:", _indented(run.code)]
    if run.output:
        cut = len(run.output) - _MAX_OUTPUT
        more = f"\n… {plural(cut, 'more character')}; --output shows all" if cut > 0 else ""
        lines += ["", f"Output ({_bytes(run.output_bytes)}):", _indented(run.output[:_MAX_OUTPUT] + more)]
    if calls:
        lines += [
            "",
            "Calls:",
            *(line for number, call in enumerate(calls, 1) for line in _call_lines(number, call)),
        ]
    elif run.calls:
        lines += ["", f"{plural(run.calls, 'call')}, not recorded."]
    return "\n".join(lines) + "\n"


def _call_lines(number: int, call: CallRecord) -> list[str]:
    how = (
        "sent, outcome unknown" if call.outcome == SENT else f"{call.outcome} ({_seconds(call.duration_ms)})"
    )
    # A call of an unknown tool names no server.
    what = f"{one_line(call.server)}: {one_line(call.tool)}" if call.server else one_line(call.tool)
    lines = [f"  {number}. {what}, {how}"]
    for word, text, is_cut, size in (
        ("arguments", call.arguments, call.arguments_cut, call.argument_bytes),
        ("result", _essence(call.result), call.result_cut, call.result_bytes),
        ("error", call.error, False, 0),
        ("breach", call.breach, False, 0),
    ):
        if text is not None:
            more = f" ({_bytes(size)}, stored in part)" if is_cut else ""
            lines.append(f"     {word:9} {one_line(text, _MAX_VALUE)}{more}")
    return lines


def _essence(result: str | None) -> str | None:
    """Return the structured content of a result, or else its text."""
    if result is None:
        return None
    wire = json.loads(result)
    if wire.get("structuredContent") is not None:
        return json.dumps(wire["structuredContent"], ensure_ascii=False)
    texts = [block.get("text") for block in wire.get("content", []) if isinstance(block, dict)]
    return json.dumps(texts[0] if len(texts) == 1 else wire.get("content"), ensure_ascii=False)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.rstrip("\n").split("\n"))


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _seconds(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "-"
    return f"{milliseconds:.0f} ms" if milliseconds < _KILO else f"{milliseconds / _KILO:.1f} s"


def _bytes(number: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if number < _KILO:
            return f"{number:.0f} {unit}"
        number /= _KILO
    return f"{number:.1f} GB"
