"""What is kept of a run or a call: redacted, within bounds, and no more than was asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halflap.calls.redact import Redactor
    from halflap.config import Record
    from halflap.store import CallRecord, RunRecord

__all__ = ["Raw", "keep_call", "keep_run", "raw", "size", "weight"]

Raw = str | Mapping[str, Any] | None
"""A JSON object as its text, or, where it is large, as it is."""

_LARGE = 200_000
_BESIDE = len('"",')
_ANY_SCALAR = 8


def raw(value: Mapping[str, Any]) -> Raw:
    """Give a JSON object in the form in which it waits to be kept: writing a large one takes too long here."""
    if size(value, most=_LARGE) > _LARGE:
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        # What is not JSON is looked at piece by piece.
        return value


def weight(value: Raw) -> int:
    """Say about how many bytes wait with it; of a large one, that it is large."""
    return 0 if value is None else len(value) if isinstance(value, str) else size(value, most=_LARGE * 10)


def size(value: Any, most: float = float("inf")) -> int:
    """Measure a JSON value, about, and no further than `most`."""
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


def keep_run(record: RunRecord, redactor: Redactor, level: Record) -> RunRecord:
    """Give a run as it is written. Its output is kept whole."""
    if level == "metadata":
        return replace(record, code=None, output=None, error=None)
    return replace(
        record,
        code=None if record.code is None else redactor.code(record.code),
        output=None if record.output is None else redactor.text(record.output),
        error=None if record.error is None else redactor.text(record.error),
    )


def keep_call(
    record: CallRecord, arguments: Raw, result: Raw, redactor: Redactor, *, level: Record, limit: int
) -> CallRecord:
    """Give a call as it is written."""
    if not record.definition_hash:
        # What was asked for is no tool's name; it may be anything.
        record = replace(record, tool=redactor.text(record.tool))
    if isinstance(result, Mapping):
        record = replace(record, result_bytes=max(record.result_bytes, size(result)))
    if level == "metadata":
        # Where the result broke its schema may say what was there instead.
        breach = None if record.breach is None else record.breach.partition(", received")[0]
        return replace(record, breach=breach, error=None)
    record = replace(
        record,
        breach=None if record.breach is None else redactor.text(record.breach),
        error=None if record.error is None else redactor.text(record.error),
    )
    if arguments is not None:
        value, cut = redactor.value_within(_read(arguments), limit)
        record = replace(record, arguments=_written(value), arguments_cut=cut)
    if result is not None:
        value, cut = _result_within(_read(result), limit, redactor)
        record = replace(record, result=_written(value), result_cut=cut)
    return record


def _result_within(wire: Mapping[str, Any], limit: int, redactor: Redactor) -> tuple[Mapping[str, Any], bool]:
    """Cut a result so that its structured content has its share, though its text comes first."""
    if "structuredContent" not in wire:
        return redactor.value_within(wire, limit)
    structured, cut = redactor.value_within(wire["structuredContent"], limit // 2)
    rest = {key: value for key, value in wire.items() if key != "structuredContent"}
    others, cut_too = redactor.value_within(rest, limit - min(size(structured), limit // 2))
    kept = {key: structured if key == "structuredContent" else others.get(key) for key in wire}
    return {key: value for key, value in kept.items() if key in others or key == "structuredContent"}, (
        cut or cut_too
    )


def _read(value: str | Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(value, str):
        read: Mapping[str, Any] = json.loads(value)
        return read
    return value


def _written(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
