"""A recorded run as JSON and as text."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from halflap.cli.output import one_line
from halflap.store import RUNNING, SENT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.store import CallRecord, RunRecord

__all__ = ["call_as_json", "in_short", "run_as_json", "run_as_text"]

_LONGEST_VALUE = 300
_LONGEST_OUTPUT = 4_000
_KILO = 1_000


def run_as_json(run: RunRecord) -> dict[str, Any]:
    """Give a run for a program, without its output."""
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


def call_as_json(call: CallRecord) -> dict[str, Any]:
    """Give a call for a program, whole."""
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


def in_short(run: RunRecord) -> tuple[str, str, str]:
    """Give outcome, time and number of calls."""
    return run.outcome, _seconds(run.duration_ms), str(run.calls)


def run_as_text(run: RunRecord, calls: Sequence[CallRecord]) -> str:
    """Tell of a run: what it did, what it said, and what it called."""
    when = datetime.fromtimestamp(run.started_at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
    outcome = run.outcome
    if outcome == RUNNING:
        outcome = "running, or ended with its gateway"
    took = [_seconds(run.duration_ms)] if run.duration_ms is not None else []
    if run.cpu_ms is not None:
        took.append(f"{_seconds(run.cpu_ms)} of CPU")
    if run.memory_bytes is not None:
        took.append(_bytes(run.memory_bytes))
    lines = [
        f"Run {run.id}",
        f"  {one_line(run.kind if run.name is None else f'{run.kind} {run.name}')} of {one_line(run.principal)}, {when}",
        f"  {outcome}" + (f" ({', '.join(took)})" if took else ""),
    ]
    if run.error is not None:
        lines += ["", "Error:", _indented(run.error)]
    if run.code is not None:
        lines += ["", "Code:", _indented(run.code)]
    if run.output:
        lines += ["", f"Output ({_bytes(run.output_bytes)}):", _indented(_cut(run.output))]
    if calls:
        lines += ["", "Calls:"]
        for number, call in enumerate(calls, 1):
            lines += _call_lines(number, call)
    elif run.calls:
        lines += ["", f"{run.calls} calls, which are not recorded."]
    return "\n".join(lines) + "\n"


def _call_lines(number: int, call: CallRecord) -> list[str]:
    if call.outcome == SENT:
        how = "sent, outcome unknown"
    else:
        how = f"{call.outcome} ({_seconds(call.duration_ms)})"
    # A call of what there is not may name no server.
    what = f"{one_line(call.server)}: {one_line(call.tool)}" if call.server else one_line(call.tool)
    lines = [f"  {number}. {what}, {how}"]
    for word, text, was_cut, size in (
        ("given", call.arguments, call.arguments_cut, call.argument_bytes),
        ("gave", _essence(call.result), call.result_cut, call.result_bytes),
        ("error", call.error, False, 0),
        ("breach", call.breach, False, 0),
    ):
        if text is not None:
            more = f" ({_bytes(size)}, kept in part)" if was_cut else ""
            lines.append(f"     {word:6} {one_line(text, _LONGEST_VALUE)}{more}")
    return lines


def _essence(result: str | None) -> str | None:
    """Give what is worth reading of a result: its structured content, else its text."""
    if result is None:
        return None
    wire = json.loads(result)
    if wire.get("structuredContent") is not None:
        return json.dumps(wire["structuredContent"], ensure_ascii=False)
    texts = [block.get("text") for block in wire.get("content", []) if isinstance(block, dict)]
    return json.dumps(texts[0] if len(texts) == 1 else wire.get("content"), ensure_ascii=False)


def _cut(output: str) -> str:
    if len(output) <= _LONGEST_OUTPUT:
        return output
    return f"{output[:_LONGEST_OUTPUT]}\n… and {len(output) - _LONGEST_OUTPUT} characters more: --output shows all"


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
