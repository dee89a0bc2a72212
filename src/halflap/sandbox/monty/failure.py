"""Say how a program failed in monty: its own lines, what was there where it looked, what monty cannot run."""

from __future__ import annotations

import ast
import itertools
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.sandbox import words
from halflap.sandbox.hints import FILE, NO_FILES, NOT_AWAITED, Provenance, Seen, what_is_there
from halflap.sandbox.monty.lacking import missing_builtin, refusal
from halflap.sandbox.monty.prelude import CARRIER, look
from halflap.sandbox.sandbox import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pydantic_monty import Frame, MontyRuntimeError, MontySyntaxError, SourceRange

__all__ = ["FEED", "Scene", "describe"]

FEED = "<python-input-1>"
"""What monty calls the program: the prelude is number 0."""
_LONGEST = 20_000
_LONGEST_SOURCE = 100_000
_MOST_ALIKE = 3
_UNDEFINED = re.compile(r"^name '(?P<name>\w+)' is not defined")


@dataclass(frozen=True, slots=True)
class Scene:
    """Where a program failed, and whom to ask about it."""

    source: str
    provenance: Provenance
    results: Mapping[str, Seen]
    """What each tool returned last."""
    waited_at: SourceRange | None
    """Where it waited last: of calls that were gathered, monty does not say more."""
    ask: Callable[[str], Any]
    """Runs a line of ours where the program failed."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Part of the program: lines from 1, columns from 0, in letters."""

    line: int
    column: int
    end_line: int
    end_column: int
    function: str | None


def describe(error: MontyRuntimeError | MontySyntaxError, scene: Scene) -> Failure | None:
    """Give the failure; None if the program only ended itself, and all was well."""
    headline = error.display("type-msg")
    kind, _, message = headline.partition(": ")
    places = list(_places(error.traceback(), scene))
    if kind == "SystemExit":
        return _left(message or None)
    if headline == "AttributeError: module 'sys' has no attribute 'exit'" and places:
        called = _exit_code(scene.source, places[-1])
        if called is not None:
            return _left(*called)
    kind = "ToolError" if kind == CARRIER else kind
    hint, unknown = None, None
    lacking = refusal(kind, message)
    if lacking is not None:
        message, hint = lacking
    elif kind == "NameError" and (found := _UNDEFINED.match(message)):
        hint = missing_builtin(found["name"])
        unknown = found["name"] if hint is None else None
    elif kind == "PermissionError":
        hint = NO_FILES
    elif places:
        message, hint = _about_value(kind, message, places[-1], scene)
    is_written_wrong = bool(places) and places[-1].function is None
    text = _traceback(places, scene.source, is_written_wrong=is_written_wrong)
    text += f"{kind}: {message}\n" if message else f"{kind}\n"
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST // 2]}\n…\n{text[-_LONGEST // 2 :]}"
    return Failure(kind.rpartition(".")[2], message[:_LONGEST], text, hint, unknown)


def _left(code: object = None) -> Failure | None:
    if code is None or code == 0:
        return None
    return Failure("SystemExit", str(code), words.left_with(code))


# Lines -------------------------------------------------------------------------------------------------


def _places(frames: Sequence[Frame], scene: Scene) -> Iterator[_Place]:
    own = [frame for frame in frames if frame.filename in {FEED, FILE}]
    last = scene.source.count("\n") + 1
    for frame in own:
        if frame.line > last:
            # The line that enters a script is ours.
            continue
        yield _Place(frame.line, frame.column - 1, frame.end_line, frame.end_column - 1, frame.function_name)
    if frames and not own and scene.waited_at is not None and scene.waited_at.filename == FEED:
        before = scene.source.encode()[: scene.waited_at.start].decode(errors="replace")
        until = scene.source.encode()[: scene.waited_at.end].decode(errors="replace")
        yield _Place(
            before.count("\n") + 1,
            len(before) - before.rfind("\n") - 1,
            until.count("\n") + 1,
            len(until) - until.rfind("\n") - 1,
            "<module>",
        )


def _traceback(places: Sequence[_Place], source: str, *, is_written_wrong: bool) -> str:
    """Write the lines as Python does."""
    lines = source.split("\n")
    written = [] if is_written_wrong or not places else ["Traceback (most recent call last):\n"]
    for (number, function), alike in itertools.groupby(places, lambda place: (place.line, place.function)):
        same = list(alike)
        where = "" if is_written_wrong else f", in {function or '<module>'}"
        line = lines[number - 1] if number <= len(lines) else ""
        for place in same[:_MOST_ALIKE]:
            written += [f'  File "{FILE}", line {number}{where}\n', _shown(line, place)]
        if (more := len(same) - _MOST_ALIKE) > 0:
            written.append(f"  [Previous line repeated {more} more time{'s' if more > 1 else ''}]\n")
    return "".join(written)


def _shown(line: str, place: _Place) -> str:
    text = line.strip()
    indent = len(line) - len(line.lstrip())
    shown = f"    {text}\n"
    end = place.end_column if place.end_line == place.line else len(line.rstrip())
    if place.end_line == place.line and end - place.column < len(text):
        shown += f"    {' ' * (place.column - indent)}{'^' * max(1, end - place.column)}\n"
    return shown


# Values ------------------------------------------------------------------------------------------------


def _about_value(kind: str, message: str, place: _Place, scene: Scene) -> tuple[str, str | None]:
    """Say what was there where the program looked for something else, as far as it can be had."""
    if "'coroutine' object" in message:
        return message, NOT_AWAITED
    if kind not in {"KeyError", "TypeError", "AttributeError", "IndexError"}:
        return message, None
    try:
        tree = _parse(scene.source)
        node = _node(tree, place, scene.source)
        if node is None:
            return message, None
        wanted = _wanted(node, message)
        if kind == "KeyError":
            message = repr(wanted)
        there = _there(tree, node, wanted, place, scene)
        if there is None:
            return message, None
        by_attribute = kind == "AttributeError"
        return message, what_is_there(there, wanted, scene.provenance, by_attribute=by_attribute)
    except Exception:  # noqa: BLE001 -- a hint is a favour: without one, the failure is still told
        return message, None


def _parse(source: str) -> ast.Module:
    """Read a program that monty has read before, and so is not nested deeply; a long one would take too long."""
    if len(source) > _LONGEST_SOURCE:
        raise ValueError("the program is too long")
    return ast.parse(source)


def _node(tree: ast.AST, place: _Place, source: str) -> ast.Subscript | ast.Attribute | None:
    """Find the expression that failed."""
    wanted = _bytes(place, source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript | ast.Attribute | ast.Call) and _span(node) == wanted:
            found = node.func if isinstance(node, ast.Call) else node
            if isinstance(found, ast.Subscript | ast.Attribute):
                return found
    return None


def _span(node: ast.expr) -> tuple[int | None, ...]:
    return (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)


def _bytes(place: _Place, source: str) -> tuple[int, ...]:
    """Give a place as `ast` counts: columns in bytes."""
    lines = source.split("\n")
    start = len(lines[place.line - 1][: place.column].encode())
    end = len(lines[place.end_line - 1][: place.end_column].encode())
    return (place.line, start, place.end_line, end)


def _wanted(node: ast.Subscript | ast.Attribute, message: str) -> Any:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.slice.value if isinstance(node.slice, ast.Constant) else message


def _there(
    tree: ast.AST, node: ast.Subscript | ast.Attribute, wanted: Any, place: _Place, scene: Scene
) -> Seen | None:
    """Look at what the failing expression looked into; or, where that is gone, at the result that it came from."""
    if place.function == "<module>":
        code = _looking(tree, node, wanted)
        return None if code is None else _seen(json.loads(scene.ask(code)))
    functions = [
        outer
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef) and _is_in(node, outer)
    ]
    if not functions or not isinstance(node.value, ast.Name):
        return None
    # The last one found is the innermost.
    there = _origin(functions[-1], node.value.id, scene.results)
    is_another = there is not None and isinstance(node, ast.Subscript) and wanted in there.keys
    return None if is_another else there


def _origin(function: ast.AST, name: str, results: Mapping[str, Seen]) -> Seen | None:
    """Find which tool's result, or member of one, a name stands for, if the function sets it only once."""
    bindings = [
        outer
        for outer in ast.walk(function)
        if (isinstance(outer, ast.arg) and outer.arg == name)
        or any(
            isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Store)
            for inner in ast.iter_child_nodes(outer)
        )
    ]
    match bindings:
        case [ast.Assign(targets=[ast.Name()], value=ast.Await(value=ast.Call(func=ast.Name(id=tool))))]:
            return results.get(tool)
        case [(ast.For() | ast.comprehension()) as loop] if isinstance(loop.iter, ast.Name):
            outer = _origin(function, loop.iter.id, results) if loop.iter.id != name else None
            return None if outer is None else outer.first
    return None


def _looking(tree: ast.AST, node: ast.Subscript | ast.Attribute, wanted: Any) -> str | None:
    """Give the code that looks at what the failing expression looked into; None if it would run something."""
    root = _root(node.value)
    if root is None:
        return None
    for comprehension in ast.walk(tree):
        if not isinstance(comprehension, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            continue
        for one in comprehension.generators:
            if isinstance(one.target, ast.Name) and one.target.id == root.id and _is_in(node, comprehension):
                # What the name stood for is gone; what it came from is there.
                if _root(one.iter) is None or node.value is not root:
                    return None
                return look("{}", among=(ast.unparse(one.iter), wanted))
    return look(ast.unparse(node.value))


def _is_in(node: ast.AST, outer: ast.AST) -> bool:
    return any(inner is node for inner in ast.walk(outer))


def _root(node: ast.expr) -> ast.Name | None:
    """Give the name that an expression begins with, if it has only places in what that stands for."""
    while isinstance(node, ast.Subscript) and (isinstance(node.slice, ast.Constant | ast.Name)):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _seen(told: dict[str, Any]) -> Seen:
    """Read what came from the sandbox, believing none of it."""
    first = told.get("first")
    return Seen(
        kind=str(told["kind"]),
        count=int(told.get("count", 0)),
        keys=[key if isinstance(key, str | int) else str(key) for key in told.get("keys", ())],
        first=_seen(first) if isinstance(first, dict) else None,
        text=str(told.get("text", "")),
    )


def _exit_code(source: str, place: _Place) -> tuple[object] | None:
    """Read what `sys.exit` was called with, which monty has not, if it is written out."""
    try:
        for node in ast.walk(_parse(source)):
            if isinstance(node, ast.Call) and _span(node) == _bytes(place, source) and not node.keywords:
                return (ast.literal_eval(node.args[0]) if node.args else None,)
    except (SyntaxError, ValueError, RecursionError):
        pass
    return None
