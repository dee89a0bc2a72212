"""How a generated program reads results: what stands where, lists that grow page by page, and that a part is not the whole."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from halflap.core.text import visible
from halflap.graph.edge import path_text
from halflap.graph.syntax import assign, attribute, call, constant, function, into, load, put, refuse, store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halflap.graph.edge import Path
    from halflap.graph.loops import Loops
    from halflap.graph.syntax import Names
    from halflap.graph.workflow import Task

__all__ = ["Results"]

_LONGEST = 80
_NEWEST = """
def newest(whole, page):
    made = dict(whole)
    for key, value in page.items():
        if isinstance(value, dict) and isinstance(whole.get(key), dict):
            made[key] = newest(whole[key], value)
        elif not isinstance(value, (dict, list)) and not isinstance(whole.get(key), (dict, list)):
            made[key] = value
    return made
"""
_IS_PART = """
def is_part(text, count):
    if not isinstance(text, str):
        return False
    before, _, after = text.lower().replace(' out of ', ' of ').replace(',', '').partition(' of ')
    before = before.replace('\u2013', '-').replace(' to ', '-').replace('-', ' ')
    numbers = [int(one) for one in before.split() if one.isdecimal()]
    total = ''.join((after.split() or [''])[:1]).rstrip('.;)')
    if not total.isdecimal() or not numbers or int(total) <= numbers[-1]:
        return False
    return numbers == [count] or (len(numbers) == 2 and numbers[1] - numbers[0] + 1 == count)
"""
"""As they stand in a program that needs them, but for their names: what is told on the last page counts, but for lists;
and whether a text says that so many items are a part, as `1-3 of 7` or `3 of 7`."""


class Results:
    """Writes what is taken out of the results of steps, and what is put into them."""

    def __init__(self, loops: Loops, names: Names) -> None:
        self._loops = loops
        self._names = names
        self._keeps = names.make("keep")
        self._own = {one: names.make(one) for one in ("newest", "is_part")}
        self._needed: set[str] = set()

    def got(self, task: Task, value: str, path: Path) -> ast.expr:
        """Write what stands at a path of a page, which need not be there: the last page may lack what others have."""
        presence = self._loops.presence(task.id)
        inner = into(load(value), path[:-1], (), presence)
        if path[:-1] and presence.may_be_nothing(path[:-1]):
            inner = ast.BoolOp(ast.Or(), [inner, ast.Dict([], [])])
        return call(attribute(inner, "get"), constant(path[-1].key))

    def items(self, task: Task, array: Path, value: str) -> ast.expr:
        """Write a list of a result: an empty one, where there is none."""
        return into(load(value), array, (), self._loops.presence(task.id), empty=ast.List([], ast.Load()))

    def grow(self, task: Task, array: Path, whole: str, page: str) -> Iterator[ast.stmt]:
        """Write that the items of a page are put behind those that there are."""
        presence = self._loops.presence(task.id)
        parts = [self.items(task, array, one) for one in (whole, page)]
        if not array:
            yield assign(whole, ast.BinOp(parts[0], ast.Add(), parts[1]))
            return
        for size in range(1, len(array)):
            around = array[:size]
            if presence.may_be_nothing(around):
                # The first page may lack what holds the items of the next.
                missing = ast.Compare(self.got(task, whole, around), [ast.Is()], [constant(None)])
                yield ast.If(missing, [put(whole, around, ast.Dict([], []))], [])
        yield put(whole, array, ast.BinOp(parts[0], ast.Add(), parts[1]))

    def whole(self, task: Task, whole: str) -> Iterator[ast.stmt]:
        """Write that it is an error if a result still says that there is more: a part is not the whole."""
        tool = visible(task.ports.tool, _LONGEST)
        for one in task.more:
            if one.kind == "full":
                count = call("len", self.items(task, one.array, whole))
                limit = visible(one.by, _LONGEST)
                full = f"{tool} returned {one.size}, as many as its {limit} allows: there may be more. Give {limit}."
                yield ast.If(ast.Compare(count, [ast.Eq()], [constant(one.size)]), [refuse(full)], [])
                continue
            value = self.got(task, whole, one.path)
            path = visible(path_text(one.path), _LONGEST)
            more = refuse(f"{tool} says by {path} that there is more than it returned.")
            if one.kind == "text":
                self._needed.add("is_part")
                count = call("len", self.items(task, one.array, whole))
                yield ast.If(call(self._own["is_part"], value, count), [more], [])
                continue
            if one.kind in {"total", "pages"}:
                total = self._names.make("total")
                is_pages = one.kind == "pages"
                count = constant(1) if is_pages else call("len", self.items(task, one.array, whole))
                yield assign(total, value)
                told = ast.Compare(load(total), [ast.IsNot()], [constant(None)])
                fewer = ast.BoolOp(ast.And(), [told, ast.Compare(count, [ast.Lt()], [load(total)])])
                said = constant(f"{tool} returned {{}} of {{}}{' pages' if is_pages else ''}.")
                part = call(attribute(said, "format"), count, load(total))
                yield ast.If(fewer, [ast.Raise(call("ValueError", part))], [])
                continue
            says = value
            if one.kind == "address":
                text = call("str", ast.BoolOp(ast.Or(), [value, constant("")]))
                says = ast.Compare(constant("://"), [ast.In()], [text])
            elif one.kind not in {"next", "left"}:
                says = ast.Compare(value, [ast.Is()], [constant(one.kind == "yes")])
            yield ast.If(says, [more], [])

    def newest(self, task: Task, whole: str, page: str) -> Iterator[ast.stmt]:
        """Write that all but the lists is as the last page tells it: the first one's number is not that of the whole."""
        if all(task.collects):
            self._needed.add("newest")
            yield assign(whole, call(self._own["newest"], load(whole), load(page)))

    def written(self) -> list[ast.stmt]:
        """Write the functions that are called."""
        plain = {"newest": _NEWEST, "is_part": _IS_PART}
        made: list[ast.stmt] = []
        for name in sorted(self._needed):
            tree = ast.parse(plain[name])
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef):
                    node.name = self._own[name]
                elif isinstance(node, ast.Name) and node.id == name:
                    node.id = self._own[name]
            made += tree.body
        return made

    def keep(self, whole: str, path: Path, value: ast.expr) -> ast.stmt:
        """Write that what leads on is kept, by a function: null is not always what the tool declares it to be."""
        keys = ast.Tuple([constant(one.key) for one in path], ast.Load())
        return ast.Expr(call(self._keeps, load(whole), keys, value))

    def keep_function(self) -> ast.stmt:
        """Write the function: what the first page has nothing to hold it in gets that."""
        holder, keys, value, key = (self._names.make(one) for one in ("holder", "keys", "value", "key"))
        here = ast.Subscript(load(holder), load(key), ast.Load())
        target = ast.Subscript(load(holder), load(key), ast.Store())
        nothing = ast.Compare(call(attribute(load(holder), "get"), load(key)), [ast.Is()], [constant(None)])
        last = ast.UnaryOp(ast.USub(), ast.Constant(1))
        around = ast.Subscript(load(keys), ast.Slice(None, last), ast.Load())
        end = ast.Subscript(load(holder), ast.Subscript(load(keys), last, ast.Load()), ast.Store())
        body: list[ast.stmt] = [
            ast.For(
                store(key),
                around,
                [ast.If(nothing, [ast.Assign([target], ast.Dict([], []))], []), assign(holder, here)],
                [],
            ),
            ast.Assign([end], load(value)),
        ]
        return function(self._keeps, [holder, keys, value], body, waits=False)
