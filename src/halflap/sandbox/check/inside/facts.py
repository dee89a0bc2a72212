"""What Python itself says about a program's text, gathered in the confined child."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from typing import Any

from halflap.sandbox.check.inside.changes import fills_in
from halflap.sandbox.check.inside.reads import reads_in
from halflap.sandbox.check.inside.slots import slots_in
from halflap.sandbox.check.inside.toolcalls import calls_in
from halflap.sandbox.check.inside.tree import Tree
from halflap.sandbox.check.inside.unawaited import never_awaited

__all__ = ["gather"]

_NAME = "program.py"
_LONGEST_TEXT = 1_000
_TOO_DEEP = "the program is nested too deeply for Python"
_OURS = ("mcp__", "script__", "dspy__", "_mcp__", "_script__", "_dspy__")
_BY_TEXT = frozenset({"globals", "exec", "eval", "setattr", "vars", "locals", "builtins"})
"""What can give a name a meaning without its standing there."""
_MOST = 2_000


def gather(code: str) -> dict[str, Any]:
    """Compile the program as it would be for a run; say what stands against it, or what there is to see in it."""
    error, parsed = _parse(code)
    if parsed is None:
        return {"syntax_error": error}
    tree = Tree(parsed, code)
    return {
        "syntax_error": None,
        "bound": sorted(name for name in tree.bindings if name.startswith(_OURS))[:_MOST],
        "defined": sorted(tree.defined)[:_MOST],
        "dynamic": not _BY_TEXT.isdisjoint(tree.loads),
        "ignored": _ignored_lines(tree, code),
        "calls": calls_in(tree)[:_MOST],
        "reads": reads_in(tree)[:_MOST],
        "never": never_awaited(tree)[:_MOST],
        "slots": slots_in(tree, code)[:_MOST],
        "fills": [tree.place(one) for one in fills_in(tree)][:_MOST],
    }


def _parse(code: str) -> tuple[dict[str, Any] | None, ast.Module | None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = compile(
                code, _NAME, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST, dont_inherit=True
            )
            # To the end, and not to the tree alone: a `return` outside a function is found only then.
            compile(parsed, _NAME, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    except SyntaxError as error:
        return _trouble(str(error.msg), error.lineno, error.offset, error.text), None
    except (RecursionError, MemoryError):
        return _trouble(_TOO_DEEP), None
    except (ValueError, OverflowError) as error:
        # NUL bytes, half of a surrogate pair, a number that is too long to read.
        return _trouble(str(error)), None
    assert isinstance(parsed, ast.Module)
    return None, parsed


def _trouble(
    message: str, line: int | None = None, column: int | None = None, text: str | None = None
) -> dict[str, Any]:
    return {
        "message": message[:_LONGEST_TEXT],
        "line": line or 1,
        "column": max(column or 1, 1),
        "text": (text or "")[:_LONGEST_TEXT],
    }


def _ignored_lines(tree: Tree, code: str) -> list[int]:
    """Give the lines at whose end the author says that he knows better; at the end of a statement, all of it."""
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
        # What has statements of its own is not meant: its end is theirs.
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and node.end_lineno in lines:
            lines.update(range(node.lineno, node.end_lineno))
    return sorted(lines)[:_MOST]


def _overrides(comment: str) -> bool:
    words = [part.strip() for part in comment.split("#")]
    return any(word.replace(" ", "").startswith(("type:ignore", "ty:ignore")) for word in words)
