"""The program as ty reads it: some nodes wrapped or replaced, written out again, with the way back to the original nodes."""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from halflap.sandbox.check.inside.tree import Positions, Tree

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.answer import Place

__all__ = ["DECLARATIONS", "Edits", "Rewritten", "as_plain_functions", "rewrite"]

DECLARATIONS = """
from collections.abc import AsyncGenerator, Coroutine, Generator, Iterable
from typing import TypeVar
HalflapReturned = TypeVar("HalflapReturned")
def halflap_started(value: HalflapReturned) -> Coroutine[Any, Any, HalflapReturned]: ...
def halflap_generated(value: HalflapReturned | None) -> Generator[HalflapReturned, Any, Any]: ...
def halflap_streamed(value: HalflapReturned | None) -> AsyncGenerator[HalflapReturned, Any]: ...
def halflap_item(values: Iterable[HalflapReturned]) -> HalflapReturned: ...
def halflap_flag() -> bool: ...
def halflap_text(*values: object) -> str: ...
"""
"""What rewritten programs use, as a part of their stubs."""

_WRAPPERS = {
    (True, False): "halflap_started",
    (False, True): "halflap_generated",
    (True, True): "halflap_streamed",
}
"""By whether a function is async, and whether it is a generator."""

Edits = dict[ast.AST, list["Callable[[Any], ast.AST]"]]
"""What nodes of the program are replaced by, each change made from the result of the one before."""


class Rewritten:
    """A rewritten program."""

    def __init__(self, changed: ast.Module, originals: Mapping[ast.AST, ast.AST]) -> None:
        self.text = ast.unparse(changed)
        self.parsed = ast.parse(self.text)
        """The text, parsed again."""
        self._nodes: dict[Place, list[ast.AST]] = defaultdict(list)
        place = Positions(self.text).place
        for written, read in zip(ast.walk(changed), ast.walk(self.parsed), strict=True):
            if written in originals and isinstance(read, ast.expr | ast.keyword | ast.stmt):
                self._nodes[place(read)].append(originals[written])

    def nodes_at(self, place: Place) -> list[ast.AST]:
        """Return the nodes of the original that are written at a place, or the smallest one around it."""
        if place in self._nodes:
            return self._nodes[place]
        around = [one for one in self._nodes if one[:2] <= place[:2] and place[2:] <= one[2:]]
        # Of two nested places, the inner one begins later or ends earlier.
        return self._nodes[max(around, key=lambda one: (*one[:2], -one[2], -one[3]))] if around else []


def rewrite(code: str, tree: Tree, edits: Edits) -> Rewritten:
    """Write a program with edits. Raises `RecursionError` for one that is nested too deeply."""
    copy = ast.parse(code)
    editor = _Editor(dict(zip(ast.walk(copy), tree.nodes, strict=True)), edits)
    return Rewritten(ast.fix_missing_locations(editor.visit(copy)), editor.originals)


class _Editor(ast.NodeTransformer):
    def __init__(self, originals: dict[ast.AST, ast.AST], edits: Edits) -> None:
        self.originals = originals
        self._edits = edits

    def visit(self, node: ast.AST) -> Any:
        changed: Any = self.generic_visit(node)
        if isinstance(changed, ast.JoinedStr):
            # Only the values matter to ty; before Python 3.12 their places in the text were unreliable.
            changed = _call("halflap_text", *_formatted(changed))
        for change in self._edits.get(self.originals[node], ()):
            changed = change(changed)
        self.originals[changed] = self.originals[node]
        return changed


def _formatted(text: ast.JoinedStr) -> list[ast.expr]:
    values = [one for one in text.values if isinstance(one, ast.FormattedValue)]
    return [part for one in values for part in (one.value, one.format_spec) if part is not None]


def _call(function: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(function, ast.Load()), list(arguments), [])


def as_plain_functions(tree: Tree) -> Edits:
    """Make async functions and generators plain functions, and wrap their calls: ty infers only what plain functions return.

    Left alone are methods, decorated functions, names with other uses, and generators that are sent values.
    """
    edits: Edits = {}
    for function in tree.nodes:
        if (
            not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            or function.returns
            or function.decorator_list
            or hasattr(builtins, function.name)
            or isinstance(tree.parents[function], ast.ClassDef)
            or len(tree.bindings[function.name]) > 1
            or not all(map(tree.is_called, loads := tree.loads.get(function.name, [])))
        ):
            continue
        yields = [node for node in ast.walk(function) if isinstance(node, ast.Yield | ast.YieldFrom)]
        wrapper = _WRAPPERS.get((isinstance(function, ast.AsyncFunctionDef), bool(yields)))
        own = [
            isinstance(tree.parents[one], ast.Expr) and tree.function_around(one) is function
            for one in yields
        ]
        if wrapper and all(own):
            edits[function] = [lambda made: ast.FunctionDef(**dict(ast.iter_fields(made)))]
            edits |= {tree.parents[one]: [_as_return] for one in yields}
            edits |= {tree.parents[load]: [partial(_call, wrapper)] for load in loads}
    return edits


def _as_return(statement: ast.Expr) -> ast.stmt:
    """Return a statement that may return what this one yields."""
    yielded: Any = statement.value
    value = _call("halflap_item", yielded.value) if isinstance(yielded, ast.YieldFrom) else yielded.value
    return ast.If(_call("halflap_flag"), [ast.Return(value)], [])
