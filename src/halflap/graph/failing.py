"""What in a tool's result says that the call failed, as far as its type tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.graph.edge import Sign
from halflap.graph.words import phrase, words_of
from halflap.schema import fields_of, object_types

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.schema import Type

__all__ = ["FAILED", "signs_of"]

FAILED = ("error", "fail", "failed", "failure")
_SUCCESS = frozenset({"success", "ok", "is success", "is ok", "succeeded", "successful", "is successful"})
_OUTCOME = frozenset({"status", "state", "outcome"})
_CODE = frozenset({"code", "status code", "error code", "err code", "errno", "ret code"})
_ERROR = frozenset({"error", "err"})
_MESSAGE = frozenset({"message", "error message", "err message", "detail", "reason"})
_INNER = ("data", "result", "payload", "response", "body")
_GOOD = frozenset({"ok", "success", "succeeded", "successful", "done", "partial", "warning"})


def signs_of(kind: Type | None) -> tuple[Sign, ...]:
    """Give the keys of a result that say whether it is one, and those that say what went wrong."""
    return () if kind is None else tuple(_signs(kind))


def _signs(kind: Type) -> Iterator[Sign]:
    fields = {one.name: one.type for one in fields_of(object_types(kind))}
    names = {one: phrase(words_of(one)) for one in fields}
    inner = next((one for one in _INNER if one in fields), "")
    tells = any(one in _MESSAGE or one in _ERROR for one in names.values())
    for name, said in names.items():
        kinds = {one.kind for one in _parts(fields[name])}
        # A list: a value may be one that no set takes.
        values = [value for one in _parts(fields[name]) for value in one.values]
        texts = {value.lower() for value in values if isinstance(value, str)}
        if said in _SUCCESS and (
            kinds == {"boolean"} or (values and all(isinstance(v, bool) for v in values))
        ):
            yield Sign("false", name)
        elif said in _OUTCOME and kinds <= {"string", "values"} and kinds:
            # An order may have failed, and reading it not: it has to be the outcome of the call.
            if (texts and texts <= {*FAILED, *_GOOD}) or (inner and tells and not texts - {*FAILED, *_GOOD}):
                yield Sign("word", name)
        elif (
            said in _CODE and inner and tells and kinds and kinds <= {"integer", "number", "string", "values"}
        ):
            yield Sign("code", name, inner)
        elif said in _ERROR and kinds and not kinds & {"integer", "number"}:
            yield Sign("error", name, inner)
        if said in _MESSAGE and kinds <= {"string", "any", "values"}:
            yield Sign("message", name)


def _parts(kind: Type) -> list[Type]:
    return [one for one in (kind.members or (kind,)) if one.kind not in {"null", "never"}]
