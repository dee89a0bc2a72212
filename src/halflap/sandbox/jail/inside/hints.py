"""Say what is there where a program looked for something else, and what to do instead.

Nothing here runs anything of the program: values are asked for their exact type first, and only plain ones for more.
"""

from __future__ import annotations

import ast
import re
import sys
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING
from urllib.error import URLError

from halflap.sandbox.hints import (
    FILE,
    NO_FILES,
    NO_HELP,
    NOT_AWAITED,
    Provenance,
    Seen,
    is_plain,
    kind_of,
    see,
    what_is_there,
)
from halflap.sandbox.jail.inside.look import Look, UnknownError, has, object_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

__all__ = ["hint"]

_COROUTINE = re.compile(r"""['"]coroutine['"]|(type|not|to) coroutine\b|coroutine found""")
"""Not what asyncio says where one is needed: "a coroutine was expected"."""
_NOT_MANY = re.compile(r"object is not iterable|has no len\(\)|argument after \*")
_OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitOr: "|", ast.BitAnd: "&", ast.BitXor: "^", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def hint(error: BaseException, source: str, provenance: Provenance) -> str | None:
    """Say something useful about an error, if there is something to say."""
    try:
        return _about_surroundings(error) or _about_values(error, source, provenance)
    except Exception:  # noqa: BLE001 -- a hint is a favour: without one, the failure is still told
        return None


# Surroundings ------------------------------------------------------------------------------------------


def _about_surroundings(error: BaseException) -> str | None:
    """Say what a program cannot have here, whatever it is about."""
    text, said = _text(error), None
    if _is(error, ImportError):
        name = ImportError.__dict__["name"].__get__(error)
        whole = name if type(name) is str else ""
        module = whole.partition(".")[0]
        said = (
            f"Programs have Python's standard library. For more, the user can add {module!r} to "
            "`execution.modules` in Halflap's configuration, if it is installed beside Halflap."
        )
        if module in sys.stdlib_module_names:
            said = (
                f"{whole!r} is one of the few parts of the standard library that are left out of programs, which have "
                "no network, files or processes to use it with. The user can add it to `execution.modules`."
            )
    elif type(error) is NameError and type(error.name) is str and error.name == "help":
        said = NO_HELP
    elif _is_of_files(error):
        said = NO_FILES
    elif _is(error, RuntimeError) and "can't start new thread" in text:
        said = "Programs have one thread; tools called together with asyncio.gather run at the same time."
        if any(trace.tb_frame.f_code.co_name == "getaddrinfo" for trace in _traces(error.__traceback__)):
            said = NO_FILES
    elif _is(error, RuntimeError) and "asyncio.run() cannot be called" in text:
        said = "The program already runs in an event loop: write `await main()` instead of `asyncio.run(main())`."
    elif type(error) in {TypeError, AttributeError} and _COROUTINE.search(text):
        said = NOT_AWAITED
    return said


def _is(error: BaseException, *kinds: type[BaseException]) -> bool:
    """Ask for the type itself: `isinstance` asks the object, too."""
    return issubclass(type(error), kinds)


def _text(error: BaseException) -> str:
    """Give what an error says, as far as it is text that it was raised with."""
    told = BaseException.__dict__["args"].__get__(error)
    return told[0] if told and type(told[0]) is str else ""


def _is_of_files(error: BaseException) -> bool:
    """Whether it comes from files, network or processes, and not from a program's own `raise`."""
    if not _is(error, OSError):
        return False
    if _is(error, PermissionError, FileNotFoundError):
        return True
    if OSError.__dict__["errno"].__get__(error) is not None:
        return True
    traces = list(_traces(error.__traceback__))
    is_own = not traces or traces[-1].tb_frame.f_code.co_filename == FILE
    return _is(error, URLError, ConnectionError) and not is_own


# Values ------------------------------------------------------------------------------------------------


def _about_values(error: BaseException, source: str, provenance: Provenance) -> str | None:
    """Say what the failing expression looked into, if it can be had without running anything."""
    if not _is(error, KeyError, TypeError, AttributeError, IndexError):
        return None
    traces = [trace for trace in _traces(error.__traceback__) if trace.tb_frame.f_code.co_filename == FILE]
    if not traces:
        return None
    inner = traces[-1]
    look = Look(inner.tb_frame, provenance, _key(error))
    nodes = _nodes(source, inner)
    if inner.tb_next is None and (said := _about_kind(error, nodes, look)) is not None:
        return said
    if inner.tb_next is not None or not any(
        isinstance(node, ast.Subscript | ast.Attribute | ast.BinOp | ast.AugAssign | ast.Compare)
        for node in nodes
    ):
        return _about_key_below(error, nodes, look)
    for node in nodes:
        said = None
        if isinstance(node, ast.Subscript | ast.Attribute):
            said = _about_place(error, node, look)
        elif isinstance(node, ast.BinOp | ast.AugAssign | ast.Compare):
            said = _about_key_below(error, nodes, look) or _about_operands(error, node, look)
        if said is not None:
            return said
    return None


def _traces(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _nodes(source: str, trace: TracebackType) -> list[ast.AST]:
    """Find what stands where it failed."""
    position = next(islice(trace.tb_frame.f_code.co_positions(), trace.tb_lasti // 2, None))
    return [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.expr | ast.stmt)
        and (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == position
    ]


def _about_place(error: BaseException, node: ast.Subscript | ast.Attribute, look: Look) -> str | None:
    """Say what a value is, or has, instead of what was looked for in it."""
    by_attribute = isinstance(node, ast.Attribute)
    try:
        wanted = node.attr if isinstance(node, ast.Attribute) else look.value(node.slice)
    except UnknownError:
        wanted = _key(error)
    try:
        seen = look.see(node.value)
    except UnknownError:
        if not by_attribute or type(error) is not AttributeError or type(error.name) is not str:
            return None
        seen = see(error.obj)
    if seen.kind == "dict" and not by_attribute and (wanted is None or has(seen.keys, wanted)):
        # It is another result than the one that is remembered, or what is there has changed since.
        return None
    if seen.kind == "NoneType" and (said := look.gave_none(node.value)) is not None:
        return said
    said = what_is_there(seen, wanted, look.provenance, by_attribute=by_attribute)
    if seen.kind == "str" and said is not None and (more := look.whose_key(seen.text)) is not None:
        return f"{said}: {more}"
    return said


def _about_kind(error: BaseException, nodes: list[ast.AST], look: Look) -> str | None:
    """Say what a value is that was gone through, or asked for its length, and has neither."""
    if type(error) is not TypeError or not _NOT_MANY.search(_text(error)):
        return None
    for node in nodes:
        for value in _gone_through(node):
            with suppress(UnknownError):
                seen = look.see(value)
                if seen.kind in {"int", "float", "bool", "NoneType", "media"}:
                    return what_is_there(seen, None, look.provenance, by_attribute=False)
    return None


def _gone_through(node: ast.AST) -> list[ast.expr]:
    """Give what an expression or a loop may have gone through."""
    if isinstance(node, ast.Call):
        return node.args
    if isinstance(node, ast.For):
        return [node.iter]
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return [node.generators[0].iter]
    return [node] if isinstance(node, ast.expr) else []


def _key(error: BaseException) -> str | None:
    return (_text(error) or None) if type(error) is KeyError else None


def _about_key_below(error: BaseException, nodes: list[ast.AST], look: Look) -> str | None:
    """Say what is in the dicts that a line names, where something in C, or of a library, looked for a key."""
    wanted = _key(error)
    if wanted is None or not nodes or any(isinstance(node, ast.Raise) for node in nodes):
        return None
    named = list(look.all_in(nodes[0]))
    if any(seen.kind in {"set", "frozenset", "_Environ"} for seen in named):
        return None
    lacking = [seen for seen in map(object_of, named) if seen is not None and not has(seen.keys, wanted)]
    if not lacking:
        if any(object_of(seen) is not None for seen in named) or _is_of_others(nodes[0]):
            return None
        lacking = look.results_without(wanted)
    if len({tuple(seen.keys) for seen in lacking if all(map(is_plain, seen.keys))}) != 1:
        return None
    return what_is_there(lacking[0], wanted, look.provenance, by_attribute=False)


def _is_of_others(node: ast.AST) -> bool:
    """Whether a line looks into something that is not a variable, and is therefore not about one."""
    return any(isinstance(inner, ast.Attribute | ast.Subscript) for inner in ast.walk(node))


def _about_operands(
    error: BaseException, node: ast.BinOp | ast.AugAssign | ast.Compare, look: Look
) -> str | None:
    """Say what stands on both sides."""
    if type(error) is not TypeError or (isinstance(node, ast.Compare) and len(node.ops) != 1):
        return None
    kind: type[ast.AST]
    if isinstance(node, ast.Compare):
        left, kind, right = node.left, type(node.ops[0]), node.comparators[0]
    elif isinstance(node, ast.AugAssign):
        left, kind, right = node.target, type(node.op), node.value
    else:
        left, kind, right = node.left, type(node.op), node.right
    sign = _OPERATORS.get(kind)
    try:
        sides = look.see(left), look.see(right)
    except UnknownError:
        return None
    if sign is None or all(one.kind == sides[0].kind == "str" for one in sides):
        return None
    return f"Left of `{sign}` is {_side(sides[0])}, right of it {_side(sides[1])}."


def _side(seen: Seen) -> str:
    return f"the text {seen.text!r}" if seen.kind == "str" else kind_of(seen)
