"""Redact the records of runs and calls."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from halflap.store import CallRecord, RunRecord

if TYPE_CHECKING:
    from halflap.calls.redact.redactor import Redactor
    from halflap.config import Record
    from halflap.store import AnyRecord

__all__ = ["redact_record", "without_values"]

logger = logging.getLogger(__name__)


def redact_record(record: AnyRecord, level: Record, redactor: Redactor, limit: int) -> AnyRecord:
    """Return the part of a record that is stored; a call's arguments and result are cut to `limit` bytes each."""
    if isinstance(record, CallRecord):
        if record.arguments is not None:
            record = replace(record, argument_bytes=len(record.arguments.encode(errors="replace")))
        if record.result is not None:
            record = replace(record, result_bytes=len(record.result.encode(errors="replace")))
    try:
        return _redacted(record if level == "full" else without_values(record), redactor, limit)
    except Exception:
        logger.exception("a record could not be redacted; only its metadata is kept")
        return without_values(record)


def _redacted(record: AnyRecord, redactor: Redactor, limit: int) -> AnyRecord:
    def text(text: str | None) -> str | None:
        return text and redactor.text(text)

    if isinstance(record, RunRecord):
        # Output is never cut.
        code = record.code and redactor.code(record.code)
        return replace(record, code=code, output=text(record.output), error=text(record.error))
    if isinstance(record, CallRecord):
        arguments, arguments_cut = redactor.value_within(record.arguments, limit)
        result, result_cut = redactor.value_within(record.result, limit)
        return replace(
            record,
            # The name of a tool that does not exist may be anything.
            tool=record.tool if record.definition_hash else redactor.text(record.tool),
            arguments=arguments,
            arguments_cut=arguments_cut,
            result=result,
            result_cut=result_cut,
            breach=text(record.breach),
            error=text(record.error),
        )
    return record


def without_values(record: AnyRecord) -> AnyRecord:
    """Return a record reduced to its metadata."""
    if isinstance(record, CallRecord):
        # The place of a breach is metadata, the value found there is not.
        breach = record.breach and record.breach.partition(", received")[0]
        return replace(record, arguments=None, result=None, breach=breach, error=None)
    if isinstance(record, RunRecord):
        return replace(record, code=None, output=None, error=None)
    return record
