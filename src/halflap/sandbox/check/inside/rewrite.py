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

DECLARATIONS = """
from collections.abc import Coroutine
from typing import TypeVar
HalflapReturned = TypeVar("HalflapReturned")
def halflap_started(value: HalflapReturned) -> Coroutine[Any, Any, HalflapReturned]: ...
def halflap_text(*values: object) -> str: ...
"""
"""What rewritten programs use, as a part of their stubs."""

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
    """Make async functions plain functions, and wrap their calls: ty infers only what plain functions return.

    Left alone are methods, generators, decorated functions, and names with other uses.
    """
    edits: Edits = {}
    for function in tree.nodes:
        if (
            isinstance(function, ast.AsyncFunctionDef)
            and not function.returns
            and not function.decorator_list
            and not hasattr(builtins, function.name)
            and not isinstance(tree.parents[function], ast.ClassDef)
            and len(tree.bindings[function.name]) == 1
            and all(map(tree.is_called, loads := tree.loads.get(function.name, [])))
            and not any(isinstance(node, ast.Yield) for node in ast.walk(function))
        ):
            edits[function] = [lambda made: ast.FunctionDef(**dict(ast.iter_fields(made)))]
            edits |= {tree.parents[load]: [partial(_call, "halflap_started")] for load in loads}
    return edits
