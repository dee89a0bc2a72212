"""Reads that certainly fail: a key, an index or an attribute that a tool's result does not have, an `await` missing."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from halflap.core.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from halflap.sandbox.check.inside.context import Context
    from halflap.sandbox.check.inside.probes import Probes, Types
    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["AWAITABLE", "LIST", "Reads", "Record", "Verdict", "describe", "is_slip", "not_awaited", "shown"]

AWAITABLE = ("Awaitable[Any]",)
LIST = ("HalflapList[Any]", "Sequence[HalflapObject | HalflapText | HalflapInteger | HalflapNumber]")
_COROUTINE = ("Coroutine[Any, Any, Any]",)
_OBJECT = ("HalflapObject",)
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


class Verdict(NamedTuple):
    """What is wrong with a part of the program, and whether that is certain."""

    certain: bool
    rule: str
    wrong: str
    right: str = ""
    name: str = ""
    """The key or attribute that does not exist; the gateway suggests one of the keys instead."""
    keys: Sequence[str] = ()


class Reads:
    """Judges reads of values by the objects that tools return."""

    def __init__(self, tree: Tree, context: Context, records: Iterable[Record], probes: Probes) -> None:
        self._tree = tree
        self._context = context
        self._records = [one for one in records if one.source != "input" and one.name not in tree.bindings]
        self._probes = probes

    def verdict(self, read: ast.AST) -> Verdict | None:
        """Judge a read; None if nothing is known about the value."""
        match read:
            case ast.Subscript(slice=ast.Constant(value=str(key)), ctx=ast.Load()):
                found = self._key(read, key)
            case ast.Subscript(
                slice=ast.Constant(value=int())
                | ast.UnaryOp(operand=ast.Constant(value=int()))
                | ast.Slice(),
                ctx=ast.Load(),
            ):
                found = self._index(read)
            case ast.Attribute(ctx=ast.Load()):
                found = self._attribute(read)
            case _:
                return None
        assert isinstance(read, ast.Subscript | ast.Attribute)
        found = self._unawaited(read) or found
        if found is None or not found.certain:
            return found
        return found._replace(certain=not (self.is_excused(read) or self._context.is_guarded(read)))

    def is_excused(self, read: ast.AST | None) -> bool:
        """Return whether the value may hold more than the tool put there."""
        if not isinstance(read, ast.Subscript | ast.Attribute):
            return False
        if self._context.is_rewritten and not isinstance(read.value, ast.Await):
            return True
        root = read.value
        while isinstance(root, ast.Subscript):
            if isinstance(root.slice, ast.Constant) and root.slice.value in self._context.mentioned:
                return True
            root = root.value
        # Any method may have changed an attribute in the meantime.
        return isinstance(root, ast.Attribute)

    def _unawaited(self, read: ast.Subscript | ast.Attribute) -> Verdict | None:
        # A task can be given attributes; a coroutine cannot.
        kinds = _COROUTINE if isinstance(read, ast.Attribute) else AWAITABLE
        return not_awaited(shown(read.value)) if self._probes.all_are(read.value, kinds) else None

    def _key(self, read: ast.Subscript, key: str) -> Verdict | None:
        value = read.value
        failing = tuple(one.name for one in self._records if _certainly_lacks(key, one))
        others = tuple(kind for kinds, _ in _KINDS.values() for kind in kinds)
        sure = self._probes.all_are(value, (*failing, *others, "None", "BaseException"))
        sure = not self._probes.all_are(value, ("None",)) and sure
        records, kinds = self._members(value)
        lacking = [one for one in records if key not in one.keys]
        looped = self._looped_over(read.value)
        if looped is not None and self._probes.all_are(looped, _OBJECT):
            wrong = f"{_quoted_code(read.value)} is one of the keys of an object, a string: a loop over an object gives its keys."
            return Verdict(True, "no-keys", wrong, "Loop over a list in the object, or over its `.items()`.")
        if kinds and not lacking:
            right = "Read the key from its items." if kinds == ["a list"] else ""
            wrong = f"{_quoted_code(read.value)} is {' or '.join(kinds)} and has no key {quoted(key)}."
            return Verdict(sure, "no-keys", wrong, right)
        if not (lacking or sure):
            return None
        known = _keys(lacking)
        wrong = f"{_quoted_code(read.value)} has no key {quoted(key)}."
        if lacking:
            wrong = f"{quoted(key)} is not in {_described(lacking)}; keys: {_listed(known)}."
        return Verdict(sure and key not in self._context.mentioned, "unknown-key", wrong, "", key, known)

    def _index(self, read: ast.Subscript) -> Verdict | None:
        records, _ = self._members(read.value)
        sure = self._probes.all_are(read.value, _OBJECT)
        if not (records or sure):
            return None
        wrong = (
            f"{_quoted_code(read.value)} is an object, {_described(records)}, and has no items by number; "
            f"keys: {_listed(_keys(records))}."
        )
        return Verdict(sure, "unknown-key", wrong, "Read a list in it by its key first.")

    def _attribute(self, read: ast.Attribute) -> Verdict | None:
        lacking = {kind: types for kind, (types, made) in _KINDS.items() if not hasattr(made, read.attr)}
        failing = [one for types in lacking.values() for one in types]
        failing += [] if hasattr(dict, read.attr) else _OBJECT
        sure = bool(failing) and self._probes.all_are(read.value, tuple(failing))
        records, kinds = self._members(read.value)
        kinds = [one for one in kinds if one in lacking]
        value = _quoted_code(read.value)
        if records and not hasattr(dict, read.attr):
            known = _keys(records)
            wrong = f"{value} is an object, {_described(records)}: its keys are read in brackets; keys: {_listed(known)}."
            if read.attr in known:
                return Verdict(
                    sure, "no-attribute", wrong, f"Write `{shown(read.value) or '…'}[{quoted(read.attr)}]`."
                )
            return Verdict(sure, "no-attribute", wrong, "", read.attr, known)
        if not (kinds or sure):
            return None
        is_one = f"is {' or '.join(kinds)} and has" if kinds else "has"
        return Verdict(sure, "no-attribute", f"{value} {is_one} no attribute {quoted(read.attr)}.")

    def _members(self, value: ast.expr) -> tuple[list[Record], list[str]]:
        """Return which objects and what else a value may be, as far as that is known."""
        if len(self._records) > _MAX_RECORDS:
            return [], []
        options = [*((one.name,) for one in self._records), *(types for types, _ in _KINDS.values())]
        found = self._probes.members(value, options, _OTHERS)
        every = [*self._records, *_KINDS]
        chosen = [every[number] for number in found]
        return [one for one in chosen if isinstance(one, Record)], [
            one for one in chosen if isinstance(one, str)
        ]

    def _looped_over(self, value: ast.expr) -> ast.expr | None:
        """Return what a value is an item of, if it is the variable of one loop."""
        bound = self._tree.only_binding(value)
        loop = None if bound is None else self._tree.parents.get(bound.node)
        is_loop = (
            isinstance(loop, ast.For | ast.comprehension) and bound is not None and loop.target is bound.node
        )
        return loop.iter if is_loop and isinstance(loop, ast.For | ast.comprehension) else None


def not_awaited(what: str) -> Verdict:
    """Return the verdict on a call, or a value, without `await`."""
    called, bracket, _ = what.partition("(")
    wrong = f"`{called}(…)`" if bracket else f"`{what}`" if what else "the value"
    return Verdict(
        certain=True,
        rule="not-awaited",
        wrong=f"Missing `await` before {wrong}: the call is never made.",
        right=f"Write `await {called}(…)`."
        if bracket
        else "Write `await` before the call that it comes from.",
    )


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


def _certainly_lacks(key: str, record: Record) -> bool:
    """Return whether an object cannot have a key: it is closed, or the key is a slip for one that it declares."""
    if key in record.keys or record.source != "declared" or record.open:
        return False
    return record.closed or any(is_slip(key, one) for one in record.keys)


def is_slip(key: str, known: str) -> bool:
    """Return whether a key is a declared one with a letter wrong, in another style, or without its first words.

    `orderId` for `order_id`, `revenue` for `total_revenue`. Not `order` for `order_id`: that may well be another field.
    """
    if len(key) >= _SHORTEST_END and known.endswith((f"_{key}", key[:1].upper() + key[1:])):
        return True
    mine, its = _letters(key), _letters(known)
    return mine == its or (max(len(key), len(known)) >= _SHORTEST and _is_one_edit(mine, its))


def _is_one_edit(one: str, other: str) -> bool:
    """Return whether a letter was left out, added, replaced, or two neighbours were swapped."""
    if one == other:
        return True
    start = next(
        (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    mine, its = one[start:], other[start:]
    return (
        mine[1:] == its
        or mine == its[1:]
        or mine[1:] == its[1:]
        or (mine[:2] == its[1::-1] and mine[2:] == its[2:])
    )


def _letters(key: str) -> str:
    return "".join(letter for letter in key[:_MAX_COMPARED].casefold() if letter.isalnum())


def _keys(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(key for one in records for key in one.keys))


def quoted(key: str) -> str:
    return f"'{visible(key, _MAX_KEY)}'"


def _listed(keys: Sequence[str]) -> str:
    listed = [visible(key, _MAX_KEY) for key in keys[:_MAX_KEYS]]
    return ", ".join(listed if len(keys) <= _MAX_KEYS else [*listed, "…"]) or "none"


def shown(node: ast.expr) -> str:
    """Return a value as the program writes it, if that is short."""
    try:
        text = ast.unparse(node)
    except (ValueError, RecursionError):
        return ""
    return text if len(text) <= _MAX_SHOWN and "\n" not in text else ""


def _quoted_code(node: ast.expr) -> str:
    text = shown(node)
    return f"`{text}`" if text else "the value"
