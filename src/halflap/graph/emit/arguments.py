"""The arguments of calls: from `have`, from results, and put together into objects and arrays."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from halflap.graph.emit.loops import Frame, Loops
from halflap.graph.emit.syntax import Names, expr, literal, load, loop
from halflap.graph.paths import Path, many, path_text, slot_text
from halflap.graph.ports import only_value
from halflap.graph.workflow import Axis, Given, Match, Task, Workflow

__all__ = ["Arguments", "Held"]

Held = dict[tuple[str, "Path"], str]
"""Variables that hold the value at a place of a step's result, which is known to be there."""


class Arguments:
    """Writes arguments, and collects the variables for values of `have` and for missing ones."""

    def __init__(self, workflow: Workflow, loops: Loops, names: Names) -> None:
        self._loops = loops
        self._names = names
        self._workflow = workflow
        self.constants: dict[str, Any] = {}
        """Variables and their values."""
        self.unfilled: dict[str, str] = {}
        """Variables that the reader has to set, and what they are."""
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
                    name = self._variable(one, f"{as_slot}{slot} of {tool}")
                    if one.each:
                        loops.lists[one.have] = name
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

    def names(self, task: Task) -> list[str]:
        """Return the parameters that a step passes, in order."""
        return list(dict.fromkeys(one.slot[0].key for one in _passed(task)))

    def single_places(self, task: Task) -> list[tuple[str, Path]]:
        """Return where a looped step's values come from, without those that gather the results of loops."""
        return [
            (one.step, one.source)
            for one in task.arguments
            if one.origin == "step" and not self._gathers(task, one)
        ]

    def held(self, task: Task, frame: Frame) -> Held:
        """Put values that may be missing into variables, and leave out the rows where they are."""
        doubtful = {
            (step, path): None
            for step, path in self.single_places(task)
            if not self._loops.is_sure(step, path)
            and all(
                Axis(step, path[: at + 1]) in frame.items for at, one in enumerate(path) if one.kind != "key"
            )
        }
        return self._hold(frame, doubtful)

    def _hold(self, frame: Frame, places: Iterable[tuple[str, Path]]) -> Held:
        """Filter by whether values are there, and return the variables that hold them.

        A type checker knows that a variable is not None after a test, but not that a second lookup is not.
        """
        held: Held = {}
        for step, path in places:
            keys = [one.key for one in path if one.kind == "key"]
            name = held[step, path] = self._names.make(keys[-1] if keys else "value")
            value = expr("[VALUE]", VALUE=self._loops.value(frame, step, path))
            frame.generators.append(loop(name, value, expr("NAME is not None", NAME=name)))
        return held

    # Filters

    def matches(self, matches: Iterable[Match], frame: Frame) -> list[ast.expr]:
        """Return the conditions of filters inside the loops of a frame."""
        return [self._match(one, frame) for one in matches if one.axis in frame.items]

    def inside(self, matches: Iterable[Match], frame: Frame) -> Iterator[ast.expr]:
        """Yield the conditions of filters on results that belong to a frame."""
        for one in matches:
            step = one.axis.step
            if one.axis not in frame.items and step in frame.results and self._workflow.order[step].axes:
                yield self._any(one, frame.copy())

    def unmatched(self, matches: Iterable[Match]) -> Iterator[tuple[Match, ast.expr]]:
        """Yield for each filter the condition that nothing passes it."""
        for one in matches:
            frame = Frame()
            if self._workflow.order[one.axis.step].axes:
                self._loops.bind(frame, one.axis.step)
            yield one, expr("not ANY", ANY=self._any(one, frame))

    def _any(self, match: Match, frame: Frame) -> ast.expr:
        """Write whether any item of a frame's results passes a filter."""
        self._loops.enter_all(frame, match.axis.step, match.axis.path)
        same = self._match(match, frame)
        return _any(same, frame.generators)

    def _match(self, match: Match, frame: Frame) -> ast.expr:
        inner = frame.copy()
        self._loops.enter_all(inner, match.axis.step, match.path)
        value = self._loops.value(inner, match.axis.step, match.path)
        given = match.given
        same = expr(
            "VALUE in HAVE" if given.each else "VALUE == HAVE",
            VALUE=value,
            HAVE=self._variable(given),
        )
        return _any(same, inner.generators)

    # Values

    def of(self, task: Task, frame: Frame, sure: Held) -> dict[str, ast.expr]:
        """Write the arguments of a step by parameter; `sure` are places that a variable holds already."""
        by_name: dict[str, list[Given]] = {}
        for one in _passed(task):
            by_name.setdefault(one.slot[0].key, []).append(one)
        return {name: self._parts(task, given, 1, frame, sure) for name, given in by_name.items()}

    def _parts(self, task: Task, given: Sequence[Given], depth: int, frame: Frame, sure: Held) -> ast.expr:
        """Write one level of an argument: a value, an object, or an array."""
        first = given[0].slot
        if len(first) == depth:
            return self._value(task, given[0], frame, sure)
        if first[depth].kind != "key":
            return self._array(task, given, depth + 1, frame, sure)
        keys: dict[str, list[Given]] = {}
        for one in given:
            keys.setdefault(one.slot[depth].key, []).append(one)
        only = {name: value for name, value in _only(task, first[:depth]).items() if name not in keys}
        return ast.Dict(
            [ast.Constant(name) for name in (*keys, *only)],
            [
                *(self._parts(task, inner, depth + 1, frame, sure) for inner in keys.values()),
                *map(literal, only.values()),
            ],
        )

    def _array(self, task: Task, given: Sequence[Given], depth: int, frame: Frame, sure: Held) -> ast.expr:
        """Write an array: an item for each item of a loop, or a single one."""
        inner = frame.copy()
        steps = [one for one in given if one.origin == "step"]
        main = max(steps, key=lambda one: many(one.source), default=None)
        if main is not None:
            if not set(self._workflow.order[main.step].axes) <= inner.items.keys():
                self._loops.bind(inner, main.step)
            self._loops.enter_all(inner, main.step, main.source)
        if inner.generators:
            entered = [one for one in task.matches if one.axis not in frame.items]
            inner.generators[-1].ifs += self.matches(entered, inner)
            places = {(one.step, one.source): None for one in steps}
            doubtful = [one for one in places if one not in sure and not self._loops.is_sure(*one)]
            sure = sure | self._hold(inner, doubtful)
        item = self._parts(task, given, depth, inner, sure)
        return ast.ListComp(item, inner.generators) if inner.generators else ast.List([item], ast.Load())

    def _value(self, task: Task, given: Given, frame: Frame, sure: Held) -> ast.expr:
        if given.origin == "missing":
            return load(self._missing[task.id, given.slot])
        if given.origin == "have":
            item = frame.items[Axis.of_have(given.have)] if given.each else self._variable(given)
            return load(item)
        if given.origin == "default":
            # An object in which nothing is to be chosen may still require keys.
            only = _only(task, given.slot) if given.value == {} else {}
            return literal(only or given.value)
        if (given.step, given.source) in sure:
            return load(sure[given.step, given.source])
        return self._loops.value(frame, given.step, given.source)

    def _gathers(self, task: Task, given: Given) -> bool:
        """Return whether an array takes one value from each call of a looped step."""
        axes = self._workflow.order[given.step].axes
        return many(given.source) < given.holds and not set(axes) <= set(task.axes)


def _any(condition: ast.expr, generators: list[ast.comprehension]) -> ast.expr:
    return ast.Call(load("any"), [ast.GeneratorExp(condition, generators)], []) if generators else condition


def _passed(task: Task) -> Iterator[Given]:
    only = _only(task, ())
    for one in task.arguments:
        if one.origin == "default" and one.value is None and len(one.slot) == 1 and one.slot[0].key in only:
            yield replace(one, value=only[one.slot[0].key])
        elif one.origin != "default" or one.value is not None:
            yield one


def _only(task: Task, around: Path) -> dict[str, Any]:
    """Return the required keys of an argument, or of an object in one, whose value is known.

    It is the only possible value, or the default: a required key has to be sent even if it has a default.
    """
    return {
        slot.path[-1].key: slot.default if (value := only_value(slot.type)) is None else value
        for slot in task.ports.slots
        if slot.required
        and slot.path[:-1] == around
        and slot.path[-1].kind == "key"
        and (slot.has_default or only_value(slot.type) is not None)
    }
