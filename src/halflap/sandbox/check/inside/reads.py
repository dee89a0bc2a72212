"""Reads that certainly fail: a key, an index or an attribute that a tool's result does not have, an `await` missing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from halflap.core.text import visible
from halflap.sandbox.check.inside.answer import Verdict
from halflap.sandbox.functions import listed, missing_key, quoted

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.guards import Guards
    from halflap.sandbox.check.inside.probes import Probes, Types
    from halflap.sandbox.check.inside.tree import Tree

COROUTINE: Types = ("Coroutine[Any, Any, Any]",)
AWAITABLE: Types = ("Awaitable[Any]",)
_OBJECT: Types = ("HalflapObject",)
_LIST: Types = ("HalflapList[Any]", "Sequence[HalflapObject | HalflapText | HalflapInteger | HalflapNumber]")
_KINDS: dict[str, tuple[Types, type]] = {
    "a list": (_LIST, list),
    "a string": (("HalflapText",), str),
    "a number": (("HalflapInteger", "HalflapNumber"), float),
    "None": (("None",), type(None)),
    "an error": (("BaseException",), BaseException),
}
"""What a value may be, other than an object, and its Python type."""
_NEEDING_A_VALUE = (ast.For, ast.comprehension, ast.BinOp, ast.UnaryOp, ast.Assign)
_WHOLE = {"": "", "[]": "an item of ", "{}": "a value of "}
"""How to describe the result itself, or its items, by path."""
_MAX_PATHS = 3
_MAX_KEY = 60
_MAX_SHOWN = 60
_SHORTEST = 4
_SHORTEST_END = 5
_MAX_COMPARED = 200


class Record(NamedTuple):
    """An object type that a tool takes or returns (see `halflap.schema.stub.Record`)."""

    name: str
    tool: str
    paths: Sequence[str]
    source: str
    keys: Sequence[str]
    closed: bool
    open: bool

    def __str__(self) -> str:
        # A recursive type is also found within itself.
        outermost = [self.paths[0]] if self.paths[0] in _WHOLE else self.paths[:_MAX_PATHS]
        path = " or ".join(visible(one, _MAX_KEY) for one in outermost)
        if self.source == "input":
            return f"the argument {path} of {self.tool}"
        return f"{_WHOLE.get(path, f'{path} of ')}the result of {self.tool}"

    def certainly_lacks(self, key: str) -> bool:
        """Return whether it cannot have a key: it is closed, or the key is a slip for one that it declares."""
        if key in self.keys or self.open:
            return False
        return self.closed or any(_is_slip(key, one) for one in self.keys)


class Reads:
    """Judges reads of values by the declared objects that tools return."""

    def __init__(self, tree: Tree, guards: Guards, records: Iterable[Record], probes: Probes) -> None:
        self._tree = tree
        self._guards = guards
        self._records = [one for one in records if one.source == "declared" and one.name not in tree.bindings]
        self._probes = probes

    def verdict(self, node: ast.AST) -> Verdict | None:
        """Return the certain mistake in a read, or in a value that has to be awaited first."""
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Load):
            # An item of a container may have been awaited since.
            is_item = isinstance(node.value, ast.Subscript)
            if not is_item and self._probes.all_are(node.value, COROUTINE):
                found: Verdict | None = not_awaited(self._tree, node.value)
            else:
                found = self._judge(node, *self._members(node.value))
            is_excused = self._guards.may_be_changed(node) or self._guards.is_guarded(node)
            return None if is_excused else found
        parent = self._tree.parents.get(node)
        is_value = isinstance(node, ast.Name) and not isinstance(parent, ast.Attribute)
        is_call = isinstance(node, ast.Call) and isinstance(parent, _NEEDING_A_VALUE)
        if isinstance(node, ast.expr) and (is_value or is_call) and self._probes.all_are(node, AWAITABLE):
            return not_awaited(self._tree, node)
        return None

    def _members(self, value: ast.expr) -> tuple[list[Record], list[str]]:
        """Return the possible objects and other kinds of a value; nothing if it may be anything else."""
        options: list[Record | str] = [*self._records, *_KINDS]
        types = [(one.name,) if isinstance(one, Record) else _KINDS[one][0] for one in options]
        is_known = self._probes.all_are(value, tuple(chain(*types)))
        # Of a union, ty says only whether a parameter takes all of it.
        needed = [
            not self._probes.all_are(value, tuple(chain(*types[:number], *types[number + 1 :])))
            for number in range(len(types))
        ]
        found = [one for one, is_needed in zip(options, needed, strict=True) if is_known and is_needed]
        records = [one for one in found if isinstance(one, Record)]
        return records, [one for one in found if isinstance(one, str)]

    def _judge(
        self, read: ast.Subscript | ast.Attribute, records: list[Record], kinds: list[str]
    ) -> Verdict | None:
        if isinstance(read, ast.Attribute):
            return _attribute(read, records, kinds)
        match read.slice:
            case ast.Constant(value=str(key)):
                return self._looped(read) or self._key(read, key, records, kinds)
            case ast.Constant(value=int()) | ast.UnaryOp(operand=ast.Constant(value=int())) | ast.Slice():
                return _index(read, records, kinds)
        return None

    def _looped(self, read: ast.Subscript) -> Verdict | None:
        """Judge a key that is read from the variable of a loop over an object."""
        loop = self._tree.loop_over(read.value)
        if loop is None or not self._probes.all_are(loop.iter, _OBJECT):
            return None
        wrong = f"{_code(read.value)} is a string: a loop over an object goes through its keys."
        return Verdict(True, "no-keys", wrong, "Loop over a list in the object, or over its `.items()`.")

    def _key(self, read: ast.Subscript, key: str, records: list[Record], kinds: list[str]) -> Verdict | None:
        if not all(one.certainly_lacks(key) for one in records):
            return None
        if records:
            known = _keys(records)
            wrong = f"{missing_key(key, _described(records), known)}."
            # The program may add that key.
            is_meant = key in self._guards.mentioned
            return None if is_meant else Verdict(True, "unknown-key", wrong, "", key, known)
        right = "Read the key from its items." if kinds == ["a list"] else ""
        wrong = f"{_code(read.value)} is {' or '.join(kinds)} and has no key {quoted(key)}."
        return Verdict(True, "no-keys", wrong, right) if set(kinds) - {"None"} else None


def _index(read: ast.Subscript, records: list[Record], kinds: list[str]) -> Verdict | None:
    if kinds or not records:
        return None
    wrong = f"{_code(read.value)} is an object, {_described(records)}, and has no items by number; keys: {listed(_keys(records))}."
    return Verdict(True, "unknown-key", wrong, "Read a list in it by its key first.")


def _attribute(read: ast.Attribute, records: list[Record], kinds: list[str]) -> Verdict | None:
    attribute, value = read.attr, _code(read.value)
    has_it = (records and hasattr(dict, attribute)) or any(
        hasattr(_KINDS[one][1], attribute) for one in kinds
    )
    if has_it or "None" in kinds or not (records or kinds):
        return None
    if not records:
        wrong = f"{value} is {' or '.join(kinds)} and has no attribute {quoted(attribute)}."
        return Verdict(True, "no-attribute", wrong)
    known = _keys(records)
    wrong = (
        f"{value} is an object, {_described(records)}: its keys are read in brackets; keys: {listed(known)}."
    )
    if attribute not in known:
        return Verdict(True, "no-attribute", wrong, "", attribute, known)
    right = f"Write `{_source(read.value) or '…'}[{quoted(attribute)}]`."
    return Verdict(True, "no-attribute", wrong, right)


def not_awaited(tree: Tree, value: ast.expr) -> Verdict:
    """Return the verdict on a call, or a value that comes from one, without `await`."""
    bound = tree.only_binding(value)
    call = bound.value if bound and isinstance(bound.value, ast.Call) else value
    if not isinstance(call, ast.Call):
        wrong = f"Missing `await` before {_code(value)}."
        return Verdict(True, "not-awaited", wrong, "Write `await` before the call that it comes from.")
    called, part = f"{_source(call.func) or '…'}(…)", _awaited_part(tree, call)
    if part:
        wrong = f"`await` applies to all of `{called}{part}`, but only the call can be awaited."
        return Verdict(True, "not-awaited", wrong, f"Write `(await {called}){part}`.")
    place = "" if call is value else f" in line {call.lineno}"
    wrong = f"Missing `await` before `{called}`{place}."
    right = f"Write `await {called}`."
    function = tree.function_around(call)
    if isinstance(function, ast.FunctionDef):
        right += f" Make `{function.name}` an `async def`, and await its calls."
    return Verdict(True, "not-awaited", wrong, right)


def _awaited_part(tree: Tree, call: ast.Call) -> str:
    """Return `["a"]` for the call in `await call()["a"]`."""
    whole: ast.AST = call
    while isinstance(parent := tree.parents[whole], ast.Subscript | ast.Attribute) and parent.value is whole:
        whole = parent
    if whole is call or not isinstance(parent, ast.Await):
        return ""
    return ast.unparse(whole).removeprefix(ast.unparse(call))[:_MAX_SHOWN]


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
    # The only difference is a letter left out, added or replaced, or two swapped neighbours.
    is_swapped = mine[:2] == its[1::-1] and mine[2:] == its[2:]
    return mine[1:] == its or mine == its[1:] or mine[1:] == its[1:] or is_swapped


def _letters(key: str) -> str:
    return "".join(letter for letter in key[:_MAX_COMPARED].casefold() if letter.isalnum())


def _described(records: Sequence[Record]) -> str:
    return " or ".join(dict.fromkeys(map(str, records)))


def _keys(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(key for one in records for key in one.keys))


def _source(node: ast.expr) -> str:
    """Return a value as the program writes it, if that is short."""
    text = ast.unparse(node)
    return text if len(text) <= _MAX_SHOWN and "\n" not in text else ""


def _code(node: ast.expr) -> str:
    text = _source(node)
    return f"`{text}`" if text else "the value"
