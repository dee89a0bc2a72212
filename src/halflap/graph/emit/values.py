"""The variables of a program, how values are read out of them, and the arguments made of these."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from halflap.graph.emit.syntax import Names, expr, literal, load, loop
from halflap.graph.paths import Path, many, path_text, slot_text
from halflap.graph.ports import follow
from halflap.graph.workflow import Axis, Given, Match, Task, Workflow

if TYPE_CHECKING:
    from halflap.schema import Type

Axes = tuple[Axis, ...]
"""The loops around a point of the program."""

Sure = dict[tuple[str, Path], str]
"""Variables that hold the value at a place of a step's result, known to be there."""


class Values:
    """Writes how values are read, and collects the variables for values of `have` and for missing ones."""

    def __init__(self, workflow: Workflow, names: Names) -> None:
        self._order = workflow.order
        self._names = names
        self.results = {one.id: names.of_result(one.ports.name) for one in workflow.tasks}
        """The variable of one result of each step."""
        self._lists: dict[str, str] = {}
        self._items: dict[Axis, str] = {}
        self.constants: dict[str, Any] = {}
        """Variables and their values."""
        self.unfilled: dict[str, str] = {}
        """Variables that the reader has to set, with descriptions."""
        self._have: list[tuple[Given, str]] = []
        """Values of `have` and their variables: one step may take a number as it is, and another as text."""
        self._missing: dict[tuple[str, Path], str] = {}
        for task in workflow.tasks:
            for one in task.arguments:
                slot, tool = slot_text(one.slot), task.ports.tool
                if one.origin == "missing":
                    name = self._missing[task.id, one.slot] = names.make(slot)
                    self.unfilled[name] = f"{slot} of {tool}"
                elif one.origin == "have":
                    as_slot = "" if slot == one.have else f"{one.have}, as "
                    self._variable(one, f"{as_slot}{slot} of {tool}")
        for match in workflow.matches():
            tool = workflow.order[match.axis.step].ports.tool
            self._variable(match.given, f"{match.given.have}, as {path_text(match.path)} of {tool}")

    def _variable(self, given: Given, what: str = "") -> str:
        for one, name in self._have:
            if one.have == given.have and one.value == given.value:
                return name
        name = self._names.make(given.have)
        self._have.append((given, name))
        if given.value is None:
            self.unfilled[name] = what
        else:
            self.constants[name] = given.value
        return name

    def all_results(self, step: str) -> str:
        """Return the variable of all results of a step in a loop, seen from outside the loop."""
        if step not in self._lists:
            self._lists[step] = self._names.make(self.results[step], "_results")
        return self._lists[step]

    def item(self, axis: Axis) -> str:
        """Return the variable of a loop."""
        if axis not in self._items:
            tool = self._order[axis.step].ports.name if axis.step else ""
            self._items[axis] = self._names.of_item(axis.path, tool)
        return self._items[axis]

    # Reading

    def value(self, axes: Axes, step: str, path: Path, *, empty: str = "") -> ast.expr:
        """Read a place of a step's result; `empty` takes the place of a list or map that is missing."""
        at = max((size for size in range(1, len(path) + 1) if Axis(step, path[:size]) in axes), default=0)
        start = self.item(Axis(step, path[:at])) if at else self.results[step]
        return self.read(load(start), step, path[at:], path[:at], empty=empty)

    def read(self, value: ast.expr, step: str, keys: Path, before: Path = (), *, empty: str = "") -> ast.expr:
        """Read along keys from a value at a place, with care where one may be missing."""
        kind: Type | None = self._order[step].ports.result
        is_doubtful = False
        for one in before:
            kind, is_doubtful = follow(kind, one)
        for one in keys:
            if is_doubtful:
                value = expr("VALUE or {}", VALUE=value)
            kind, may_lack = follow(kind, one)
            is_doubtful = is_doubtful or may_lack
            form = "VALUE.get(KEY)" if is_doubtful else "VALUE[KEY]"
            value = expr(form, VALUE=value, KEY=ast.Constant(one.key))
        return expr(f"VALUE or {empty}", VALUE=value) if is_doubtful and empty else value

    def is_sure(self, step: str, path: Path) -> bool:
        """Return whether a value and everything around it is always there."""
        kind: Type | None = self._order[step].ports.result
        for one in path:
            kind, may_lack = follow(kind, one)
            if may_lack:
                return False
        return True

    def items(self, axes: Axes, axis: Axis) -> ast.expr:
        """Write what a loop goes through."""
        if not axis.step:
            return load(next(name for one, name in self._have if one.each and one.have == axis.path[0].key))
        is_map = axis.path[-1].kind == "value"
        value = self.value(axes, axis.step, axis.path[:-1], empty="{}" if is_map else "[]")
        return expr("VALUE.values()", VALUE=value) if is_map else value

    def loops(
        self, axes: Axes, inner: Iterable[Axis], matches: Sequence[Match] = ()
    ) -> tuple[list[ast.comprehension], Axes]:
        """Return the loops that are entered, each with its filters, and all loops that are then around."""
        made: list[ast.comprehension] = []
        for axis in inner:
            if axis not in axes:
                over = self.items(axes, axis)
                axes = (*axes, axis)
                conditions = [self._matches(one, axes) for one in matches if one.axis == axis]
                made.append(loop(self.item(axis), over, *conditions))
        return made, axes

    def reach(
        self, axes: Axes, step: str, path: Path, matches: Sequence[Match] = ()
    ) -> tuple[list[ast.comprehension], Axes]:
        """Enter the loops on the way to a place; of a step in loops that are not around, begin with all its results."""
        inner = [Axis(step, path[:at]) for at, one in enumerate(path, 1) if one.kind != "key"]
        made, axes = self.loops(axes, inner, matches)
        if not set(self._order[step].axes) <= set(axes):
            made = [loop(self.results[step], load(self.all_results(step))), *made]
        return made, axes

    def _matches(self, match: Match, axes: Axes) -> ast.expr:
        form = "VALUE in HAVE" if match.given.each else "VALUE == HAVE"
        value = self.value(axes, match.axis.step, match.path)
        return expr(form, VALUE=value, HAVE=self._variable(match.given))

    # Arguments

    def of(self, task: Task, sure: Sure) -> dict[str, ast.expr]:
        """Write the arguments of a step by parameter."""
        by_name: dict[str, list[Given]] = {}
        for one in task.arguments:
            by_name.setdefault(one.slot[0].key, []).append(one)
        return {name: self._parts(task, task.axes, given, 1, sure) for name, given in by_name.items()}

    def names_of(self, task: Task) -> list[str]:
        """Return the parameters that a step passes, in order."""
        return list(dict.fromkeys(one.slot[0].key for one in task.arguments))

    def _parts(self, task: Task, axes: Axes, given: Sequence[Given], depth: int, sure: Sure) -> ast.expr:
        """Write one level of an argument: a value, an object, or an array."""
        first = given[0].slot
        if len(first) == depth:
            return self._value(task, axes, given[0], sure)
        if first[depth].kind != "key":
            return self._array(task, axes, given, depth + 1, sure)
        keys: dict[str, list[Given]] = {}
        for one in given:
            keys.setdefault(one.slot[depth].key, []).append(one)
        parts = {name: self._parts(task, axes, inner, depth + 1, sure) for name, inner in keys.items()}
        parts |= {
            name: literal(value) for name, value in _defaults(task, first[:depth]).items() if name not in keys
        }
        return ast.Dict([ast.Constant(name) for name in parts], list(parts.values()))

    def _array(self, task: Task, axes: Axes, given: Sequence[Given], depth: int, sure: Sure) -> ast.expr:
        """Write an array: an item for each item of a loop, or a single one."""
        steps = [one for one in given if one.origin == "step"]
        main = max(steps, key=lambda one: many(one.source), default=None)
        if main is None:
            return ast.List([self._parts(task, axes, given, depth, sure)], ast.Load())
        generators, axes = self.reach(axes, main.step, main.source, task.matches)
        for one in steps if generators else ():
            place = one.step, one.source
            if place not in sure and not self.is_sure(*place):
                # A type checker knows that a variable is not None after a test, but not that a second look-up is not.
                name = self._names.make(one.slot[-1].key)
                value = expr("[VALUE]", VALUE=self.value(axes, *place))
                generators.append(loop(name, value, expr("NAME is not None", NAME=name)))
                sure = {**sure, place: name}
        item = self._parts(task, axes, given, depth, sure)
        return ast.ListComp(item, generators) if generators else ast.List([item], ast.Load())

    def _value(self, task: Task, axes: Axes, given: Given, sure: Sure) -> ast.expr:
        if given.origin == "missing":
            return load(self._missing[task.id, given.slot])
        if given.origin == "have":
            return load(self.item(Axis.of_have(given.have)) if given.each else self._variable(given))
        if given.origin == "default":
            # An object without open values may still require keys.
            inner = _defaults(task, given.slot) if given.value == {} else {}
            return literal(inner or given.value)
        place = given.step, given.source
        value = load(sure[place]) if place in sure else self.value(axes, *place)
        return ast.Call(load(given.convert), [value], []) if given.convert else value


def _defaults(task: Task, around: Path) -> dict[str, Any]:
    """Return the required keys of an object argument that have a default: these are sent as well."""
    return {
        slot.path[-1].key: slot.default
        for slot in task.ports.slots
        if slot.required and slot.has_default and slot.path[:-1] == around and slot.path[-1].kind == "key"
    }
