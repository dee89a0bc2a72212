"""The smallest parts of a generated program: templates, literals, and names for variables.

A template is a piece of Python whose names in capitals are replaced by syntax nodes, so that no name or value of a tool
can become code.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from halflap.core.text import visible
from halflap.graph.naming import pieces_of, subject_of, verb_at, words_of
from halflap.graph.naming.vocabulary import CONTAINERS

if TYPE_CHECKING:
    from halflap.graph.paths import Path

_MAX_SHOWN = 80
_MAX_NAME = 40
_NO_LETTER = re.compile(r"[^0-9a-z]+")

Part = str | ast.expr | list[ast.stmt]
"""What a name of a template becomes: another name, an expression, or, standing alone, statements."""


def code(template: str, **parts: Part) -> list[ast.stmt]:
    """Return the statements of a template."""
    made: list[ast.stmt] = _filled(_parsed(template).body, parts)
    return made


def expr(template: str, **parts: Part) -> ast.expr:
    """Return the expression of a template."""
    (made,) = code(template, **parts)
    assert isinstance(made, ast.Expr)
    return made.value


@lru_cache(maxsize=256)
def _parsed(template: str) -> ast.Module:
    return ast.parse(template)


def _filled(node: Any, parts: dict[str, Part]) -> Any:
    """Copy a part of a syntax tree with its names replaced."""
    if isinstance(node, list):
        return [part for one in node for part in _statements(_filled(one, parts))]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Name):
        part = parts.get(node.value.id)
        if isinstance(part, list):
            return part
    if isinstance(node, ast.Name) and node.id in parts:
        part = parts[node.id]
        return ast.Name(part, node.ctx) if isinstance(part, str) else part
    if isinstance(node, ast.AST):
        return type(node)(**{name: _filled(value, parts) for name, value in ast.iter_fields(node)})
    return node


def _statements(made: Any) -> list[Any]:
    return made if isinstance(made, list) else [made]


def load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def loop(name: str | ast.expr, over: ast.expr, *conditions: ast.expr) -> ast.comprehension:
    target = ast.Name(name, ast.Store()) if isinstance(name, str) else name
    return ast.comprehension(target, over, list(conditions), 0)


def function(name: str, parameters: Iterable[str], body: list[ast.stmt]) -> ast.stmt:
    """Return an asynchronous function."""
    taken = ast.arguments(
        [], [ast.arg(one) for one in parameters], kwonlyargs=[], kw_defaults=[], defaults=[]
    )
    return ast.AsyncFunctionDef(name=name, args=taken, body=body, decorator_list=[])


def refuse(condition: ast.expr, message: str) -> list[ast.stmt]:
    """End the program with an error where a condition holds."""
    return code(
        "if CONDITION:\n    raise ValueError(MESSAGE)", CONDITION=condition, MESSAGE=ast.Constant(message)
    )


def shown(text: str) -> str:
    """Return a name for a message, shortened and without control characters."""
    return visible(text, _MAX_SHOWN)


def literal(value: Any) -> ast.expr:
    """Write a JSON value."""
    if isinstance(value, dict):
        return ast.Dict([ast.Constant(name) for name in value], [literal(one) for one in value.values()])
    if isinstance(value, list):
        return ast.List([literal(one) for one in value], ast.Load())
    if isinstance(value, float) and not math.isfinite(value):
        return expr("float(TEXT)", TEXT=ast.Constant(str(value)))
    return ast.Constant(value)


class Names:
    """Names for the variables of a program: readable, valid, and none used twice."""

    OWN = frozenset(
        {*dir(builtins), *keyword.kwlist, *keyword.softkwlist}
        | {"asyncio", "json", "call_tool", "show", "ToolError", "self", "main"}
    )
    """Names with a meaning in every program."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._tools = frozenset(taken)
        self._taken = {*self._tools, *self.OWN}

    def make(self, text: str, end: str = "", otherwise: str = "value") -> str:
        """Return a new name made from a text, with an end that is never cut off."""
        stem = _NO_LETTER.sub("_", text.lower()).strip("_")[: _MAX_NAME - len(end)].strip("_")
        if not stem or stem[0].isdigit() or stem.startswith(("mcp__", "script__", "dspy__")):
            stem = f"{otherwise}_{stem}".rstrip("_")
        stem += end
        name, number = stem, 2
        while name in self._taken:
            name, number = f"{stem}_{number}", number + 1
        self._taken.add(name)
        return name

    def of_result(self, tool: str) -> str:
        """Name a tool's result after the tool without its verb."""
        parts = pieces_of(tool)
        nouns = parts[1:] if verb_at(parts[:1]) == 0 else parts
        return self.make("_".join(nouns or parts), otherwise="result")

    def of_item(self, path: Path, tool: str) -> str:
        """Name an item of a loop over a tool's result."""
        keys = [words_of(step.key) for step in path if step.kind == "key"]
        words = keys[-1] if keys and not CONTAINERS.issuperset(keys[-1]) else subject_of(tool).thing
        name = "_".join(one for one in words if one.isascii())
        if path[-1].kind == "name":
            return self.make(name, "_key") if name else self.make("key")
        return self.make(name or "item", otherwise="item")

    def inside(self, *taken: str) -> Names:
        """Start the names of a function, which may hide those around it but for a few."""
        return Names((*self._tools, *taken))
