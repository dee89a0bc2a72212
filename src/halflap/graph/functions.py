"""The functions of a generated program: they ask for all pages, and see to it that a call succeeded."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from halflap.core.text import visible
from halflap.graph.addresses import Addresses
from halflap.graph.edge import path_text
from halflap.graph.paging import (
    is_always_there,
    keeps_its_cursor,
    last_page,
    may_hold_address,
    takes_address,
)
from halflap.graph.refusals import Refusals
from halflap.graph.results import Results
from halflap.graph.syntax import Names, assign, attribute, call, constant, function, into, load, refuse, store
from halflap.graph.turning import kinds_of, turning_of
from halflap.graph.workflow import slot_text
from halflap.schema.stub import is_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from halflap.graph.arguments import Arguments
    from halflap.graph.edge import Path
    from halflap.graph.loops import Loops
    from halflap.graph.turning import Turning
    from halflap.graph.workflow import Task, Workflow

__all__ = ["Functions"]

_MOST_PAGES = 200
_LONGEST = 80


class Functions:
    """Writes the calls of steps, and the functions that those need which are more than a call."""

    def __init__(self, workflow: Workflow, loops: Loops, names: Names, arguments: Arguments) -> None:
        self._workflow = workflow
        self._loops = loops
        self._names = names
        self._arguments = arguments
        self._most_pages = names.make("most_pages")
        self._own: dict[str, str] = {}
        """The function of each step that has one."""
        self._refusals = Refusals(workflow, loops, names)
        self._addresses = Addresses(names)
        self._results = Results(loops, names)

    def call(self, task: Task, arguments: dict[str, ast.expr]) -> ast.expr:
        """Write the call of a step."""
        if task.paginates is None and not task.more and not self._refusals.is_needed(task):
            return _tool_call(task.ports.tool, arguments)
        if task.id not in self._own:
            name = self._loops.results[task.id].removesuffix("_results")
            self._own[task.id] = self._names.make(f"{'good' if task.paginates is None else 'all'}_{name}")
        return call(self._own[task.id], *arguments.values())

    def written(self) -> list[ast.stmt]:
        """Write all functions that the calls so far need, and what those need."""
        tasks = [one for one in self._workflow.tasks if one.id in self._own]
        made = [
            self._checked_function(one, self._own[one.id])
            if one.paginates is None
            else self._page_function(one, self._own[one.id])
            for one in tasks
        ]
        most = [assign(self._most_pages, constant(_MOST_PAGES)), self._results.keep_function()]
        paging = [*most, *self._addresses.written()] if any(one.paginates for one in tasks) else []
        return [*paging, *self._refusals.written(), *self._results.written(), *made]

    def _checked_function(self, task: Task, name: str) -> ast.stmt:
        given = {name: self._names.make(name) for name in self._arguments.names(task)}
        result = self._names.make("result")
        called = _tool_call(task.ports.tool, {name: load(one) for name, one in given.items()})
        body = [
            assign(result, ast.Await(called)),
            *self._refusals.check(task, result),
            *self._results.whole(task, result),
            ast.Return(load(result)),
        ]
        return function(name, given.values(), body)

    # Pages.

    def _page_function(self, task: Task, name: str) -> ast.stmt:
        """Write a function that asks for one page after the other, and gives them as one."""
        assert task.paginates is not None, "it has pages"
        turning = turning_of(task.ports, task.paginates.source, task.paginates.target)
        if turning is not None:
            given = {name: self._names.make(name) for name in self._arguments.names(task)}
            write = self._guessed if turning.tells == "nothing" else self._counted
            return function(name, given.values(), list(write(task, turning, given)))
        names = self._names
        whole, page, cursor, asked, turn = (
            names.make(one) for one in ("whole", "page", "cursor", "asked", "turn")
        )
        given = {name: names.make(name) for name in self._arguments.names(task)}
        first = {name: load(one) for name, one in given.items()}
        again = _with(first, task.paginates.target, load(cursor))
        path, tool = task.paginates.source, visible(task.ports.tool, _LONGEST)
        last = last_page(task.ports, path)
        # What leads on, and what says whether it does: of the whole they are as on the last page.
        turned = [self._results.keep(whole, path, load(cursor))]
        if last is not None:
            turned.append(self._results.keep(whole, last[0], self._results.got(task, page, last[0])))
        empty = _all(
            [ast.UnaryOp(ast.Not(), self._results.items(task, array, page)) for array in task.collects]
        )
        newest = ast.Subscript(load(asked), ast.UnaryOp(ast.USub(), ast.Constant(1)), ast.Load())
        same = ast.Compare(load(cursor), [ast.Eq()], [newest])
        ends: ast.expr = ast.BoolOp(ast.And(), [same, empty])
        if keeps_its_cursor(path):
            ends = empty
        elif is_always_there(path):
            ends = ast.BoolOp(ast.Or(), [same, empty])
        again_told = (
            f"{tool} gave the same {visible(path_text(path), _LONGEST)} again: its pages would never end."
        )
        repeats = ast.If(ast.Compare(load(cursor), [ast.In()], [load(asked)]), [refuse(again_told)], [])
        loop = ast.For(
            store(turn),
            call("range", load(self._most_pages)),
            [
                ast.If(ast.UnaryOp(ast.Not(), load(cursor)), [ast.Break()], []),
                *([] if keeps_its_cursor(path) else [repeats]),
                ast.Expr(call(attribute(load(asked), "append"), load(cursor))),
                assign(page, ast.Await(_tool_call(task.ports.tool, again))),
                *self._refusals.check(task, page),
                *(one for array in task.collects for one in self._results.grow(task, array, whole, page)),
                *self._results.newest(task, whole, page),
                *self._next(task, page, cursor, last),
                ast.If(ends, [assign(cursor, constant(None))], []),
                *turned,
            ],
            [],
        )
        body = [
            assign(whole, ast.Await(_tool_call(task.ports.tool, first))),
            *self._refusals.check(task, whole),
            assign(asked, ast.List([], ast.Load())),
            *self._next(task, whole, cursor, last),
            loop,
            ast.If(load(cursor), [refuse(f"{tool} has more pages than {self._most_pages} allows.")], []),
            *self._results.whole(task, whole),
            ast.Return(load(whole)),
        ]
        return function(name, given.values(), body)

    def _counted(self, task: Task, turning: Turning, given: Mapping[str, str]) -> Iterator[ast.stmt]:
        """Write that pages are asked for by their number, or by how many items there were, till those are all."""
        assert task.paginates is not None, "it has pages"
        whole, page, turn, total, before = map(self._names.make, ("whole", "page", "turn", "total", "before"))
        (array,) = task.collects
        path, tool = task.paginates.source, visible(task.ports.tool, _LONGEST)
        so_far = call("len", self._results.items(task, array, whole))
        own = self._names.make("first") if turning.own else ""
        first = {name: load(one) for name, one in given.items()}
        at = self._names.make("last" if turning.by == "last" else "at")
        begin = _from(
            so_far if turning.by == "items" else ast.BinOp(load(turn), ast.Add(), constant(1)), turning, own
        )
        again = _with(first, task.paginates.target, load(at))
        goes_on = list(self._last(task, turning, before, at)) if turning.by == "last" else [assign(at, begin)]
        if turning.by != "last" and may_hold_address(task.ports, path):
            goes_on += self._addresses.number(total, task.paginates.target[-1].key, at)
        done = so_far if turning.tells == "items" else ast.BinOp(load(turn), ast.Add(), constant(1))
        told = ast.Compare(load(total), [ast.IsNot()], [constant(None)])
        ends: ast.expr = ast.BoolOp(ast.And(), [told, ast.Compare(done, [ast.GtE()], [load(total)])])
        if turning.tells in {"more", "last"}:
            ends = load(total) if turning.tells == "last" else ast.UnaryOp(ast.Not(), load(total))
        same = ast.Compare(self._results.items(task, array, page), [ast.Eq()], [load(before)])
        yield assign(whole, ast.Await(_tool_call(task.ports.tool, first)))
        yield from self._refusals.check(task, whole)
        yield assign(page, load(whole))
        yield assign(total, self._results.got(task, page, path))
        yield from self._first(task, turning, page, own)
        yield ast.For(
            store(turn),
            call("range", load(self._most_pages)),
            [
                assign(before, self._results.items(task, array, page)),
                ast.If(ast.BoolOp(ast.Or(), [ast.UnaryOp(ast.Not(), load(before)), ends]), [ast.Break()], []),
                *goes_on,
                assign(page, ast.Await(_tool_call(task.ports.tool, again))),
                *self._refusals.check(task, page),
                ast.If(same, [refuse(f"{tool} returned the same page again.")], []),
                *([] if turning.is_first_known else [self._refuse_overlap(task, page, before)]),
                *self._results.grow(task, array, whole, page),
                *self._results.newest(task, whole, page),
                assign(total, self._results.got(task, page, path)),
                *(
                    [self._results.keep(whole, path, load(total))]
                    if turning.tells in {"more", "last"}
                    else ()
                ),
            ],
            [refuse(f"{tool} has more pages than {self._most_pages} allows.")],
        )
        yield from self._results.whole(task, whole)
        yield ast.Return(load(whole))

    def _guessed(self, task: Task, turning: Turning, given: Mapping[str, str]) -> Iterator[ast.stmt]:
        """Write that pages are asked for as long as they are full, since none says whether another follows."""
        assert task.paginates is not None, "it has pages"
        whole, page, turn, full, before = map(self._names.make, ("whole", "page", "turn", "full", "before"))
        (array,) = task.collects
        tool = visible(task.ports.tool, _LONGEST)
        first = {name: load(one) for name, one in given.items()}
        so_far = call("len", self._results.items(task, array, whole))
        own = self._names.make("first") if turning.own else ""
        begin = _from(
            so_far if turning.by == "items" else ast.BinOp(load(turn), ast.Add(), constant(1)), turning, own
        )
        again = _with(first, task.paginates.target, begin)
        fewer = ast.Compare(call("len", load(before)), [ast.Lt()], [load(full)])
        yield assign(whole, ast.Await(_tool_call(task.ports.tool, first)))
        yield from self._refusals.check(task, whole)
        yield assign(page, load(whole))
        yield from self._first(task, turning, page, own)
        yield assign(full, so_far if turning.size is None else constant(turning.size))
        yield ast.For(
            store(turn),
            call("range", load(self._most_pages)),
            [
                assign(before, self._results.items(task, array, page)),
                ast.If(
                    ast.BoolOp(ast.Or(), [ast.UnaryOp(ast.Not(), load(before)), fewer]), [ast.Break()], []
                ),
                assign(page, ast.Await(_tool_call(task.ports.tool, again))),
                *self._refusals.check(task, page),
                # Whoever takes no notice of where to begin has returned all.
                ast.If(
                    ast.Compare(self._results.items(task, array, page), [ast.Eq()], [load(before)]),
                    [ast.Break()],
                    [],
                ),
                *([] if turning.is_first_known else self._end_at_overlap(task, page, before)),
                *self._results.grow(task, array, whole, page),
                *self._results.newest(task, whole, page),
            ],
            [refuse(f"{tool} has more pages than {self._most_pages} allows.")],
        )
        yield from self._results.whole(task, whole)
        yield ast.Return(load(whole))

    def _first(self, task: Task, turning: Turning, page: str, own: str) -> Iterator[ast.stmt]:
        """Write from which number is counted where the first page says it: from 0, or from 1."""
        if own:
            yield assign(own, self._results.got(task, page, turning.own))
            unsaid = ast.Compare(load(own), [ast.Is()], [constant(None)])
            yield ast.If(unsaid, [assign(own, constant(turning.first))], [])

    def _end_at_overlap(self, task: Task, page: str, before: str) -> Iterator[ast.stmt]:
        """Write that the item which comes again ends it where it comes alone: whoever counts from 1 has no more."""
        (array,) = task.collects
        newest = ast.Subscript(
            load(before), ast.Slice(ast.UnaryOp(ast.USub(), ast.Constant(1)), None), ast.Load()
        )
        same = ast.Compare(self._results.items(task, array, page), [ast.Eq()], [newest])
        yield ast.If(same, [ast.Break()], [])
        yield self._refuse_overlap(task, page, before)

    def _refuse_overlap(self, task: Task, page: str, before: str) -> ast.stmt:
        """Write that it is an error if a page begins with the item that the one before ended with."""
        (array,) = task.collects
        items = self._results.items(task, array, page)
        newest = ast.Subscript(load(before), ast.UnaryOp(ast.USub(), ast.Constant(1)), ast.Load())
        start = ast.Subscript(items, ast.Slice(None, ast.Constant(1)), ast.Load())
        same = ast.Compare(start, [ast.Eq()], [ast.List([newest], ast.Load())])
        tool = visible(task.ports.tool, _LONGEST)
        slot = visible(slot_text(task.paginates.target) if task.paginates else "", _LONGEST)
        return ast.If(same, [refuse(f"{tool} returned an item again: its {slot} may count from 1.")], [])

    def _last(self, task: Task, turning: Turning, items: str, last: str) -> Iterator[ast.stmt]:
        """Set what the next page begins after: the id of the last item."""
        (array,) = task.collects
        size = len(array) + 1
        item = ast.Subscript(load(items), ast.UnaryOp(ast.USub(), ast.Constant(1)), ast.Load())
        presence = self._loops.presence(task.id)
        yield assign(last, into(item, turning.last[size:], turning.last[:size], presence))
        tool, key = visible(task.ports.tool, _LONGEST), visible(turning.last[-1].key, _LONGEST)
        lacks = refuse(f"{tool} says that there is more, and its last item has no {key} to go on from.")
        yield ast.If(ast.Compare(load(last), [ast.Is()], [constant(None)]), [lacks], [])

    def _next(self, task: Task, page: str, cursor: str, last: tuple[Path, bool] | None) -> Iterator[ast.stmt]:
        """Set the cursor to what leads on from a page: to nothing where the page says that it is the last."""
        assert task.paginates is not None, "it has pages"
        path, target = task.paginates.source, task.paginates.target
        yield assign(cursor, self._results.got(task, page, path))
        if may_hold_address(task.ports, path) and not takes_address(target):
            tool = visible(task.ports.tool, _LONGEST)
            whole = target[-1].key.casefold() in {"next", "continue"}
            yield from self._addresses.resolve(tool, cursor, target[-1].key, may_be_whole=whole)
        place = next((one for one in task.ports.told if one.path == path), None)
        if place is not None and kinds_of(place.type) <= {"integer", "number"}:
            # As none, some write -1.
            below = ast.Compare(ast.BoolOp(ast.Or(), [load(cursor), constant(0)]), [ast.Lt()], [constant(0)])
            yield ast.If(below, [assign(cursor, constant(None))], [])
        if last is not None:
            says = ast.Compare(self._results.got(task, page, last[0]), [ast.Is()], [constant(last[1])])
            yield ast.If(says, [assign(cursor, constant(None))], [])


def _tool_call(tool: str, arguments: dict[str, ast.expr]) -> ast.expr:
    """Write the call of a tool, whatever it and its parameters are called."""
    named = [ast.keyword(name, value) for name, value in arguments.items() if is_name(name)]
    odd = {name: value for name, value in arguments.items() if not is_name(name)}
    if odd:
        named.append(ast.keyword(None, ast.Dict([ast.Constant(one) for one in odd], list(odd.values()))))
    if is_name(tool) and tool not in Names.OWN:
        return ast.Call(load(tool), [], named)
    return ast.Call(load("call_tool"), [constant(tool)], named)


def _with(arguments: Mapping[str, ast.expr], target: Path, value: ast.expr) -> dict[str, ast.expr]:
    """Give arguments with a value at a slot: in an object, beside what that has."""
    name = target[0].key
    if len(target) == 1:
        return {**arguments, name: value}
    known = arguments.get(name)
    keys: list[ast.expr | None] = [*([None] if known is not None else []), ast.Constant(target[1].key)]
    return {**arguments, name: ast.Dict(keys, [*([known] if known is not None else []), value])}


def _from(count: ast.expr, turning: Turning, own: str = "") -> ast.expr:
    """Write a number of pages or items, counted from that of the first one."""
    if own:
        return ast.BinOp(load(own), ast.Add(), count)
    return ast.BinOp(count, ast.Add(), constant(turning.first)) if turning.first else count


def _all(conditions: list[ast.expr]) -> ast.expr:
    return conditions[0] if len(conditions) == 1 else ast.BoolOp(ast.And(), conditions)
