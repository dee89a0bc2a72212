"""Say what is there where a program looked for something else, and what to do instead.

Nothing here runs anything of the program: values are asked for their exact type first, and only plain ones for more.
"""

from __future__ import annotations

import ast
import re
import sys
from itertools import islice
from typing import TYPE_CHECKING, Any
from urllib.error import URLError

from halflap.execution.hints import (
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

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType, TracebackType

__all__ = ["hint"]

_COROUTINE = re.compile(r"""['"]coroutine['"]|(type|not|to) coroutine\b|coroutine found""")
"""Not what asyncio says where one is needed: "a coroutine was expected"."""
_MOST_KEYS_COMPARED = 1_000
_MOST_NAMES = 1_000
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
    look = _Look(inner.tb_frame, provenance)
    nodes = _nodes(source, inner)
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


def _about_place(error: BaseException, node: ast.Subscript | ast.Attribute, look: _Look) -> str | None:
    """Say what a value is, or has, instead of what was looked for in it."""
    by_attribute = isinstance(node, ast.Attribute)
    try:
        wanted = node.attr if isinstance(node, ast.Attribute) else look.value(node.slice)
    except _UnknownError:
        wanted = _key(error)
    try:
        seen = look.see(node.value)
    except _UnknownError:
        if not by_attribute or type(error) is not AttributeError or type(error.name) is not str:
            return None
        seen = see(error.obj)
    if seen.kind == "dict" and not by_attribute and (wanted is None or _has(seen.keys, wanted)):
        # It is another result than the one that is remembered, or what is there has changed since.
        return None
    if seen.kind == "NoneType" and (said := look.gave_none(node.value)) is not None:
        return said
    said = what_is_there(seen, wanted, look.provenance, by_attribute=by_attribute)
    if seen.kind == "str" and said is not None and (more := look.whose_key(seen.text)) is not None:
        return f"{said}: {more}"
    return said


def _key(error: BaseException) -> str | None:
    return (_text(error) or None) if type(error) is KeyError else None


def _about_key_below(error: BaseException, nodes: list[ast.AST], look: _Look) -> str | None:
    """Say what is in the dicts that a line names, where something in C, or of a library, looked for a key."""
    wanted = _key(error)
    if wanted is None or not nodes or any(isinstance(node, ast.Raise) for node in nodes):
        return None
    named = list(look.all_in(nodes[0]))
    if any(seen.kind in {"set", "frozenset", "_Environ"} for seen in named):
        return None
    lacking = [seen for seen in map(_object, named) if seen is not None and not _has(seen.keys, wanted)]
    if not lacking:
        if any(_object(seen) is not None for seen in named) or _is_of_others(nodes[0]):
            return None
        lacking = look.results_without(wanted)
    if len({tuple(seen.keys) for seen in lacking if all(map(is_plain, seen.keys))}) != 1:
        return None
    return what_is_there(lacking[0], wanted, look.provenance, by_attribute=False)


def _is_of_others(node: ast.AST) -> bool:
    """Whether a line looks into something that is not a variable, and is therefore not about one."""
    return any(isinstance(inner, ast.Attribute | ast.Subscript) for inner in ast.walk(node))


def _object(seen: Seen) -> Seen | None:
    """Give the dict that a value is, or is a list of."""
    if seen.kind == "list" and seen.first is not None:
        seen = seen.first
    return seen if seen.kind == "dict" else None


def _about_operands(
    error: BaseException, node: ast.BinOp | ast.AugAssign | ast.Compare, look: _Look
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
    except _UnknownError:
        return None
    if sign is None or all(one.kind == sides[0].kind == "str" for one in sides):
        return None
    return f"Left of `{sign}` is {_side(sides[0])}, right of it {_side(sides[1])}."


def _side(seen: Seen) -> str:
    return f"the text {seen.text!r}" if seen.kind == "str" else kind_of(seen)


def _has(keys: Any, wanted: Any) -> bool:
    return is_plain(wanted) and any(
        type(key) is type(wanted) and key == wanted for key in islice(keys, _MOST_KEYS_COMPARED)
    )


class _UnknownError(Exception):
    """The value of an expression can't be had without running something."""


def _scope() -> Any:
    return sys._getframe().f_locals  # noqa: SLF001 -- only its type is looked at


_SCOPES = (dict, type(_scope()))
"""The body of a class can have names in something of the program's own."""


class _Look:
    """Looks at values from a frame."""

    def __init__(self, frame: FrameType, provenance: Provenance) -> None:
        self.provenance = provenance
        self._scopes = [names for names in (frame.f_locals, frame.f_globals) if type(names) in _SCOPES]

    def value(self, node: ast.expr) -> Any:
        """Give the value of a simple expression: names, constants, and places in plain dicts and lists."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            for names in self._scopes:
                if node.id in names:
                    return names[node.id]
        elif isinstance(node, ast.Subscript):
            return self._part(node.value, node.slice)
        elif (got := _got(node)) is not None:
            outer, key = self.value(got[0]), self.value(got[1])
            if type(outer) is dict and is_plain(key):
                return outer.get(key)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            number = self.value(node.operand)
            if type(number) is int:
                return -number
        raise _UnknownError

    def _part(self, whole: ast.expr, at: ast.expr) -> Any:
        outer, key = self.value(whole), self.value(at)
        if type(outer) in {dict, list, tuple, str} and is_plain(key):
            return outer[key]
        raise _UnknownError

    def see(self, node: ast.expr) -> Seen:
        """Give what there is to say about the value of an expression, the last result of a tool among them."""
        try:
            return see(self.value(node))
        except (LookupError, TypeError, _UnknownError):
            seen = self._see_result(node)
        if seen is None:
            raise _UnknownError
        return seen

    def _see_result(self, node: ast.expr) -> Seen | None:
        if isinstance(node, ast.Await):
            return self._last(node.value)
        got = (node.value, node.slice) if isinstance(node, ast.Subscript) else _got(node)
        outer = None if got is None else self._see_result(got[0])
        if got is None or outer is None:
            return None
        key = self.value(got[1])
        if outer.kind == "list" and type(key) is int:
            return outer.first
        if outer.kind == "dict" and type(key) is str:
            if not isinstance(node, ast.Subscript) and not _has(outer.keys, key):
                return Seen("NoneType")
            return outer.inside.get(key)
        return None

    def _last(self, call: ast.expr) -> Seen | None:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return None
        name: Any = call.func.id
        if name == "call_tool" and call.args:
            name = self.value(call.args[0])
        return self.provenance.last(name) if type(name) is str else None

    def all_in(self, node: ast.AST) -> Iterator[Seen]:
        """Give what can be seen in an expression, of `a['b']` only the whole."""
        if isinstance(node, ast.expr) and not isinstance(node, ast.Constant):
            try:
                yield self.see(node)
            except _UnknownError:
                pass
            else:
                return
        for inner in ast.iter_child_nodes(node):
            if not isinstance(inner, ast.stmt):
                yield from self.all_in(inner)

    def gave_none(self, node: ast.expr) -> str | None:
        """Say why `.get` gave nothing."""
        got = _got(node)
        if got is None:
            return None
        outer, key = self.see(got[0]), self.value(got[1])
        if outer.kind != "dict" or not is_plain(key):
            return None
        if _has(outer.keys, key):
            return f"`.get({key!r})` gave None: that is the value there."
        why = what_is_there(outer, key, self.provenance, by_attribute=False)
        return f"`.get({key!r})` gave None: {why}"

    def _variables(self) -> Iterator[Any]:
        for names in self._scopes:
            for name, value in islice(names.items(), _MOST_NAMES):
                if type(name) is str and not name.startswith("__"):
                    yield value

    def results_without(self, wanted: str) -> list[Seen]:
        """Give the objects of tools among the variables that lack a key."""
        objects = (_object(see(value)) for value in self._variables() if type(value) in {dict, list})
        return [
            seen
            for seen in objects
            if seen is not None
            and not _has(seen.keys, wanted)
            and self.provenance.tool_of(seen.keys) is not None
        ]

    def whose_key(self, text: str) -> str | None:
        """Say that a text is the key of a dict, which is what going through one gives."""
        for value in self._variables():
            if type(value) is not dict:
                continue
            for key, inner in islice(value.items(), _MOST_KEYS_COMPARED):
                if type(key) is str and key == text:
                    if type(inner) is dict:
                        return "it is a key of a dict; to go through its values write `.values()`"
                    return "it is a key of a dict; going through a dict gives its keys"
        return None


def _got(node: ast.AST) -> tuple[ast.expr, ast.expr] | None:
    """Give of `a.get(b)` a and b."""
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "get"
        and len(node.args) == 1
        and not node.keywords
    ):
        return node.func.value, node.args[0]
    return None
