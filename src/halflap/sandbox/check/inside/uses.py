"""The values that ty's diagnostics are about, and what the program does with them.

A diagnostic has a place. The expression there is what ty objects to, whatever the rule is called; whether the use of
its value certainly fails is asked of ty in a second run.
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING, Any

from halflap.sandbox.check.inside.changes import changes_in
from halflap.sandbox.check.inside.guards import is_guarded
from halflap.sandbox.check.inside.tool_calls import argument_nodes
from halflap.sandbox.check.inside.tree import Place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.sandbox.check.inside.tree import Tree

__all__ = ["uses_in"]

_MAX_SHOWN = 60
_TELLING_APART = frozenset({"isinstance", "issubclass", "type", "callable", "hasattr"})
# A call that has to be awaited is found by its text; that its arguments are wrong is no sign of that.
_UNWRAPPABLE = (ast.Starred, ast.GeneratorExp, ast.Constant, ast.Call)
_Read = ast.Subscript | ast.Attribute


def uses_in(tree: Tree, diagnostics: Sequence[Place]) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the uses of values that diagnostics are about, and which of them are about filling a container."""
    uses = _Uses(tree)
    found = uses.find(diagnostics)
    return found, uses.filling(diagnostics)


class _Uses:
    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._changes = changes_in(tree)
        self._reads: dict[Place, list[_Read]] = {}
        for node in tree.nodes:
            if isinstance(node, _Read) and isinstance(node.ctx, ast.Load) and self._kind(node):
                for place in self._places(node):
                    self._reads.setdefault(place, []).append(node)

    def find(self, diagnostics: Sequence[Place]) -> list[dict[str, Any]]:
        found = [
            use | {"diagnostic": number}
            for number, place in enumerate(diagnostics)
            for use in self._at(place)
        ]
        reads = [
            diagnostics[use["diagnostic"]] for use in found if use["kind"] in {"key", "index", "attribute"}
        ]
        found += self._in_functions()
        return [*found, *self._additions(reads)] if found else []

    def filling(self, diagnostics: Sequence[Place]) -> list[int]:
        kinds = (ast.expr, ast.stmt, ast.keyword)
        filled = {self._tree.place(one) for one in self._changes.fills if isinstance(one, kinds)}
        return [
            number
            for number, place in enumerate(diagnostics)
            if place in filled and not self._is_new_key(place)
        ]

    def _additions(self, known: Sequence[Place]) -> Iterator[dict[str, Any]]:
        """Yield what the program adds to lists of tools. Where the value is a mistake itself, it adds no doubt."""
        for one in self._changes.added:
            place = self._tree.place(one)
            if not isinstance(one, ast.Starred | ast.GeneratorExp) and not any(
                _is_within(inner, place) for inner in known
            ):
                yield self._use("addition", one, one)

    def _is_new_key(self, place: Place) -> bool:
        parents = [self._tree.parents[node] for node in self._tree.by_place.get(place, [])]
        return any(isinstance(one, ast.Subscript) and not isinstance(one.ctx, ast.Load) for one in parents)

    def _at(self, place: Place) -> Iterator[dict[str, Any]]:
        for read in self._reads.get(place, []):
            yield self._read(read, read.value)
        for node in self._tree.by_place.get(place, []):
            yield from self._arguments(node)
            yield from (self._use("store", one.value, one) for one in self._unnamed_keys(node))
            wanted = [node, *self._operands(node)]
            for value in (one for one in wanted if isinstance(one, ast.expr)):
                if not isinstance(value, _UNWRAPPABLE) and not self._is_for_own_function(value):
                    yield self._use("operand", value, value)

    def _unnamed_keys(self, node: ast.AST) -> list[ast.Subscript]:
        """Return the subscript that a node is the whole or a part of, if it stores or its key is computed."""
        around = [one for one in (node, self._tree.parents[node]) if isinstance(one, ast.Subscript)]
        return [one for one in around if not isinstance(one.ctx, ast.Load) or not self._kind(one)][:1]

    def _kind(self, node: _Read) -> str:
        if isinstance(node, ast.Attribute):
            return "attribute"
        match node.slice:
            case ast.Constant(value=str()):
                return "key"
            case ast.Constant(value=int()) | ast.UnaryOp(operand=ast.Constant(value=int())) | ast.Slice():
                return "index"
        return ""

    def _places(self, node: _Read) -> list[Place]:
        """Return where a type checker may say that a read fails: of the whole, of the value or of the key."""
        whole = self._tree.place(node)
        if isinstance(node, ast.Subscript):
            return [whole, self._tree.place(node.value), self._tree.place(node.slice)]
        name = Place(whole.end_line, whole.end_column - len(node.attr), whole.end_line, whole.end_column)
        return [whole, name]

    def _read(self, node: _Read, value: ast.expr) -> dict[str, Any]:
        """Describe a read; of a parameter, with a value that the function is called with."""
        kind = self._kind(node)
        marked = node.slice if kind == "key" and isinstance(node, ast.Subscript) else node
        name = ""
        if isinstance(node, ast.Attribute):
            name = node.attr
        elif isinstance(node.slice, ast.Constant):
            name = str(node.slice.value)
        changes, fresh = self._changes, isinstance(node.value, ast.Await)
        excused = changes.unknown_keys and not fresh
        root = node.value
        while isinstance(root, ast.Subscript):
            excused |= isinstance(root.slice, ast.Constant) and root.slice.value in changes.put
            root = root.value
        # Any method may have changed an attribute in the meantime.
        excused |= isinstance(root, ast.Attribute)
        return self._use(kind, value, marked) | {
            "name": name,
            "shown": _shown(node.value),
            "fresh": fresh,
            "guarded": is_guarded(self._tree, node),
            "put": name in changes.put | changes.asked,
            "excused": excused,
            "over": self._looped_over(node.value),
        }

    def _use(self, kind: str, value: ast.expr, marked: Any) -> dict[str, Any]:
        return {
            "kind": kind,
            "value": self._tree.place(value),
            "at": self._tree.place(marked),
            "name": "",
            "shown": _shown(value),
            "fresh": False,
            "guarded": False,
            "put": False,
            "excused": False,
            "over": None,
            "diagnostic": None,
        }

    def _looped_over(self, value: ast.expr) -> Place | None:
        """Return what a value is an item of, if it is the variable of one loop."""
        bound = self._tree.only_binding(value)
        loop = None if bound is None else self._tree.parents.get(bound.node)
        if (
            bound is None
            or not isinstance(loop, ast.For | ast.comprehension)
            or loop.target is not bound.node
        ):
            return None
        return self._tree.place(loop.iter)

    def _arguments(self, node: ast.AST) -> Iterator[dict[str, Any]]:
        for call in (one for one in self._tree.around(node)[:3] if isinstance(one, ast.Call)):
            if not self._tree.is_tool(call):
                continue
            for name, at, value in argument_nodes(self._tree, call)[0]:
                if node in {at, value}:
                    # What the program says of its own values, a type checker believes; it may be wrong.
                    yield self._use("argument", value, at) | {
                        "name": name,
                        "guarded": self._is_annotated(value),
                    }

    def _is_annotated(self, value: ast.expr) -> bool:
        return any(
            (isinstance(one.node, ast.arg) and one.node.annotation is not None)
            or isinstance(self._tree.parents.get(one.node), ast.AnnAssign)
            for node in ast.walk(value)
            if isinstance(node, ast.Name)
            for one in self._tree.bindings.get(node.id, [])
        )

    def _operands(self, node: ast.AST) -> list[ast.expr]:
        """Return the values that an operation needs: what is awaitable among them makes it fail."""
        match node:
            case ast.BinOp(left=left, right=right):
                return [left, right]
            case ast.Compare(left=left, comparators=others):
                return [left, *others]
            case ast.UnaryOp(operand=value) | ast.Subscript(value=value) | ast.keyword(value=value):
                return [value]
            case ast.Call(args=given) if self._takes_values(node.func):
                return given
        return []

    def _takes_values(self, function: ast.expr) -> bool:
        """Return whether a function is a builtin or of a module that has no use for awaitables."""
        if isinstance(function, ast.Name):
            return function.id not in self._tree.bindings and hasattr(builtins, function.id)
        module = self._tree.only_binding(function.value) if isinstance(function, ast.Attribute) else None
        return module is not None and isinstance(module.node, ast.alias) and module.node.name != "asyncio"

    def _is_for_own_function(self, node: ast.AST) -> bool:
        call = next((one for one in self._tree.around(node)[:2] if isinstance(one, ast.Call)), None)
        return call is not None and isinstance(call.func, ast.Name) and call.func.id in self._tree.defined

    def _in_functions(self) -> Iterator[dict[str, Any]]:
        """Yield the reads of parameters, which ty knows nothing about, with each value that is passed for them."""
        for function in self._tree.functions.values():
            for name, values in self._passed(function).items():
                for node in ast.walk(function):
                    match node:
                        case ast.Subscript(
                            value=ast.Name(id=read), ctx=ast.Load(), slice=ast.Constant(value=str())
                        ):
                            yield from (self._read(node, value) for value in values if read == name)

    def _passed(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, list[ast.expr]]:
        """Return the values that are passed for those parameters that are never anything else."""
        given = function.args
        if given.vararg or given.kwarg or given.posonlyargs:
            return {}
        calls = [
            call
            for load in self._tree.loads.get(function.name, [])
            if isinstance(call := self._tree.parents[load], ast.Call)
            and function not in self._tree.around(call)
        ]
        found = {}
        for number, one in enumerate(given.args):
            values = [_argument(call, one.arg, number) for call in calls]
            known = [value for value in values if value is not None]
            if (
                known
                and len(known) == len(values)
                and one.annotation is None
                and self._is_plain(function, one)
            ):
                found[one.arg] = known
        return found

    def _is_plain(self, function: ast.AST, parameter: ast.arg) -> bool:
        """Return whether a function neither binds a parameter again nor asks what kind of value it is."""
        for node in ast.walk(function):
            match node:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.Match(subject=ast.Name(id=name)):
                    same = name == parameter.arg
                case ast.arg(arg=name):
                    same = name == parameter.arg and node is not parameter
                case ast.Call(func=ast.Name(id=tells), args=[ast.Name(id=name), *_]) if (
                    tells in _TELLING_APART
                ):
                    same = name == parameter.arg
                case _:
                    same = False
            if same:
                return False
        return True


def _is_within(place: Place, span: Place) -> bool:
    return span[:2] <= place[:2] and place[2:] <= span[2:]


def _argument(call: ast.Call, name: str, number: int) -> ast.expr | None:
    if any(isinstance(one, ast.Starred) for one in call.args) or any(
        one.arg is None for one in call.keywords
    ):
        return None
    if number < len(call.args):
        found: ast.expr | None = call.args[number]
    else:
        found = next((one.value for one in call.keywords if one.arg == name), None)
    # A bare generator has the call's own parentheses.
    return None if isinstance(found, ast.GeneratorExp) else found


def _shown(node: ast.expr) -> str:
    """Return a value as the program writes it, if that is short."""
    try:
        text = ast.unparse(node)
    except (ValueError, RecursionError):
        return ""
    return text if len(text) <= _MAX_SHOWN and "\n" not in text else ""
