"""Arguments and results on their way into a record: measured, redacted, and cut to the configured size."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halflap.calls.redact import Redactor
    from halflap.config import Record
    from halflap.store import CallRecord, RunRecord

__all__ = ["LARGE", "Payload", "payload", "size", "stored_call", "stored_run", "weight"]

Payload = str | Mapping[str, Any] | None
"""A JSON object: as text, so that it cannot change any more, or as it is where writing it would take too long."""

LARGE = 200_000
_BESIDE = len('"",')
_ANY_SCALAR = 8


def payload(value: Mapping[str, Any]) -> Payload:
    """Return a JSON object in the form in which it waits to be recorded."""
    if size(value, most=LARGE) > LARGE:
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return value


def weight(value: Payload) -> int:
    """Return about how many bytes it takes while it waits."""
    return 0 if value is None else len(value) if isinstance(value, str) else size(value, most=LARGE * 10)


def size(value: Any, most: float = float("inf")) -> int:
    """Return the approximate size of a JSON value, counting no further than `most`."""
    total, rest = 0, [value]
    while rest and total <= most:
        one = rest.pop()
        if isinstance(one, str):
            total += len(one) + _BESIDE
        elif isinstance(one, Mapping):
            total += sum(len(str(key)) + _BESIDE for key in one)
            rest.extend(one.values())
        elif isinstance(one, list | tuple):
            total += _BESIDE
            rest.extend(one)
        else:
            total += _ANY_SCALAR
    return total


def stored_run(record: RunRecord, redactor: Redactor, level: Record) -> RunRecord:
    """Return a run as it is stored. Its output is kept whole."""
    if level == "metadata":
        return replace(record, code=None, output=None, error=None)
    return replace(
        record,
        code=None if record.code is None else redactor.code(record.code),
        output=None if record.output is None else redactor.text(record.output),
        error=None if record.error is None else redactor.text(record.error),
    )


def stored_call(
    record: CallRecord, arguments: Payload, result: Payload, redactor: Redactor, *, level: Record, limit: int
) -> CallRecord:
    """Return a call as it is stored."""
    if not record.definition_hash:
        # There is no such tool, so the name may be anything.
        record = replace(record, tool=redactor.text(record.tool))
    if isinstance(result, Mapping):
        record = replace(record, result_bytes=max(record.result_bytes, size(result)))
    if level == "metadata":
        # The place of a breach is metadata, the value found there is not.
        breach = None if record.breach is None else record.breach.partition(", received")[0]
        return replace(record, breach=breach, error=None)
    record = replace(
        record,
        breach=None if record.breach is None else redactor.text(record.breach),
        error=None if record.error is None else redactor.text(record.error),
    )
    if arguments is not None:
        value, cut = redactor.value_within(_parsed(arguments), limit)
        record = replace(record, arguments=_written(value), arguments_cut=cut)
    if result is not None:
        value, cut = _result_within(_parsed(result), limit, redactor)
        record = replace(record, result=_written(value), result_cut=cut)
    return record


def _result_within(wire: Mapping[str, Any], limit: int, redactor: Redactor) -> tuple[Mapping[str, Any], bool]:
    """Cut a result so that half of the room is left for its structured content."""
    if "structuredContent" not in wire:
        return redactor.value_within(wire, limit)
    structured, cut = redactor.value_within(wire["structuredContent"], limit // 2)
    rest = {key: value for key, value in wire.items() if key != "structuredContent"}
    others, cut_too = redactor.value_within(rest, limit - min(size(structured), limit // 2))
    return {**others, "structuredContent": structured}, cut or cut_too


def _parsed(value: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(value, str):
        read: Mapping[str, Any] = json.loads(value)
        return read
    return value


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
