"""Keys that are not there: whether that is certain, and what is there instead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.core.text import visible
from halflap.sandbox.check.near import nearest
from halflap.sandbox.check.seen import place_of
from halflap.sandbox.check.typetext import is_awaitable, kind_of, members

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.sandbox.check.reading import Diagnostic
    from halflap.sandbox.check.seen import Place, Read, Seen
    from halflap.schema.stub import Record

__all__ = ["Keys", "Verdict"]

_OF_ONE = re.compile(r'Unknown key ".*" for TypedDict `(\w+)`', re.DOTALL)
_OF_SEVERAL = re.compile(r"\(subscripted object has type `(.*)`\)\Z", re.DOTALL)
_GETITEM = "Method `__getitem__` of type "
_MOST_KEYS = 20
_LONGEST_KEY = 60
_OURS = re.compile(r"\b_(?:mcp|script|dspy)__")
_WORDS = {
    "array": "a list", "string": "a text", "integer": "a number", "number": "a number", "boolean": "true or false",
    "null": "nothing (None)", "odd": "no object",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is to be said of one key."""

    certain: bool
    rule: str
    wrong: str
    right: str = ""


class Keys:
    """The keys that a program asks for."""

    def __init__(self, seen: Seen, records: Mapping[str, Record]) -> None:
        self._seen = seen
        self._records = {name: one for name, one in records.items() if name not in seen.bound}
        self._by_key: dict[tuple[int, int], Read] = {read.key_at.begin: read for read in seen.reads}
        self._by_value: dict[Place, Read] = {read.value_at: read for read in seen.reads}
        self._by_whole: dict[Place, Read] = {read.at: read for read in seen.reads}

    def asked(self, one: Diagnostic) -> Read | None:
        """Give the place that a diagnostic speaks of, if it is one where a value is asked for a key."""
        place = place_of(one)
        if one.rule == "invalid-typed-dict-key":
            return self._by_key.get(place.begin)
        if one.rule == "not-subscriptable":
            return self._by_whole.get(place)
        return self._by_value.get(place) if one.message.startswith(_GETITEM) else None

    @staticmethod
    def said(one: Diagnostic) -> str | None:
        """Give all that the value may be, where ty says so itself: it does of objects that lack a key."""
        if one.rule != "invalid-typed-dict-key":
            return None
        found = _OF_SEVERAL.search(one.message) or _OF_ONE.match(one.message)
        return None if found is None else found.group(1)

    def verdict(self, read: Read, types: Mapping[Place, str], *, lying: bool) -> Verdict:
        """Judge a key that ty says is not there, given all that values may be."""
        kind = types.get(read.value_at)
        choices = members(kind) if kind else []
        records = [self._records[one] for one in choices if one in self._records]
        others = [one for one in choices if one not in self._records]
        if choices and all(map(is_awaitable, choices)):
            shown = f"`{read.shown}`" if read.shown else "the value"
            return Verdict(
                certain=not (lying or read.guarded or read.open),
                rule="not-awaited",
                wrong=f"{shown} is used without being awaited.",
                right="Write `await` before the call that it comes from.",
            )
        fails = bool(choices) and all(kind_of(one) not in {None, "object"} for one in others)
        fails = fails and all(self._lacks(read.key, one, records) for one in records)
        fails = fails and not (others and not records and set(others) == {"None"})
        lying = lying and not read.at_once
        certain = fails and not (lying or read.guarded or read.through or read.open)
        if not records:
            # Of what tools do not give, the program is its own judge.
            of_tool = read.awaited or self._is_of_tool(kind or "", types, read)
            return self._of_other(read, others, certain=certain and of_tool)
        return self._of_records(read, records, certain=certain and not read.put)

    def _is_of_tool(self, kind: str, types: Mapping[Place, str], read: Read) -> bool:
        """Say whether a tool declares what the value is, or what it is a part of."""
        if _OURS.search(kind):
            return True
        base = types.get(read.base_at) if read.base_at is not None else None
        return base is not None and all(one in self._records for one in members(base))

    def _lacks(self, key: str, record: Record, beside: Sequence[Record]) -> bool:
        if key in record.keys or record.open or record.source != "declared":
            return False
        return record.closed or bool(nearest(key, [known for one in beside for known in one.keys]))

    def _of_records(self, read: Read, records: Sequence[Record], *, certain: bool) -> Verdict:
        known = list(dict.fromkeys(key for one in records for key in one.keys))
        if read.key in known:
            shown = f"`{read.shown}`" if read.shown else "the value"
            return Verdict(
                certain, "unknown-key", f"{shown} may also be something without {_shown(read.key)}."
            )
        near = nearest(read.key, known)
        where = " or ".join(dict.fromkeys(self.describe(one.name) for one in records))
        thought = "" if all(one.source == "declared" for one in records) else ", as far as is known"
        return Verdict(
            certain,
            "unknown-key",
            f"{_shown(read.key)} is not in {where}{thought}; keys: {_listed(known)}.",
            f"Did you mean {' or '.join(map(_shown, near))}?" if near else "",
        )

    def _of_other(self, read: Read, kinds: Sequence[str], *, certain: bool) -> Verdict:
        named = dict.fromkeys(_WORDS.get(kind_of(one) or "", "something without keys") for one in kinds)
        shown = f"`{read.shown}`" if read.shown else "this"
        right = ""
        if any(kind_of(one) == "array" for one in kinds):
            right = "Take its items one by one, or one of them by its number, then the key."
        return Verdict(
            certain,
            "no-keys",
            f"{shown} is {' or '.join(named) or 'something without keys'} and has no key {_shown(read.key)}.",
            right,
        )

    def describe(self, name: str) -> str:
        """Say which object a record is."""
        record = self._records.get(name)
        if record is None:
            return name
        if record.source == "input":
            return f"the argument {visible(record.path, _LONGEST_KEY)} of {record.tool}"
        path = visible(record.path, _LONGEST_KEY)
        place = {"": "", "[]": "an item of ", "{}": "a value of "}.get(path, f"{path} of ")
        return f"{place}the result of {record.tool}"


def _shown(key: str) -> str:
    return f"'{visible(key, _LONGEST_KEY)}'"


def _listed(keys: Sequence[str]) -> str:
    shown = [visible(key, _LONGEST_KEY) for key in keys[:_MOST_KEYS]]
    return ", ".join(shown if len(keys) <= _MOST_KEYS else [*shown, "…"]) or "none"
