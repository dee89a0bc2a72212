"""What a program's text tells, gathered in the confined child around ty's run."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from typing import TYPE_CHECKING, Any

from halflap.sandbox.check.inside.edits import EditedText, Place, Wrap
from halflap.sandbox.check.inside.tool_calls import calls_in, unbound_names
from halflap.sandbox.check.inside.tree import Tree
from halflap.sandbox.check.inside.unawaited import unawaited_calls
from halflap.sandbox.check.inside.uses import uses_in

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Parsed", "SyntaxTrouble", "parse"]

_NAME = "program.py"
_MAX_LISTED = 2_000
_MAX_TEXT = 1_000


class SyntaxTrouble(Exception):  # noqa: N818 -- the program's, not ours
    """Why a text is no program, as the answer says it."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.answer = {"message": message[:_MAX_TEXT], "line": line or 1, "column": max(column or 1, 1)}


def parse(code: str) -> Parsed:
    """Parse a program and compile it as it would be for a run, or raise `SyntaxTrouble`."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = compile(code, _NAME, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
            # A `return` outside a function is found only when the tree is compiled.
            compile(module, _NAME, "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        raise SyntaxTrouble(str(error.msg), error.lineno, error.offset) from None
    except (RecursionError, MemoryError):
        raise SyntaxTrouble("the program is nested too deeply for Python") from None
    except (ValueError, OverflowError) as error:
        # NUL bytes, half of a surrogate pair, a number that is too long to read.
        raise SyntaxTrouble(str(error)) from None
    assert isinstance(module, ast.Module)
    return Parsed(Tree(module, code), code)


class Parsed:
    """A program that Python accepts."""

    def __init__(self, tree: Tree, code: str) -> None:
        self._tree = tree
        self._code = code
        self._wraps, self._without = _as_plain_functions(tree)
        self._edited = EditedText(code, self._wraps, self._without)
        self.text = self._edited.text
        """The program as ty is to read it."""

    def facts(self) -> dict[str, Any]:
        """Return what can be said without ty."""
        return {
            "bound": sorted(self._tree.bindings)[:_MAX_LISTED],
            "ignored": _ignored_lines(self._tree, self._code),
            "calls": calls_in(self._tree)[:_MAX_LISTED],
            "unbound": unbound_names(self._tree)[:_MAX_LISTED],
            "unawaited": unawaited_calls(self._tree)[:_MAX_LISTED],
            "wraps": self._wraps[:_MAX_LISTED],
            "without": self._without[:_MAX_LISTED],
        }

    def original(self, place: Place) -> Place:
        """Return where something that ty read stands in the program."""
        column = self._edited.original_column
        return Place(
            place.line,
            column(place.line, place.column),
            place.end_line,
            column(place.end_line, place.end_column),
        )

    def uses(self, places: Sequence[Place]) -> dict[str, Any]:
        """Return what diagnostics at these places are about."""
        uses, filling = uses_in(self._tree, places)
        return {"uses": uses[:_MAX_LISTED], "filling": filling}


def _as_plain_functions(tree: Tree) -> tuple[list[Wrap], list[Place]]:
    """Make async functions plain ones whose calls give a coroutine: ty infers what those return, not what these do.

    A generator becomes a function that may return what it yields.
    """
    wraps: list[Wrap] = []
    without: list[Place] = []
    for name, function in tree.functions.items():
        yields = [node for node in ast.walk(function) if isinstance(node, ast.Yield | ast.Return)]
        yields = [node for node in yields if tree.function_around(node) is function]
        is_generator = any(isinstance(node, ast.Yield) for node in yields)
        words = [
            (function, "async ", ""),
            *((node, *_returning(tree, node)) for node in yields if is_generator),
        ]
        if not isinstance(function, ast.AsyncFunctionDef) or function.returns:
            continue
        if not all(_begins(tree, node, word) for node, word, _ in words):
            continue
        for node, word, instead in words:
            line, column, *_ = tree.place(node)
            without.append(Place(line, column, line, column + len(word)))
            wraps += [Wrap(Place(line, column, line, column), instead, "")] if instead else []
        calls = [
            tree.place(call)
            for call in map(tree.parents.get, tree.loads.get(name, []))
            if isinstance(call, ast.Call)
        ]
        wrapper = "halflap_yielding(" if is_generator else "halflap_started("
        wraps += [Wrap(call, wrapper, ")") for call in calls]
    return wraps, without


def _returning(tree: Tree, node: ast.Yield | ast.Return) -> tuple[str, str]:
    if isinstance(node, ast.Return):
        return "return", "raise SystemExit"
    # `x = yield y` is left alone: no word is found there.
    return ("yield ", "if halflap_maybe: return ") if isinstance(tree.parents[node], ast.Expr) else ("-", "")


def _begins(tree: Tree, node: ast.stmt | ast.expr, word: str) -> bool:
    line, column, *_ = tree.place(node)
    text = tree.lines[line - 1]
    return text[column - 1 :].startswith(word) and (
        not text[: column - 1].strip() or not word.startswith("yield")
    )


def _ignored_lines(tree: Tree, code: str) -> list[int]:
    """Return the lines that `# type: ignore` is for: its own, and all of a simple statement that it ends."""
    if "ignore" not in code:
        return []
    try:
        lines = {
            token.start[0]
            for token in tokenize.generate_tokens(io.StringIO(code).readline)
            if token.type == tokenize.COMMENT and _overrides(token.string)
        }
    except (tokenize.TokenError, SyntaxError):
        return []
    for node in tree.nodes:
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and node.end_lineno in lines:
            lines.update(range(node.lineno, node.end_lineno))
    return sorted(lines)[:_MAX_LISTED]


def _overrides(comment: str) -> bool:
    parts = [part.replace(" ", "") for part in comment.split("#")]
    return any(part.startswith(("type:ignore", "ty:ignore")) for part in parts)
