"""Reads that certainly fail: a key, an index or an attribute that a tool's result does not have, an `await` missing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from halflap.core.text import visible
from halflap.sandbox.check.inside.answer import Verdict
from halflap.sandbox.functions import listed

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.guards import Guards
    from halflap.sandbox.check.inside.probes import Probes, Types
    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["AWAITABLE", "COROUTINE", "Reads", "Record", "describe", "not_awaited", "source"]

AWAITABLE = ("Awaitable[Any]",)
COROUTINE = ("Coroutine[Any, Any, Any]",)
_OBJECT = ("HalflapObject",)
_LIST = ("HalflapList[Any]", "Sequence[HalflapObject | HalflapText | HalflapInteger | HalflapNumber]")
_KINDS: dict[str, tuple[Types, type]] = {
    "a list": (_LIST, list),
    "a string": (("HalflapText",), str),
    "a number": (("HalflapInteger", "HalflapNumber"), float),
    "None": (("None",), type(None)),
    "an error": (("BaseException",), BaseException),
}
"""What a value may be, other than an object, and its Python type."""
_OTHERS = ("HalflapMaybe", "dict[Any, Any]", "tuple[Any, ...]", "bool", *AWAITABLE)
"""What it may be so that nothing is certain."""
_MAX_KEY = 60
_MAX_SHOWN = 60
_SHORTEST = 4
_SHORTEST_END = 5
_MAX_COMPARED = 200


class Record(NamedTuple):
    """An object type that a tool returns (see `halflap.schema.stub.Record`)."""

    name: str
    tool: str
    path: str
    source: str
    keys: Sequence[str]
    closed: bool
    open: bool

    def certainly_lacks(self, key: str) -> bool:
        """Return whether it cannot have a key: it is closed, or the key is a slip for one that it declares."""
        if key in self.keys or self.source != "declared" or self.open:
            return False
        return self.closed or any(_is_slip(key, one) for one in self.keys)


class _Members(NamedTuple):
    """What a value may be: objects and other kinds; nothing, if that is not known."""

    records: list[Record]
    kinds: list[str]
    is_all: bool
    """It can be nothing else."""


class Reads:
    """Judges reads of values by the objects that tools return."""

    def __init__(self, tree: Tree, guards: Guards, records: Iterable[Record], probes: Probes) -> None:
        self._tree = tree
        self._guards = guards
        self._records = [one for one in records if one.source != "input" and one.name not in tree.bindings]
        self._probes = probes

    def verdict(self, read: ast.AST) -> Verdict | None:
        """Judge a read; None if nothing is known about the value."""
        if not isinstance(read, ast.Subscript | ast.Attribute) or not isinstance(read.ctx, ast.Load):
            return None
        # A task can be given attributes; a coroutine cannot.
        awaited = COROUTINE if isinstance(read, ast.Attribute) else AWAITABLE
        # An item of a container may have been awaited since.
        is_unawaited = not isinstance(read.value, ast.Subscript) and self._probes.all_are(read.value, awaited)
        found = self._judge(read, self._members(read.value))
        found = not_awaited(source(read.value)) if is_unawaited else found
        if found is None or not found.certain:
            return found
        return found._replace(certain=not (self.is_excused(read) or self._guards.is_guarded(read)))

    def is_excused(self, read: ast.AST | None) -> bool:
        """Return whether the value may hold more than the tool put there."""
        if not isinstance(read, ast.Subscript | ast.Attribute):
            return False
        if self._guards.is_rewritten and not isinstance(read.value, ast.Await):
            return True
        root = read.value
        while isinstance(root, ast.Subscript):
            if isinstance(root.slice, ast.Constant) and root.slice.value in self._guards.mentioned:
                return True
            root = root.value
        # Any method may have changed an attribute in the meantime.
        return isinstance(root, ast.Attribute)

    def _members(self, value: ast.expr) -> _Members:
        options: list[Record | str] = [*self._records, *_KINDS]
        types = [(one.name,) if isinstance(one, Record) else _KINDS[one][0] for one in options]
        is_all = self._probes.all_are(value, tuple(chain(*types)))
        found = [options[number] for number in self._probes.members(value, types, _OTHERS)]
        records = [one for one in found if isinstance(one, Record)]
        return _Members(records, [one for one in found if isinstance(one, str)], is_all)

    def _judge(self, read: ast.Subscript | ast.Attribute, members: _Members) -> Verdict | None:
        if isinstance(read, ast.Attribute):
            return self._attribute(read, members)
        match read.slice:
            case ast.Constant(value=str(key)):
                return self._looped(read) or self._key(read, key, members)
            case ast.Constant(value=int()) | ast.UnaryOp(operand=ast.Constant(value=int())) | ast.Slice():
                return self._index(read, members)
        return None

    def _looped(self, read: ast.Subscript) -> Verdict | None:
        """Judge a key that is read from the variable of a loop over an object."""
        loop = self._tree.loop_over(read.value)
        if loop is None or not self._probes.all_are(loop.iter, _OBJECT):
            return None
        wrong = f"{_code(read.value)} is a key of an object, a string: a loop over an object gives its keys."
        return Verdict(True, "no-keys", wrong, "Loop over a list in the object, or over its `.items()`.")

    def _key(self, read: ast.Subscript, key: str, members: _Members) -> Verdict | None:
        lacking = [one for one in members.records if key not in one.keys]
        kinds = [one for one in members.kinds if one != "None"]
        if not (lacking or kinds):
            return None
        sure = members.is_all and all(one.certainly_lacks(key) for one in members.records)
        if not lacking:
            right = "Read the key from its items." if kinds == ["a list"] else ""
            wrong = f"{_code(read.value)} is {' or '.join(kinds)} and has no key {_quoted(key)}."
            return Verdict(sure, "no-keys", wrong, right)
        known = _keys(lacking)
        wrong = f"{_quoted(key)} is not in {_described(lacking)}; keys: {_listed(known)}."
        return Verdict(sure and key not in self._guards.mentioned, "unknown-key", wrong, "", key, known)

    def _index(self, read: ast.Subscript, members: _Members) -> Verdict | None:
        records = members.records
        if not records:
            return None
        sure = members.is_all and not members.kinds and all(one.source == "declared" for one in records)
        wrong = f"{_code(read.value)} is an object, {_described(records)}, and has no items by number; keys: {_listed(_keys(records))}."
        return Verdict(sure, "unknown-key", wrong, "Read a list in it by its key first.")

    def _attribute(self, read: ast.Attribute, members: _Members) -> Verdict | None:
        attribute, value = read.attr, _code(read.value)
        kinds = [one for one in members.kinds if not hasattr(_KINDS[one][1], attribute)]
        records = [] if hasattr(dict, attribute) else members.records
        is_each = (kinds, records) == (members.kinds, members.records) and "None" not in kinds
        sure = members.is_all and is_each and all(one.source == "declared" for one in records)
        if records:
            known = _keys(records)
            wrong = f"{value} is an object, {_described(records)}: its keys are read in brackets; keys: {_listed(known)}."
            if attribute not in known:
                return Verdict(sure, "no-attribute", wrong, "", attribute, known)
            right = f"Write `{source(read.value) or '…'}[{_quoted(attribute)}]`."
            return Verdict(sure, "no-attribute", wrong, right)
        if not kinds:
            return None
        wrong = f"{value} is {' or '.join(kinds)} and has no attribute {_quoted(attribute)}."
        return Verdict(sure, "no-attribute", wrong)


def not_awaited(what: str) -> Verdict:
    """Return the verdict on a call, or a value, without `await`."""
    called, bracket, _ = what.partition("(")
    wrong = f"`{called}(…)`" if bracket else f"`{what}`" if what else "the value"
    right = f"Write `await {called}(…)`." if bracket else "Write `await` before the call that it comes from."
    return Verdict(True, "not-awaited", f"Missing `await` before {wrong}: the call is never made.", right)


def describe(record: Record) -> str:
    """Return which object a record is, for people."""
    path = visible(record.path, _MAX_KEY)
    if record.source == "input":
        return f"the argument {path} of {record.tool}"
    place = {"": "", "[]": "an item of ", "{}": "a value of "}.get(path, f"{path} of ")
    return f"{place}the result of {record.tool}"


def _described(records: Sequence[Record]) -> str:
    where = " or ".join(dict.fromkeys(map(describe, records)))
    return where if all(one.source == "declared" for one in records) else f"{where}, as far as is known"


def _is_slip(key: str, known: str) -> bool:
    """Return whether a key is a declared one with a letter wrong, in another style, or without its first words.

    `orderId` for `order_id`, `revenue` for `total_revenue`. Not `order` for `order_id`: that may well be another field.
    """
    if len(key) >= _SHORTEST_END and known.endswith((f"_{key}", key[:1].upper() + key[1:])):
        return True
    mine, its = _letters(key), _letters(known)
    if max(len(key), len(known)) < _SHORTEST:
        return mine == its
    while mine and mine[:1] == its[:1]:
        mine, its = mine[1:], its[1:]
    # Nothing else differs but a letter left out, added or replaced, or two neighbours that were swapped.
    is_swapped = mine[:2] == its[1::-1] and mine[2:] == its[2:]
    return mine[1:] == its or mine == its[1:] or mine[1:] == its[1:] or is_swapped


def _letters(key: str) -> str:
    return "".join(letter for letter in key[:_MAX_COMPARED].casefold() if letter.isalnum())


def _keys(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(key for one in records for key in one.keys))


def _quoted(key: str) -> str:
    return f"'{visible(key, _MAX_KEY)}'"


def _listed(keys: Sequence[str]) -> str:
    return listed([visible(key, _MAX_KEY) for key in keys])


def source(node: ast.expr) -> str:
    """Return a value as the program writes it, if that is short."""
    text = ast.unparse(node)
    return text if len(text) <= _MAX_SHOWN and "\n" not in text else ""


def _code(node: ast.expr) -> str:
    text = source(node)
    return f"`{text}`" if text else "the value"
