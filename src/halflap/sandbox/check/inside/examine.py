"""One examination: parse the program, run ty, and confirm by a second run which of its diagnostics are certain mistakes."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from halflap.sandbox.check.inside.answer import Answer, Place, Verdict, lines_of
from halflap.sandbox.check.inside.calls import ignored_calls, iterated_results, tool_calls, unbound_names
from halflap.sandbox.check.inside.guards import Guards
from halflap.sandbox.check.inside.probes import Probes
from halflap.sandbox.check.inside.reads import AWAITABLE, COROUTINE, Reads, Record, not_awaited
from halflap.sandbox.check.inside.rewrite import DECLARATIONS, as_plain_functions, rewrite
from halflap.sandbox.check.inside.tree import Tree

if TYPE_CHECKING:
    from halflap.sandbox.check.inside.ty import Diagnostic

_NAME = "program.py"
_SYNTAX = "invalid-syntax"
_MAX_FINDINGS = 100
_MAX_TEXT = 2_000
_MAX_KEYS = 100
_OVERRIDE = re.compile(r"#\s*(type|ty):\s*ignore")
RunTy = Callable[[str, str], list["Diagnostic"]]
"""Returns what ty reports about a program with these stubs."""


def examine(question: dict[str, Any], run_ty: RunTy) -> Answer:
    """Return what was found in a program."""
    code = question["code"]
    try:
        tree = Tree(_parse(code), code)
    except SyntaxError as error:
        line, column = error.lineno or 1, max(error.offset or 1, 1)
        wrong = f"SyntaxError: {error.msg}"[:_MAX_TEXT]
        return Answer([(Place(line, column, line, column + 1), Verdict(True, "syntax", wrong))])
    ignored = _ignored_lines(tree, code)

    def counts(place: Place) -> bool:
        return ignored.isdisjoint(range(place.line, place.end_line + 1))

    found = [
        (tree.place(node), verdict._replace(wrong=verdict.wrong[:_MAX_TEXT], keys=verdict.keys[:_MAX_KEYS]))
        for node, verdict in _Examination(question, tree).verdicts(run_ty)
    ]
    found.sort(key=lambda one: not one[1].certain)
    return Answer(
        [one for one in found if counts(one[0])][:_MAX_FINDINGS],
        [one for one in tool_calls(tree) if counts(one.at)],
        [one for one in unbound_names(tree) if counts(one[1])],
    )


def _parse(code: str) -> ast.Module:
    """Parse a program and compile it as it would be for a run, or raise `SyntaxError`."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = compile(code, _NAME, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
            # A `return` outside a function is found only when the tree is compiled.
            compile(module, _NAME, "exec", flags, dont_inherit=True)
    except (RecursionError, MemoryError):
        raise SyntaxError("the program is nested too deeply for Python") from None
    except (ValueError, OverflowError) as error:
        # NUL bytes, half of a surrogate pair, a number that is too long to read.
        raise SyntaxError(str(error)) from None
    assert isinstance(module, ast.Module)
    return module


def _ignored_lines(tree: Tree, code: str) -> set[int]:
    """Return the lines with `# type: ignore`, and all lines of a simple statement that ends in one."""
    found = {number for number, line in enumerate(lines_of(code), 1) if _OVERRIDE.search(line)}
    for node in tree.nodes if found else ():
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and node.end_lineno in found:
            found.update(range(node.lineno, node.end_lineno))
    return found


class _Examination:
    """Judges ty's diagnostics, twice: the first time collects the questions for the second run."""

    def __init__(self, question: dict[str, Any], tree: Tree) -> None:
        self._question = question
        self._tree = tree
        self._guards = Guards(tree)
        self._probes = Probes()
        self._records = [Record(*one) for one in question["records"]]
        self._reads = Reads(tree, self._guards, self._records, self._probes)
        self._diagnosed: list[tuple[Diagnostic, list[ast.AST]]] = []
        """Diagnostics, and the nodes that they are about."""

    def verdicts(self, run_ty: RunTy) -> list[tuple[Any, Verdict]]:
        code, plain = self._question["code"], as_plain_functions(self._tree)
        first = rewrite(code, self._tree, plain)
        found = run_ty(first.text, self._question["stubs"] + DECLARATIONS)
        # ty refuses `await` outside a function. The program compiles, so its syntax is right.
        self._diagnosed = [(one, first.nodes_at(one.place)) for one in found if one.rule != _SYNTAX]
        self._guards.look({node for _, nodes in self._diagnosed for node in nodes})
        judged = list(self._judge())
        if self._probes:
            edits = self._probes.edits()
            both = {node: plain.get(node, []) + edits.get(node, []) for node in plain | edits}
            second = rewrite(code, self._tree, both)
            found = run_ty(second.text, self._question["traced"] + DECLARATIONS + self._probes.declarations())
            self._probes.read(second, [one.place for one in found if one.rule != _SYNTAX])
            judged = list(self._judge())
        return judged

    def _judge(self) -> Iterator[tuple[Any, Verdict]]:
        for call in ignored_calls(self._tree):
            if self._probes.all_are(call, COROUTINE):
                yield call, not_awaited(self._tree, call)
        for result in iterated_results(self._tree):
            if self._probes.all_are(result, AWAITABLE):
                yield result, not_awaited(self._tree, result)
        for diagnostic, nodes in self._diagnosed:
            certain = [(_marked(node), self._reads.verdict(node)) for node in self._near(nodes)]
            found = next(((node, verdict) for node, verdict in certain if verdict is not None), None)
            if found is not None:
                yield found
            elif nodes and not self._is_expected(nodes):
                yield nodes[0], Verdict(False, diagnostic.rule, self._readable(diagnostic.message))

    def _near(self, nodes: Sequence[ast.AST]) -> list[ast.AST]:
        """Return the nodes, and those directly around and within them."""
        around = [self._tree.parents[node] for node in nodes if node in self._tree.parents]
        within = [child for node in nodes for child in ast.iter_child_nodes(node)]
        return list(dict.fromkeys([*nodes, *around, *within]))

    def _is_expected(self, nodes: Sequence[ast.AST]) -> bool:
        """Return whether a doubt is not worth showing.

        It is about a key that the program computes, puts in or looks for, or about an argument of a tool, which may well fit.
        """
        around = [one for node in nodes for one in self._tree.around(node)[:2]]
        uses = [one for one in (*nodes, *around) if isinstance(one, ast.Subscript | ast.Attribute)]
        is_argument = any(self._tree.is_tool(one) and one.func not in nodes for one in around)
        return is_argument or any(map(self._guards.is_meant, uses))

    def _readable(self, message: str) -> str:
        """Return a message of ty with descriptions instead of the names of our classes."""
        for record in sorted(self._records, key=lambda one: -len(one.name)):
            message = message.replace(record.name, str(record))
        return message


def _marked(node: Any) -> Any:
    """Return the node to point at: of a read by key, the key."""
    is_key = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    return node.slice if is_key and isinstance(node.slice.value, str) else node
