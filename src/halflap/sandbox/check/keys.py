"""Reads of a value that certainly fail: a key, an index or an attribute that is not there, an `await` that is missing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rapidfuzz import fuzz
from rapidfuzz.distance import OSA

from halflap.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from halflap.sandbox.check.answer import Use
    from halflap.sandbox.check.probes import Probes, Types
    from halflap.schema.stub import Record

__all__ = ["AWAITABLE", "LIST", "Reads", "Verdict", "meant"]

AWAITABLE = ("Awaitable[Any]",)
_COROUTINE = ("Coroutine[Any, Any, Any]",)
_OBJECT = ("HalflapObject",)
LIST = ("HalflapList[Any]", "Sequence[HalflapObject | HalflapText | HalflapInteger | HalflapNumber]")
_KINDS: dict[str, tuple[Types, type]] = {
    "a list": (LIST, list),
    "a string": (("HalflapText",), str),
    "a number": (("HalflapInteger", "HalflapNumber"), float),
}
"""What a declared value may be, other than an object, and its Python type."""
_OTHERS = (
    "HalflapMaybe", "dict[Any, Any]", "tuple[Any, ...]", "bool", "None", "BaseException", "Awaitable[Any]",
)  # fmt: skip
_MAX_RECORDS = 40
"""With more objects than that it is not asked which of them a value is: the number of questions grows with the square."""
_MAX_KEYS = 20
_MAX_KEY = 60
_MAX_COMPARED = 300
_SHORTEST = 4
_SHORTEST_PART = 5
_ALIKE = 84.0
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with a use, and whether that is certain."""

    certain: bool
    rule: str
    wrong: str
    right: str = ""


class Reads:
    """Judges reads of values by the objects that tools return."""

    def __init__(self, records: Iterable[Record], probes: Probes) -> None:
        self._records = [one for one in records if one.source != "input"]
        self._probes = probes

    def verdict(self, use: Use) -> Verdict | None:
        """Judge a read; None if nothing is known about the value."""
        judge = {"key": self._key, "index": self._index, "attribute": self._attribute}[use.kind]
        unawaited = self._unawaited(use)
        found = judge(use)
        return unawaited or found

    def readable(self, message: str) -> str:
        """Return a message of ty's without our names of objects."""
        for record in sorted(self._records, key=lambda one: -len(one.name)):
            message = message.replace(record.name, describe(record))
        return message

    def _unawaited(self, use: Use) -> Verdict | None:
        # A task can be given attributes; a coroutine cannot.
        kinds = _COROUTINE if use.kind == "attribute" else AWAITABLE
        if not self._probes.all_are(use.value, kinds):
            return None
        return Verdict(
            not (use.guarded or use.excused),
            "not-awaited",
            f"{_value(use)} is used without being awaited.",
            "Write `await` before the call that it comes from.",
        )

    def _key(self, use: Use) -> Verdict | None:
        failing = tuple(one.name for one in self._records if _certainly_lacks(use.name, one))
        others = tuple(kind for kinds, _ in _KINDS.values() for kind in kinds)
        sure = self._probes.all_are(use.value, (*failing, *others, "None", "BaseException"))
        nothing = self._probes.all_are(use.value, ("None",))
        records, kinds = self._members(use)
        lacking = [one for one in records if use.name not in one.keys]
        certain = sure and not nothing and not (use.guarded or use.excused)
        if use.over is not None and self._probes.all_are(use.over, _OBJECT):
            return Verdict(
                not (use.guarded or use.excused),
                "no-keys",
                f"{_value(use)} is one of the keys of an object, a string: a loop over an object gives its keys.",
                "Loop over a list in the object, or over its `.items()`.",
            )
        if lacking:
            return self._unknown_key(use, lacking, certain=certain and not use.put)
        if kinds:
            right = "Read the key from its items." if kinds == ["a list"] else ""
            wrong = f"{_value(use)} is {' or '.join(kinds)} and has no key {_quoted(use.name)}."
            return Verdict(certain, "no-keys", wrong, right)
        if sure and not nothing:
            return Verdict(
                certain and not use.put, "unknown-key", f"{_value(use)} has no key {_quoted(use.name)}."
            )
        return None

    def _unknown_key(self, use: Use, records: Sequence[Record], *, certain: bool) -> Verdict:
        known = list(dict.fromkeys(key for one in records for key in one.keys))
        near = meant(use.name, known)
        return Verdict(
            certain,
            "unknown-key",
            f"{_quoted(use.name)} is not in {self._described(records)}; keys: {_listed(known)}.",
            f"Did you mean {' or '.join(map(_quoted, near))}?" if near else "",
        )

    def _index(self, use: Use) -> Verdict | None:
        records, _ = self._members(use)
        sure = self._probes.all_are(use.value, _OBJECT)
        if not (records or sure):
            return None
        known = list(dict.fromkeys(key for one in records for key in one.keys))
        return Verdict(
            sure and not (use.guarded or use.excused),
            "unknown-key",
            f"{_value(use)} is an object, {self._described(records)}, and has no items by number; keys: {_listed(known)}.",
            "Read a list in it by its key first.",
        )

    def _attribute(self, use: Use) -> Verdict | None:
        lacking = {shown: types for shown, (types, made) in _KINDS.items() if not hasattr(made, use.name)}
        failing = [kind for types in lacking.values() for kind in types]
        failing += [] if hasattr(dict, use.name) else _OBJECT
        sure = self._probes.all_are(use.value, tuple(failing)) if failing else False
        records, kinds = self._members(use)
        records = [] if hasattr(dict, use.name) else records
        kinds = [one for one in kinds if one in lacking]
        certain = sure and not (use.guarded or use.excused)
        if records:
            known = list(dict.fromkeys(key for one in records for key in one.keys))
            near = [use.name] if use.name in known else list(meant(use.name, known))
            written = [f"`{use.shown or '…'}[{_quoted(one)}]`" for one in near]
            return Verdict(
                certain,
                "no-attribute",
                f"{_value(use)} is an object, {self._described(records)}: its keys are read in brackets; "
                f"keys: {_listed(known)}.",
                f"Write {' or '.join(written)}." if near else "",
            )
        if not (kinds or sure):
            return None
        shown = f"is {' or '.join(kinds)} and has" if kinds else "has"
        return Verdict(certain, "no-attribute", f"{_value(use)} {shown} no attribute {_quoted(use.name)}.")

    def _members(self, use: Use) -> tuple[list[Record], list[str]]:
        """Return which objects and what else a value may be, as far as that is known."""
        if len(self._records) > _MAX_RECORDS:
            return [], []
        options = [*((one.name,) for one in self._records), *(types for types, _ in _KINDS.values())]
        found = self._probes.members(use.value, options, _OTHERS)
        count = len(self._records)
        kinds = [*_KINDS]
        return [self._records[one] for one in found if one < count], [
            kinds[one - count] for one in found if one >= count
        ]

    def _described(self, records: Sequence[Record]) -> str:
        where = " or ".join(dict.fromkeys(map(describe, records)))
        return where if all(one.source == "declared" for one in records) else f"{where}, as far as is known"


def describe(record: Record) -> str:
    """Return which object a record is, for people."""
    path = visible(record.path, _MAX_KEY)
    if record.source == "input":
        return f"the argument {path} of {record.tool}"
    place = {"": "", "[]": "an item of ", "{}": "a value of "}.get(path, f"{path} of ")
    return f"{place}the result of {record.tool}"


def _certainly_lacks(key: str, record: Record) -> bool:
    if key in record.keys or record.source != "declared" or record.open:
        return False
    return record.closed or bool(meant(key, record.keys))


def meant(key: str, known: Iterable[str]) -> Sequence[str]:
    """Return the known keys of which this is probably a misspelling or a part, best first."""
    scores = {one: _likeness(key, one) for one in list(known)[:_MAX_COMPARED]}
    return sorted((one for one in scores if scores[one] >= _ALIKE), key=lambda one: -scores[one])[:3]


def _likeness(key: str, known: str) -> float:
    mine, its = _words(key), _words(known)
    if mine and mine == its:
        return 100.0
    # A part of a declared name is that one cut short; a declared name and more is rather another field.
    if _is_part(mine, its):
        return 90.0
    short, long = sorted((len(key), len(known)))
    lower = key.casefold(), known.casefold()
    if long >= _SHORTEST and OSA.distance(*lower, score_cutoff=1) <= 1:
        return 95.0
    return fuzz.ratio(*lower) if short >= _SHORTEST and long - short <= short // 2 else 0.0


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.casefold() for word in _WORD.findall(text[:200]))


def _is_part(short: tuple[str, ...], long: tuple[str, ...]) -> bool:
    if not 0 < len(short) < len(long) or short not in {long[-len(short) :], long[: len(short)]}:
        return False
    return any(len(word) >= _SHORTEST_PART for word in short)


def _value(use: Use) -> str:
    return f"`{use.shown}`" if use.shown else "the value"


def _quoted(key: str) -> str:
    return f"'{visible(key, _MAX_KEY)}'"


def _listed(keys: Sequence[str]) -> str:
    shown = [visible(key, _MAX_KEY) for key in keys[:_MAX_KEYS]]
    return ", ".join(shown if len(keys) <= _MAX_KEYS else [*shown, "…"]) or "none"
