"""Whether the code of a live DSPy module only passes values on: by its source, and by what it was seen to call. Imports DSPy."""

from __future__ import annotations

import ast
import inspect
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any, Final

import dspy

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from halflap.dspy.marks import Place

__all__ = ["branches_in", "code_of", "line_of", "own_functions", "unwatched_in"]

_BRANCHES: Final[dict[type[ast.AST], str]] = {
    ast.If: "an `if`",
    ast.IfExp: "an `if`",
    ast.For: "a loop",
    ast.AsyncFor: "a loop",
    ast.While: "a loop",
    ast.Try: "a `try`",
    ast.TryStar: "a `try`",
    ast.Assert: "an `assert`",
    ast.Match: "a `match`",
    ast.BoolOp: "an `and` or `or`",
    ast.ListComp: "a loop",
    ast.SetComp: "a loop",
    ast.DictComp: "a loop",
    ast.GeneratorExp: "a loop",
}
_OF_STEPS: Final = frozenset({"enumerate", "len", "list", "range", "reversed", "tuple", "zip"})
"""What goes through the steps that it is given, or counts them: all of them, in an order that is always the same."""
_OF_DICTS: Final = frozenset({"items", "keys", "values"})
_UNKNOWN: Final = object()


def own_functions(module: Any) -> Iterator[tuple[str, Any, Any]]:
    """Give what a module and those in it run, as far as it is not DSPy's, each with the module that runs it."""
    seen: set[int] = set()
    for one in [module, *(inner for _, inner in module.named_sub_modules())]:
        if id(one) in seen:
            continue
        seen.add(id(one))
        own = [kind for kind in type(one).__mro__ if kind.__module__.partition(".")[0] != "dspy"]
        for name in ("forward", "aforward"):
            # What a class has from another of the user's own is the user's, too.
            found = next((vars(kind)[name] for kind in own if name in vars(kind)), None)
            if found is not None:
                yield f"{type(one).__name__}.{name}", found, one


def branches_in(function: Any, name: str, module: Any = None) -> list[str]:
    """Say where a function, as far as its source is there, can go one way or another.

    To go through the steps that a module has is always the same way.
    """
    nodes = _read(function)
    first = _First(function, module)
    found = [
        (node, _BRANCHES[type(node)])
        for node in nodes
        if type(node) in _BRANCHES and not _goes_through_steps(node, first)
    ]
    return _told(found, name)


def unwatched_in(function: Any, name: str, module: Any, seen: Collection[Place]) -> list[str]:
    """Say where a function gives values to what cannot be watched while it runs.

    Of calls that were seen it is known that they led to a step, or to code that is looked into as well.
    """
    file = code_of(function).co_filename
    first = _First(function, module)
    what = "a call of `{}`, which may look at values or change them"
    return _told(
        (
            (node, what.format(ast.unparse(node.func)))
            for node in _read(function)
            if isinstance(node, ast.Call)
            and (file, node.end_lineno, node.end_col_offset) not in seen
            and _may_look(node, first)
        ),
        name,
    )


def _told(found: Iterable[tuple[Any, str]], name: str) -> list[str]:
    return [
        f"line {node.lineno}: `{name}` has {what}. In a manifest, every step runs once, in one order, with values passed on as "
        "they are."
        for node, what in found
    ]


def line_of(codes: Iterable[CodeType], names: Collection[str]) -> int | None:
    """Give the first line of code on which an attribute of one of these names is set, deleted or called something of."""
    return min(
        (
            node.lineno
            for code in codes
            for part in _read(code)
            for node in _touched(part)
            if isinstance(node, ast.Attribute) and node.attr in names
        ),
        default=None,
    )


def _touched(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            found: list[ast.AST] = [*targets]
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            found = [target]
        case ast.Call(func=ast.Attribute(value=value)):
            found = [value]
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str(name)), *_]):
            yield ast.copy_location(ast.Attribute(node, name), node)
            return
        case _:
            return
    for one in found:
        yield from ast.walk(one)


def code_of(function: Any) -> Any:
    """Give what of a function is run: of one that is wrapped, what is in it."""
    return function if isinstance(function, CodeType) else inspect.unwrap(function).__code__


def _read(function: Any) -> list[ast.AST]:
    """Give all parts of a function, with their places in its file; none if there is no source of it."""
    code = code_of(function)
    try:
        lines, _ = inspect.findsource(code)
        tree = _parsed("".join(lines))
    except (OSError, TypeError, SyntaxError, ValueError):
        return []
    return [
        part
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        and getattr(node, "name", "<lambda>") == code.co_name
        and code.co_firstlineno
        == min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        for part in ast.walk(node)
    ]


@lru_cache(maxsize=8)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


class _First:
    """The first parameter of a method, whatever it is called: the module itself."""

    def __init__(self, function: Any, module: Any) -> None:
        code = code_of(function)
        self._name = code.co_varnames[0] if code.co_argcount else None
        self._module = module

    def resolved(self, node: ast.AST) -> Any:
        """Give what an expression stands for that leads from the module to one of its parts, without running anything."""
        match node:
            case ast.Name(id=name) if name == self._name and self._module is not None:
                return self._module
            case ast.Attribute(value=value, attr=name):
                of = self.resolved(value)
                return inspect.getattr_static(of, name, _UNKNOWN) if isinstance(of, dspy.Module) else _UNKNOWN
            case ast.Subscript(value=value, slice=ast.Constant(value=key)):
                of = self.resolved(value)
                if type(of) not in {list, tuple, dict}:
                    return _UNKNOWN
                try:
                    return of[key]
                except (LookupError, TypeError):
                    return _UNKNOWN
        return _UNKNOWN

    def are_steps(self, node: ast.AST) -> bool:
        """Say whether an expression stands for steps of the module, or for a list or dict of them, or for how many there are."""
        match node:
            case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name in _OF_STEPS:
                return all(self.are_steps(one) for one in given)
            case ast.Call(func=ast.Attribute(value=value, attr=name), args=[], keywords=[]) if (
                name in _OF_DICTS
            ):
                return type(self.resolved(value)) is dict and self.are_steps(value)
        found = self.resolved(node)
        if type(found) is dict:
            found = list(found.values())
        several = found if type(found) in {list, tuple} else [found]
        return bool(several) and all(isinstance(one, dspy.Module) for one in several)


def _goes_through_steps(node: Any, first: _First) -> bool:
    if isinstance(node, ast.For):
        return first.are_steps(node.iter)
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return all(not one.ifs and first.are_steps(one.iter) for one in node.generators)
    return False


def _may_look(call: ast.Call, first: _First) -> bool:
    """Say whether a call gives values to what nothing is known of: what Python is made of, and methods of other objects."""
    given = [*call.args, *(one.value for one in call.keywords)]
    if all(isinstance(one, ast.Constant) or first.are_steps(one) for one in given):
        return False
    root: ast.expr = call.func
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and root.id == "dspy":
        return False
    called = first.resolved(call.func)
    if isinstance(called, dspy.Module):
        return False
    of_module = isinstance(call.func, ast.Attribute) and isinstance(
        first.resolved(call.func.value), dspy.Module
    )
    # A method that is written in Python is looked into when it is run.
    return not (of_module and inspect.isfunction(called))
