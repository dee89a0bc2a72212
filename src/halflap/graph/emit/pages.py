"""The functions of a generated program that call a tool for all pages, or report that its result is only a part."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from halflap.graph.emit.failures import Failures
from halflap.graph.emit.names import Names
from halflap.graph.emit.syntax import (
    assign,
    attribute,
    call,
    constant,
    function,
    into,
    is_none,
    load,
    put,
    refuse,
    shown,
    store,
)
from halflap.graph.naming import words_of
from halflap.graph.paths import Path, path_text
from halflap.graph.ports import kinds_of
from halflap.schema.stub import is_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.graph.emit.arguments import Arguments
    from halflap.graph.emit.loops import Loops
    from halflap.graph.paging import Pages
    from halflap.graph.workflow import Task, Workflow

__all__ = ["Functions"]

_MAX_PAGES = 200
_FROM_ADDRESS = """
def from_address(address, name):
    for part in address.partition('?')[2].partition('#')[0].split('&'):
        key, _, value = part.partition('=')
        letters = ''.join((one for one in decoded(key).lower() if one.isalnum()))
        if letters in (name, 'page' + name):
            return decoded(value)
    return None

def decoded(text):
    first, *rest = text.replace('+', ' ').split('%')
    data = first.encode()
    for part in rest:
        try:
            data += bytes.fromhex(part[:2] or '%') + part[2:].encode()
        except ValueError:
            data += ('%' + part).encode()
    return data.decode('utf-8', 'replace')
"""
"""Reads a parameter out of the address of the next page; programs have no library for it."""


class Functions:
    """Writes the calls of steps, and a function for each step that needs more than a call."""

    def __init__(self, workflow: Workflow, loops: Loops, names: Names, arguments: Arguments) -> None:
        self._workflow = workflow
        self._loops = loops
        self._names = names
        self._arguments = arguments
        self._failures = Failures(workflow, names)
        self._max_pages = names.make("max_pages")
        self._from_address = {one: names.make(one) for one in ("from_address", "decoded")}
        self._uses_addresses = False
        self._own: dict[str, str] = {}
        """The function of each step that has one."""

    def call(self, task: Task, arguments: dict[str, ast.expr]) -> ast.expr:
        """Write the call of a step."""
        if task.paginates is None and not task.more and not self._failures.is_needed(task):
            return _tool_call(task.ports.tool, arguments)
        if task.id not in self._own:
            name = self._loops.results[task.id].removesuffix("_results")
            self._own[task.id] = self._names.make(f"{'get' if task.paginates is None else 'all'}_{name}")
        return call(self._own[task.id], *arguments.values())

    def written(self) -> list[ast.stmt]:
        """Return all functions that the calls need, and what those need."""
        tasks = [one for one in self._workflow.tasks if one.id in self._own]
        made = [self._function(one, self._own[one.id]) for one in tasks]
        before: list[ast.stmt] = []
        if any(one.paginates for one in tasks):
            before.append(assign(self._max_pages, constant(_MAX_PAGES)))
        if self._uses_addresses:
            tree = ast.parse(_FROM_ADDRESS)
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    node.name = self._from_address[node.name]
                elif isinstance(node, ast.Name):
                    node.id = self._from_address.get(node.id, node.id)
            before += tree.body
        return [*before, *self._failures.written(), *made]

    def _function(self, task: Task, name: str) -> ast.stmt:
        names = self._names.inside()
        for own in (*self._own.values(), *self._from_address.values(), self._max_pages):
            names.make(own)
        given = {one: names.make(one) for one in self._arguments.names(task)}
        whole = names.make("result")
        arguments: dict[str, ast.expr] = {one: load(own) for one, own in given.items()}
        body = [
            assign(whole, ast.Await(_tool_call(task.ports.tool, arguments))),
            *self._failures.check(task, whole),
            *(
                self._all_pages(task, task.paginates, whole, arguments, names)
                if task.paginates is not None
                else ()
            ),
            *self._refuse_part(task, whole),
            ast.Return(load(whole)),
        ]
        return function(name, given.values(), body)

    def _all_pages(
        self, task: Task, pages: Pages, whole: str, arguments: Mapping[str, ast.expr], names: Names
    ) -> list[ast.stmt]:
        """Ask for one page after the other. The last page becomes the result, with the items of all of them."""
        page, turn, items, cursor, seen = map(names.make, ("page", "turn", "items", "cursor", "seen"))
        tool = shown(task.ports.tool)
        before, value = (
            self._next_cursor(task, pages, whole, items=items, cursor=cursor, seen=seen)
            if pages.by == "cursor"
            else self._next_number(task, pages, whole, turn, items)
        )
        asked = _with(arguments, pages.target, value)
        grow = [one for path in pages.lists for one in self._grow(task, path, whole, page)]
        body: list[ast.stmt] = [
            *before,
            assign(page, ast.Await(_tool_call(task.ports.tool, asked))),
            *self._failures.check(task, page),
            *([] if pages.by == "cursor" else [self._refuse_same(task, pages, page, items)]),
            assign(items, self._items(task, pages.lists[0], page)),
            *grow,
            assign(whole, load(page)),
        ]
        first = [assign(items, self._items(task, pages.lists[0], whole))]
        if pages.by == "cursor":
            first.append(assign(seen, ast.List([], ast.Load())))
        too_many = refuse(f"{tool} has more pages than {self._max_pages} allows.")
        return [*first, ast.For(store(turn), call("range", load(self._max_pages)), body, [too_many])]

    def _refuse_same(self, task: Task, pages: Pages, page: str, items: str) -> ast.stmt:
        same = ast.Compare(self._items(task, pages.lists[0], page), [ast.Eq()], [load(items)])
        return ast.If(same, [refuse(f"{shown(task.ports.tool)} returned the same page twice.")], [])

    def _next_number(
        self, task: Task, pages: Pages, whole: str, turn: str, items: str
    ) -> tuple[list[ast.stmt], ast.expr]:
        """Write what ends the loop, and return what the call for the next page takes."""
        told = self._got(task, whole, pages.source)
        ends: ast.expr = ast.UnaryOp(ast.Not(), told)
        so_far = call("len", self._items(task, pages.lists[0], whole))
        number: ast.expr = ast.BinOp(load(turn), ast.Add(), constant(1))
        if pages.tells == "done":
            ends = told
        elif pages.tells in {"items", "pages"}:
            count = so_far if pages.tells == "items" else number
            ends = ast.Compare(count, [ast.GtE()], [ast.BoolOp(ast.Or(), [told, constant(0)])])
        before: list[ast.stmt] = [ast.If(ends, [ast.Break()], [])]
        # An empty page is the last, whatever the first one promised.
        before.append(ast.If(ast.UnaryOp(ast.Not(), load(items)), [ast.Break()], []))
        if pages.by == "last":
            last = ast.Subscript(load(items), ast.UnaryOp(ast.USub(), ast.Constant(1)), ast.Load())
            size = len(pages.lists[0]) + 1
            presence = self._loops.presence(task.id)
            return before, into(last, pages.last[size:], pages.last[:size], presence)
        start = number if pages.by == "page" else so_far
        return before, ast.BinOp(start, ast.Add(), constant(pages.first)) if pages.first else start

    def _next_cursor(
        self, task: Task, pages: Pages, whole: str, *, items: str, cursor: str, seen: str
    ) -> tuple[list[ast.stmt], ast.expr]:
        tool = shown(task.ports.tool)
        made: list[ast.stmt] = [assign(cursor, self._got(task, whole, pages.source))]
        ends: ast.expr = ast.UnaryOp(ast.Not(), load(cursor))
        if pages.ends is not None:
            path, last = pages.ends
            says = ast.Compare(self._got(task, whole, path), [ast.Is()], [constant(last)])
            ends = ast.BoolOp(ast.Or(), [ends, says])
        made.append(ast.If(ends, [ast.Break()], []))
        if pages.may_be_address:
            made += self._resolve(task, pages, cursor)
        if "scroll" in words_of(pages.source[-1].key):
            # The same cursor leads from page to page, until one is empty.
            made.append(ast.If(ast.UnaryOp(ast.Not(), load(items)), [ast.Break()], []))
        else:
            again = ast.If(load(items), [refuse(f"{tool} returned the same cursor twice.")], [ast.Break()])
            made.append(ast.If(ast.Compare(load(cursor), [ast.In()], [load(seen)]), [again], []))
        made.append(ast.Expr(call(attribute(load(seen), "append"), load(cursor))))
        return made, load(cursor)

    def _resolve(self, task: Task, pages: Pages, cursor: str) -> list[ast.stmt]:
        """Take the parameter out of the address of the next page, where the cursor is one."""
        self._uses_addresses = True
        name = pages.target[-1].key
        letters = constant("".join(one for one in name.lower() if one.isalnum()))
        slot = next(one for one in task.ports.slots if one.path == pages.target)
        part = call(self._from_address["from_address"], load(cursor), letters)
        is_address = ast.BoolOp(
            ast.And(),
            [
                call("isinstance", load(cursor), load("str")),
                ast.Compare(constant("?"), [ast.In()], [load(cursor)]),
            ],
        )
        lacks = refuse(f"{shown(task.ports.tool)} gives an address for the next page without {shown(name)}.")
        body: list[ast.stmt] = [assign(cursor, part), ast.If(is_none(load(cursor)), [lacks], [])]
        if kinds_of(slot.type) <= {"integer", "number"}:
            body.append(assign(cursor, call("int", load(cursor))))
        return [ast.If(is_address, body, [])]

    def _grow(self, task: Task, path: Path, whole: str, page: str) -> list[ast.stmt]:
        """Put the items so far before those of a page."""
        added = ast.BinOp(self._items(task, path, whole), ast.Add(), self._items(task, path, page))
        if not path:
            return [assign(page, added)]
        presence = self._loops.presence(task.id)
        holders = [path[:size] for size in range(1, len(path)) if presence.may_be_nothing(path[:size])]
        missing: list[ast.stmt] = [
            ast.If(is_none(self._got(task, page, one)), [put(page, one, ast.Dict([], []))], [])
            for one in holders
        ]
        return [*missing, put(page, path, added)]

    def _refuse_part(self, task: Task, whole: str) -> list[ast.stmt]:
        """Report that a result says that there is more."""
        tool = shown(task.ports.tool)
        made: list[ast.stmt] = []
        for one in task.more:
            count = call("len", self._items(task, one.array, whole))
            if one.kind == "full":
                told = f"{tool} returned {one.size} items, as many as its {shown(one.limit)} allows: there may be more."
                made.append(ast.If(ast.Compare(count, [ast.GtE()], [constant(one.size)]), [refuse(told)], []))
                continue
            value = self._got(task, whole, one.path)
            says = value
            if one.kind == "done":
                says = ast.Compare(value, [ast.Is()], [constant(False)])
            elif one.kind == "total":
                says = ast.Compare(count, [ast.Lt()], [ast.BoolOp(ast.Or(), [value, constant(0)])])
            told = f"{tool} says by {shown(path_text(one.path))} that there is more than it returned."
            made.append(ast.If(says, [refuse(told)], []))
        return made

    def _got(self, task: Task, value: str, path: Path) -> ast.expr:
        """Read a path of a page that may be missing there: the last page may lack what others have."""
        presence = self._loops.presence(task.id)
        inner = into(load(value), path[:-1], (), presence)
        if path[:-1] and presence.may_be_nothing(path[:-1]):
            inner = ast.BoolOp(ast.Or(), [inner, ast.Dict([], [])])
        return call(attribute(inner, "get"), constant(path[-1].key))

    def _items(self, task: Task, path: Path, value: str) -> ast.expr:
        return into(load(value), path, (), self._loops.presence(task.id), empty=ast.List([], ast.Load()))


def _tool_call(tool: str, arguments: Mapping[str, ast.expr]) -> ast.expr:
    """Write the call of a tool, whatever it and its parameters are called."""
    named = [ast.keyword(name, value) for name, value in arguments.items() if is_name(name)]
    odd = {name: value for name, value in arguments.items() if not is_name(name)}
    if odd:
        named.append(ast.keyword(None, ast.Dict([ast.Constant(one) for one in odd], list(odd.values()))))
    if is_name(tool) and tool not in Names.OWN:
        return ast.Call(load(tool), [], named)
    return ast.Call(load("call_tool"), [constant(tool)], named)


def _with(arguments: Mapping[str, ast.expr], target: Path, value: ast.expr) -> dict[str, ast.expr]:
    """Return arguments with a value at a slot; in an object, beside what that has."""
    name = target[0].key
    if len(target) == 1:
        return {**arguments, name: value}
    known = arguments.get(name)
    keys: list[ast.expr | None] = [*([None] if known is not None else []), ast.Constant(target[1].key)]
    return {**arguments, name: ast.Dict(keys, [*([known] if known is not None else []), value])}
