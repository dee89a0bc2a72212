"""From a workflow to a program, built as syntax nodes and never as text, whatever tools and fields are called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from halflap.graph.effects import may_change
from halflap.graph.emit.arguments import Arguments
from halflap.graph.emit.loops import Frame, Loops, Rows
from halflap.graph.emit.names import Names
from halflap.graph.emit.pages import Functions
from halflap.graph.emit.syntax import (
    assign,
    attribute,
    call,
    constant,
    is_none,
    literal,
    load,
    put,
    refuse,
    shown,
    store,
)
from halflap.graph.naming import words_of
from halflap.graph.paths import many, path_text, slot_text
from halflap.graph.workflow import Axis

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halflap.graph.paths import Path
    from halflap.graph.workflow import Match, Task, Wanted, Workflow

__all__ = ["program"]

_MAX_CALLS = 200


def program(workflow: Workflow) -> str:
    """Write a program that runs a workflow and prints what is wanted as JSON."""
    return _Program(workflow).text()


class _Program:
    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._names = Names(one.ports.tool for one in workflow.tasks)
        self._max_calls = self._names.make("max_calls")
        self._loops = Loops(workflow, self._names)
        self._arguments = Arguments(workflow, self._loops, self._names)
        self._functions = Functions(workflow, self._loops, self._names, self._arguments)
        self._modules: set[str] = {"json"}

    def text(self) -> str:
        steps = list(self._steps())
        last = list(self._print())
        given = list(self._given())
        looped = any(
            isinstance(node, ast.Name) and node.id == self._max_calls
            for one in steps
            for node in ast.walk(one)
        )
        if looped:
            given.append(assign(self._max_calls, constant(_MAX_CALLS)))
        imports: list[ast.stmt] = [ast.Import([ast.alias(one)]) for one in sorted(self._modules)]
        body = [self._docstring(), *imports, *given, *self._functions.written(), *steps, *last]
        return ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))

    def _docstring(self) -> ast.stmt:
        tools = ", then ".join(shown(one.ports.tool) for one in self._workflow.tasks)
        lines = [f"Calls {tools}."]
        unfilled = self._arguments.unfilled
        if unfilled:
            lines += ["", "Fill in before you run it:"]
            lines += [f"    {name}: {shown(what)}" for name, what in unfilled.items()]
        return ast.Expr(ast.Constant("\n".join(lines) + ("\n" if unfilled else "")))

    def _given(self) -> Iterator[ast.stmt]:
        """Set the values of `have`; a value that is not filled in ends the program before any tool is called."""
        for name, value in self._arguments.constants.items():
            yield assign(name, literal(value))
        for name in self._arguments.unfilled:
            yield assign(name, constant(None))
        for name, what in self._arguments.unfilled.items():
            yield ast.If(is_none(load(name)), [refuse(f"Fill in {name}: {shown(what)}")], [])

    # Steps.

    def _steps(self) -> Iterator[ast.stmt]:
        done: set[str] = set()
        left = list(self._workflow.tasks)
        while left:
            ready = [one for one in left if done.issuperset(one.sources)]
            yield from self._together(ready)
            done |= {one.id for one in ready}
            left = [one for one in left if one.id not in done]

    def _together(self, tasks: Sequence[Task]) -> Iterator[ast.stmt]:
        """Run steps that do not need each other at the same time."""
        awaited: list[ast.expr] = []
        after: list[ast.stmt] = []
        for task in tasks:
            made, one, then = self._looped(task) if task.axes else self._once(task)
            yield from made
            awaited.append(one)
            after += then
        names = [self._loops.results[one.id] for one in tasks]
        if len(awaited) == 1:
            yield assign(names[0], ast.Await(awaited[0]))
        else:
            target = ast.Tuple([store(one) for one in names], ast.Store())
            yield ast.Assign([target], ast.Await(self._gather(*awaited)))
        yield from after

    def _once(self, task: Task) -> tuple[list[ast.stmt], ast.expr, list[ast.stmt]]:
        frame = Frame()
        before = list(self._refuse_no_match(task.matches))
        sure: dict[tuple[str, Path], str] = {}
        for one in task.arguments:
            single = one.origin == "step" and not many(one.source) and not self._workflow.order[one.step].axes
            if not single or self._loops.is_sure(one.step, one.source):
                continue
            name = self._names.make(slot_text(one.slot))
            source = self._workflow.order[one.step].ports.tool
            before.append(assign(name, self._loops.value(frame, one.step, one.source)))
            told = f"{shown(source)} returned no {shown(path_text(one.source))}."
            before.append(ast.If(is_none(load(name)), [refuse(told)], []))
            sure[one.step, one.source] = name
        return before, self._call(task, frame, sure), []

    def _looped(self, task: Task) -> tuple[list[ast.stmt], ast.expr, list[ast.stmt]]:
        """Call a step for each of many items."""
        frame = self._loops.frame_for(task, self._arguments.single_places(task))
        matches = self._arguments.matches(task.matches, frame)
        matches += self._arguments.inside(task.matches, frame)
        axes = task.axes
        loops = self._loops
        inherited = [one for one in task.sources if loops.rows.get(one) and loops.rows[one].axes == axes]
        size = len(frame.generators)
        frame.generators[-1].ifs += matches
        held = self._arguments.held(task, frame)
        repeats = _may_repeat(task)
        if size == 1 and inherited and not held and not matches and not repeats:
            # Called as often as another step, for the same items.
            loops.rows[task.id] = loops.rows[inherited[-1]]
            several = ast.ListComp(self._call(task, frame, {}), frame.generators)
            return [], self._gather(ast.Starred(several, ast.Load())), []
        carried = loops.carried_in(task, frame)
        name = self._names.make(f"{loops.results[task.id].removesuffix('_results')}_calls")
        rows = loops.rows[task.id] = Rows(name, axes, carried, tuple(held.values()))
        row = loops.row(frame, rows, store_=False)
        target = loops.row(frame, rows, store_=True)
        inner = Frame(dict(frame.items), dict(frame.results))
        made = [*self._refuse_no_match(task.matches), assign(name, _rows(row, frame.generators))]
        called, after, calls = name, list[ast.stmt](), load(name)
        if repeats:
            key = self._key(task, inner, held)
            once, called, after = self._called_once(
                task, name, ast.comprehension(target, load(name), [], 0), key
            )
            made += once
            calls = call(attribute(load(called), "values"))
        several = ast.ListComp(self._call(task, inner, held), [ast.comprehension(target, calls, [], 0)])
        tool = shown(task.ports.tool)
        message = f"{tool} would be called more often than {self._max_calls} allows: {{}} times."
        told = call(attribute(constant(message), "format"), call("len", load(called)))
        too_many = ast.If(
            ast.Compare(call("len", load(called)), [ast.Gt()], [load(self._max_calls)]),
            [ast.Raise(call("ValueError", told))],
            [],
        )
        return [*made, too_many], self._gather(ast.Starred(several, ast.Load())), after

    def _key(self, task: Task, frame: Frame, held: dict[tuple[str, Path], str]) -> ast.expr:
        """Write what differs from call to call, as text."""
        varying = {one.slot[0].key for one in task.arguments if one.origin == "step" or one.each}
        arguments = self._arguments.of(task, frame, held)
        parts = [value for name, value in arguments.items() if name in varying]
        return call(attribute(load("json"), "dumps"), ast.List(parts, ast.Load()))

    def _called_once(
        self, task: Task, name: str, rows: ast.comprehension, key: ast.expr
    ) -> tuple[list[ast.stmt], str, list[ast.stmt]]:
        """Make one of several calls with equal arguments, and give each row its result."""
        stem = name.removesuffix("_calls")
        keys, once, found, one = map(
            self._names.make, (f"{stem}_keys", f"{stem}_once", f"{stem}_found", "key")
        )
        results = self._loops.results[task.id]
        before = [
            assign(keys, ast.ListComp(key, [rows])),
            assign(once, call("dict", call("zip", load(keys), load(name)))),
        ]
        value = ast.Subscript(load(found), load(one), ast.Load())
        after = [
            assign(found, call("dict", call("zip", load(once), load(results)))),
            assign(results, ast.ListComp(value, [ast.comprehension(store(one), load(keys), [], 0)])),
        ]
        return before, once, after

    def _refuse_no_match(self, matches: Sequence[Match]) -> Iterator[ast.stmt]:
        """Report that nothing passes a filter: an empty list would hide it."""
        for one, nothing in self._arguments.unmatched(matches):
            tool = shown(self._workflow.order[one.axis.step].ports.tool)
            path, own = shown(path_text(one.path)), shown(slot_text(one.given.slot))
            yield ast.If(nothing, [refuse(f"{tool} returned nothing whose {path} is the given {own}.")], [])

    def _gather(self, *awaited: ast.expr) -> ast.expr:
        self._modules.add("asyncio")
        return call(attribute(load("asyncio"), "gather"), *awaited)

    def _call(self, task: Task, frame: Frame, sure: dict[tuple[str, Path], str]) -> ast.expr:
        arguments = self._arguments.of(task, frame, sure)
        return self._functions.call(task, arguments)

    # The end.

    def _print(self) -> Iterator[ast.stmt]:
        wanted = self._workflow.wanted
        for one in wanted:
            yield from self._refuse_no_match(one.matches)
            if one.matches and not one.path:
                yield self._choose(one)
        if len(wanted) == 1 and self._may_lack(wanted[0]):
            yield from self._print_if_there(wanted[0])
            return
        value = self._wanted(wanted[0]) if len(wanted) == 1 else None
        if value is None:
            value = ast.Dict(
                [ast.Constant(one.target.name) for one in wanted], [self._wanted(one) for one in wanted]
            )
        said: ast.stmt = ast.Expr(call("print", _json(value)))
        if not all(self._workflow.order[one.step].ports.places for one in wanted):
            # A result of an unknown kind may be an image, which JSON cannot hold.
            plain: ast.stmt = ast.Expr(call("print", value))
            said = ast.Try([said], [ast.ExceptHandler(load("TypeError"), None, [plain])], [], [])
        yield said

    def _choose(self, wanted: Wanted) -> ast.stmt:
        """Keep only the items of a result that pass the filters."""
        task, loops = self._workflow.order[wanted.step], self._loops
        results, axis = loops.results[task.id], wanted.matches[0].axis
        one = self._names.make(results.removesuffix("s")) if task.axes else results
        frame = Frame(results={task.id: one})
        loops.enter(frame, axis)
        frame.generators[-1].ifs += self._arguments.matches(wanted.matches, frame)
        kept: ast.expr = ast.ListComp(load(frame.items[axis]), frame.generators)
        array = axis.path[:-1]
        if not array:
            each = [ast.comprehension(store(one), load(results), [], 0)]
            return assign(results, ast.ListComp(kept, each) if task.axes else kept)
        # Where there are no items, the object around them may be missing, too.
        items = loops.value(Frame(results={task.id: one}), task.id, array, empty=ast.List([], ast.Load()))
        chosen = ast.If(items, [put(one, array, kept)], [])
        return ast.For(store(one), load(results), [chosen], []) if task.axes else chosen

    def _may_lack(self, wanted: Wanted) -> bool:
        """Return whether one value of one result is wanted that may be missing."""
        single = bool(wanted.path) and not many(wanted.path) and not self._workflow.order[wanted.step].axes
        return single and not self._loops.is_sure(wanted.step, wanted.path)

    def _print_if_there(self, wanted: Wanted) -> Iterator[ast.stmt]:
        """Print a value; where it is missing, that and what was returned."""
        name = self._names.make(wanted.path[-1].key)
        tool = shown(self._workflow.order[wanted.step].ports.tool)
        lacks = f"{tool} returned no {shown(path_text(wanted.path))}, but"
        came = _json(load(self._loops.results[wanted.step]))
        yield assign(name, self._wanted(wanted))
        yield ast.If(
            ast.Compare(load(name), [ast.Is()], [constant(None)]),
            [ast.Expr(call("print", constant(lacks), came))],
            [ast.Expr(call("print", _json(load(name))))],
        )

    def _wanted(self, wanted: Wanted) -> ast.expr:
        task = self._workflow.order[wanted.step]
        loops = self._loops
        if not wanted.path:
            return load(loops.results[task.id])
        frame = Frame()
        if task.axes:
            one = self._names.make(loops.results[task.id].removesuffix("s"))
            frame.results[task.id] = one
            frame.generators.append(ast.comprehension(store(one), load(loops.results[task.id]), [], 0))
        for at, step in enumerate(wanted.path):
            if step.kind != "key":
                loops.enter(frame, Axis(task.id, wanted.path[: at + 1]))
        value = loops.value(frame, task.id, wanted.path)
        if frame.generators:
            frame.generators[-1].ifs += self._arguments.matches(wanted.matches, frame)
        return ast.ListComp(value, frame.generators) if frame.generators else value


def _json(value: ast.expr) -> ast.expr:
    return call(
        attribute(load("json"), "dumps"),
        value,
        ensure_ascii=constant(False),
        separators=ast.Tuple([constant(","), constant(":")], ast.Load()),
    )


def _rows(row: ast.expr, generators: list[ast.comprehension]) -> ast.expr:
    only = generators[0]
    if len(generators) == 1 and not only.ifs and ast.unparse(row) == ast.unparse(only.target):
        return call("list", only.iter)
    return ast.ListComp(row, generators)


def _may_repeat(task: Task) -> bool:
    """Return whether a reading step in a loop may be called with the same arguments twice: by what items refer to."""
    return not may_change(task.ports) and not any(
        one.each or (one.origin == "step" and one.source and _is_own_id(one.source)) for one in task.arguments
    )


def _is_own_id(path: Path) -> bool:
    """Return whether each item of a loop holds a value of its own there: its `id`, or the item itself."""
    return path[-1].kind != "key" or words_of(path[-1].key) == ("id",)
