"""From a workflow to a program, built as syntax nodes and never as text, whatever tools and fields are called.

Steps that need each other come one after the other, the others run at the same time. What is called for each of many is
a function of the item, with further loops inside it; a single call for each item is a comprehension.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.emit.pages import Functions
from halflap.graph.emit.syntax import Names, code, expr, function, literal, load, refuse, shown
from halflap.graph.emit.values import Axes, Sure, Values
from halflap.graph.paths import path_text, slot_text

if TYPE_CHECKING:
    from halflap.graph.workflow import Given, Task, Wanted, Workflow


def program(workflow: Workflow) -> str:
    """Return a program that runs a workflow and prints the result as JSON."""
    return _Program(workflow).text()


class _Unit(NamedTuple):
    """A step or a whole loop: the statements before it, what is awaited, and the statements after it."""

    before: list[ast.stmt]
    awaited: ast.expr
    name: str
    """The variable of the awaited result."""
    after: Sequence[ast.stmt] = ()


class _Program:
    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._names = Names(one.ports.tool for one in workflow.tasks)
        self._values = Values(workflow, self._names)
        self._functions = Functions(workflow, self._values, self._names)
        self._part, self._item = self._names.make("part"), self._names.make("item")
        self._nests = {one.axes for one in workflow.tasks}
        self._gathers = False

    def text(self) -> str:
        steps = list(self._block(()))
        last = list(self._print())
        imports = code("import asyncio\nimport json" if self._gathers else "import json")
        body = [self._docstring(), *imports, *self._given(), *self._functions.written(), *steps, *last]
        return ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))

    def _docstring(self) -> ast.stmt:
        tools = ", then ".join(shown(one.ports.tool) for one in self._workflow.tasks)
        lines = [f"Calls {tools}."]
        for one in (task.ports.tool for task in self._workflow.tasks if task.may_be_part):
            lines += [
                "",
                f"This may be only a part: {shown(one)} takes a page, and it is not known how to get the next one.",
            ]
        unfilled = self._values.unfilled
        if unfilled:
            lines += ["", "Fill in before you run it:"]
            lines += [f"    {name}: {shown(what)}" for name, what in unfilled.items()]
        return ast.Expr(ast.Constant("\n".join(lines) + ("\n" if lines[1:] else "")))

    def _given(self) -> Iterator[ast.stmt]:
        """Set the values of `have`; a value that is not filled in ends the program before any tool is called."""
        for name, value in self._values.constants.items():
            yield from code("NAME = VALUE", NAME=name, VALUE=literal(value))
        for name in self._values.unfilled:
            yield from code("NAME = None", NAME=name)
        for name, what in self._values.unfilled.items():
            yield from refuse(expr("NAME is None", NAME=name), f"Fill in {name}: {shown(what)}")

    # Steps and loops

    def _block(self, axes: Axes) -> Iterator[ast.stmt]:
        """Write the steps that are exactly in these loops, and the loops inside them."""
        inside = [one for one in self._workflow.tasks if one.axes[: len(axes)] == axes]
        needs: dict[str | Axes, set[str | Axes]] = {}
        for task in inside:
            unit = self._unit(task, axes)
            own = needs.setdefault(unit, set())
            sources = [*task.sources, *(one.step for one in task.axes if one.step)]
            own |= {self._unit(one, axes) for one in inside if one.id in sources} - {unit}
        done: set[str | Axes] = set()
        while len(done) < len(needs):
            ready = [name for name, sources in needs.items() if name not in done and sources <= done]
            units = [self._step(name) if isinstance(name, str) else self._loop(axes, name) for name in ready]
            for one in units:
                yield from one.before
            awaited = [one.awaited for one in units]
            target = row_of([one.name for one in units], ast.Store())
            yield ast.Assign([target], ast.Await(awaited[0] if len(units) == 1 else self._gather(*awaited)))
            for one in units:
                yield from one.after
            done.update(ready)

    def _unit(self, task: Task, axes: Axes) -> str | Axes:
        """Return a step in a block, or the outermost loop there that it is in."""
        nests = (one for one in self._nests if len(axes) < len(one) and task.axes[: len(one)] == one)
        return task.id if task.axes == axes else min(nests, key=len)

    def _step(self, step: str) -> _Unit:
        task = self._workflow.order[step]
        before: list[ast.stmt] = []
        sure: Sure = {}
        for one in self._doubtful(task):
            name = sure[one.step, one.source] = self._names.make(slot_text(one.slot))
            value = self._values.value(task.axes, one.step, one.source)
            before += code("NAME = VALUE", NAME=name, VALUE=value)
            condition = expr("NAME is None", NAME=name)
            if task.axes:
                before.append(ast.If(condition, [self._return(task.axes, is_empty=True)], []))
            else:
                source = shown(self._workflow.order[one.step].ports.tool)
                before += refuse(condition, f"{source} returned no {shown(path_text(one.source))}.")
        call = self._functions.call(task, self._values.of(task, sure))
        return _Unit(before, call, self._values.results[step])

    def _doubtful(self, task: Task) -> list[Given]:
        """Return the arguments whose values may be missing; arrays leave out the items that lack one."""
        return [
            one
            for one in task.arguments
            if one.origin == "step"
            and not self._values.is_sure(one.step, one.source)
            and not self._values.reach(task.axes, one.step, one.source)[0]
        ]

    def _loop(self, axes: Axes, nest: Axes) -> _Unit:
        """Run the calls in a loop for all items concurrently."""
        inside = [one for one in self._workflow.tasks if one.axes[: len(nest)] == nest]
        matches = {(one.axis, one.path, one.given.have): one for task in inside for one in task.matches}
        generators, _ = self._values.loops(axes, nest[len(axes) :], list(matches.values()))
        if len(inside) == 1 and not self._doubtful(inside[0]):
            call = ast.ListComp(self._step(inside[0].id).awaited, generators)
            return _Unit([], self._gather(ast.Starred(call)), self._values.all_results(inside[0].id))
        items = [self._values.item(axis) for axis in nest[len(axes) :]]
        name = self._names.make(f"for_{items[-1]}")
        body = [*self._block(nest), self._return(nest)]
        each = ast.ListComp(ast.Call(load(name), [load(one) for one in items], []), generators)
        parts = self._names.make(f"{name}_parts")
        after: list[ast.stmt] = []
        leaving = self._leaving(nest)
        for at, step in enumerate(leaving):
            part = "part" if len(leaving) == 1 else f"part[{at}]"
            flat = f"RESULTS = [ONE for PART in PARTS for ONE in {part.replace('part', 'PART')}]"
            own = {"RESULTS": self._values.all_results(step), "PARTS": parts}
            after += code(flat, **own, ONE=self._item, PART=self._part)
        return _Unit([function(name, items, body)], self._gather(ast.Starred(each)), parts, after)

    def _leaving(self, nest: Axes) -> list[str]:
        """Return the steps in a loop whose results are needed outside."""
        order = self._workflow.order
        users: list[tuple[str, Axes]] = [(one.step, ()) for one in self._workflow.wanted]
        users += [(step, one.axes) for one in self._workflow.tasks for step in one.sources]
        return list(
            dict.fromkeys(
                step
                for step, axes in users
                if order[step].axes[: len(nest)] == nest and axes[: len(nest)] != nest
            )
        )

    def _return(self, nest: Axes, *, is_empty: bool = False) -> ast.stmt:
        """Return the list that a loop produces, or a tuple of several."""
        parts: list[ast.expr] = []
        for step in self._leaving(nest):
            is_own = self._workflow.order[step].axes == nest
            value = "[RESULT]" if is_own else "RESULT"
            name = self._values.results[step] if is_own else self._values.all_results(step)
            parts.append(expr("[]" if is_empty else value, RESULT=name))
        return ast.Return(parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load()))

    def _gather(self, *awaited: ast.expr) -> ast.expr:
        self._gathers = True
        return ast.Call(expr("asyncio.gather"), list(awaited), [])

    # The end

    def _print(self) -> list[ast.stmt]:
        wanted = self._workflow.wanted
        values = [self._wanted(one) for one in wanted]
        names: list[ast.expr | None] = [ast.Constant(one.target.name) for one in wanted]
        value = values[0] if len(wanted) == 1 else ast.Dict(names, values)
        written = expr("json.dumps(VALUE, ensure_ascii=False, separators=(',', ':'))", VALUE=value)
        template = "print(JSON)"
        if not all(self._workflow.order[one.step].ports.places for one in wanted):
            # A result of an unknown kind may be an image, which JSON cannot hold.
            template = "try:\n    print(JSON)\nexcept TypeError:\n    print(VALUE)"
        return code(template, JSON=written, VALUE=value)

    def _wanted(self, wanted: Wanted) -> ast.expr:
        task, values = self._workflow.order[wanted.step], self._values
        if not wanted.path:
            return load(values.all_results(task.id) if task.axes else values.results[task.id])
        generators, axes = values.reach((), task.id, wanted.path, wanted.matches)
        value = values.value(axes, task.id, wanted.path)
        return ast.ListComp(value, generators) if generators else value


def row_of(names: Sequence[str], context: ast.expr_context) -> ast.expr:
    parts: list[ast.expr] = [ast.Name(one, context) for one in names]
    return parts[0] if len(parts) == 1 else ast.Tuple(parts, context)
