"""`halflap runs`: list, show and delete recorded runs."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from halflap.cli.command import CONFIG_AND_JSON, Invocation, command, group
from halflap.cli.options import YesOption, confirm, exclusive
from halflap.cli.output import Table, note, one_line, outline, print_json, working, write
from halflap.core.errors import StoreError, UsageError
from halflap.core.text import plural
from halflap.gateway import Gateway
from halflap.store import SENT

if TYPE_CHECKING:
    from halflap.store import CallRecord, RunRecord

_SHOWN_ID = 16
_LAST = "last"
"""The newest run; real identifiers are hexadecimal."""
_AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([mhdw])\Z")
_SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_SECOND = 1_000
_MB = 1_000_000
_MAX_VALUE = 300
_MAX_OUTPUT = 4_000

runs = group("runs", "List, show and delete recorded runs.", has_default=True)


@asynccontextmanager
async def _recorded(invocation: Invocation, otherwise: str) -> AsyncIterator[Gateway]:
    # A store that can't be opened is an error here.
    logging.getLogger("halflap.store").setLevel(logging.ERROR)
    async with Gateway.open(invocation.config(), refresh_stale=False) as gateway:
        if gateway.store_trouble is not None:
            raise StoreError(f"{gateway.store_trouble} {otherwise}")
        yield gateway


@command(runs, "list", shared=CONFIG_AND_JSON, is_default=True)
async def list_runs(
    invocation: Invocation,
    limit: Annotated[int, Option("--limit", "-n", min=1, max=10_000, help="Maximum number of runs.")] = 20,
) -> None:
    """List recorded runs, newest first."""
    async with _recorded(invocation, "The recorded runs can't be read.") as gateway:
        found = await gateway.runs(limit)
    headings = ["run", "when", "outcome", "time", "calls", "code"]
    invocation.show([_run_data(run) for run in found], Table(headings, map(_row, found), right={3, 4}))
    if not found:
        note("No runs are recorded.")


def _row(run: RunRecord) -> list[str]:
    shown = one_line(run.name or run.code or "", 80)
    return [
        run.id[: _SHOWN_ID if sys.stdout.isatty() else None],
        _local(run.started_at),
        run.outcome,
        _duration(run),
        str(run.calls),
        shown,
    ]


@command(runs, shared=CONFIG_AND_JSON)
async def show(
    invocation: Invocation,
    identifier: Annotated[str, Argument(metavar="ID", help="A run's id or its beginning, or `last`.")],
    only_output: Annotated[bool, Option("--output", help="Print only the output.")] = False,
) -> None:
    """Show a run: code, output and calls."""
    exclusive(output=only_output, json=invocation.as_json)
    async with _recorded(invocation, "The recorded runs can't be read.") as gateway:
        if identifier == _LAST:
            newest = await gateway.runs(1)
            if not newest:
                raise UsageError("No runs are recorded.")
            identifier = newest[0].id
        run, calls = await gateway.run(identifier)
    if invocation.as_json:
        print_json({**_run_data(run), "output": run.output, "calls": [_call_data(call) for call in calls]})
    elif only_output:
        if run.output is None:
            note("The output of this run was not recorded.")
        write(run.output or "", exact=True)
    else:
        write("\n".join(outline(_shown(run, calls))) + "\n")


@command(runs, shared=CONFIG_AND_JSON)
async def purge(
    invocation: Invocation,
    older_than: Annotated[
        str | None, Option(metavar="AGE", help="Delete runs older than this: 30m, 12h, 7d, 4w.")
    ] = None,
    everything: Annotated[bool, Option("--all", help="Delete all runs.")] = False,
    yes: YesOption = False,
) -> None:
    """Delete recorded runs and calls for good."""
    if (older_than is None) == (not everything):
        raise UsageError("Use either --older-than AGE or --all.")
    match = _AGE.match((older_than or "0m").strip().lower())
    if match is None:
        raise UsageError(f"{older_than!r} is not an age. Write 30m, 12h, 7d or 4w.")
    before = None if everything else time.time() - float(match[1]) * _SECONDS[match[2]]
    what = "all runs and calls" if everything else f"runs and calls older than {older_than}"
    confirm(f"Delete {what}?", "Nothing was deleted.", yes=yes)
    async with _recorded(invocation, "Nothing was deleted.") as gateway:
        with working("Deleting"):
            deleted = await gateway.purge_runs(older_than=before, everything=everything)
    invocation.report(
        {"runs": deleted.runs, "calls": deleted.calls},
        f"Deleted {plural(deleted.runs, 'run')} and {plural(deleted.calls, 'call')}.",
    )


def _run_data(run: RunRecord) -> dict[str, Any]:
    data = {key: value for key, value in asdict(run).items() if key not in {"output", "calls", "process"}}
    return _camel({**data, "started_at": _moment(run.started_at), "call_count": run.calls})


def _call_data(call: CallRecord) -> dict[str, Any]:
    """Return a call of a run, with parsed arguments and result."""
    data = {key: value for key, value in asdict(call).items() if key not in {"run", "principal"}}
    for key in ("arguments", "result"):
        data[key] = None if data[key] is None else json.loads(data[key])
    return _camel({**data, "started_at": _moment(call.started_at)})


def _camel(data: dict[str, Any]) -> dict[str, Any]:
    return {re.sub(r"_(\w)", lambda part: part[1].upper(), key): value for key, value in data.items()}


def _shown(run: RunRecord, calls: Sequence[CallRecord]) -> dict[str, Any]:
    """Return a run for people: without identifiers, and with long values cut."""
    output = run.output or ""
    cut = len(output) - _MAX_OUTPUT
    more = f"\n… {plural(cut, 'more character')}; --output shows all" if cut > 0 else ""
    costs = [
        _duration(run),
        None if run.cpu_ms is None else f"{run.cpu_ms:.0f} ms of CPU",
        None if run.memory_bytes is None else f"{run.memory_bytes / _MB:.0f} MB",
        run.sandbox,
    ]
    return {
        "id": run.id,
        "kind": run.kind,
        "name": run.name,
        "outcome": run.outcome,
        "error": run.error,
        "started": _local(run.started_at),
        "took": ", ".join(filter(None, costs)),
        "principal": run.principal,
        "code": run.code,
        "output": output[:_MAX_OUTPUT] + more,
        "calls": [_shown_call(call) for call in calls],
    }


def _shown_call(call: CallRecord) -> dict[str, Any]:
    outcome = "sent, outcome unknown" if call.outcome == SENT else call.outcome
    result = json.loads(call.result) if call.result else {}
    value = json.dumps(result.get("structuredContent", result.get("content")), ensure_ascii=False)
    return {
        # A call of an unknown tool has no server.
        "tool": ": ".join(filter(None, (call.server, call.tool))),
        "outcome": f"{outcome}, {_duration(call)}",
        "arguments": call.arguments and one_line(call.arguments, _MAX_VALUE),
        "result": call.result and one_line(value, _MAX_VALUE),
        "error": call.error,
        "breach": call.breach,
    }


def _local(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().isoformat(" ", "seconds")


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _duration(of: RunRecord | CallRecord) -> str:
    took = of.duration_ms
    return "-" if took is None else f"{took:.0f} ms" if took < _SECOND else f"{took / _SECOND:.1f} s"
