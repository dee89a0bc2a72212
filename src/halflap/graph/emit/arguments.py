"""The arguments of calls: from `have`, from results, and put together into objects and arrays."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.graph.emit.loops import Frame
from halflap.graph.emit.syntax import call, constant, literal, load, store
from halflap.graph.paths import many, path_text, slot_text
from halflap.graph.ports import only_value
from halflap.graph.workflow import Axis

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from halflap.graph.emit.loops import Loops
    from halflap.graph.emit.names import Names
    from halflap.graph.paths import Path
    from halflap.graph.workflow import Given, Match, Task, Workflow

__all__ = ["Arguments"]

_Sure = dict[tuple[str, "Path"], str]


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
        self._have: dict[str, str] = {}
        self._missing: dict[tuple[str, Path], str] = {}
        for task in workflow.tasks:
            for one in task.arguments:
                self._keep(task, one)
        for match in workflow.matches():
            self._keep_compared(match)

    def _keep(self, task: Task, given: Given) -> None:
        tool = task.ports.tool
        if given.origin == "missing":
            name = self._names.make(slot_text(given.slot))
            self._missing[task.id, given.slot] = name
            self.unfilled[name] = f"{slot_text(given.slot)} of {tool}"
        elif given.origin == "have" and given.have not in self._have:
            name = self._have[given.have] = self._names.make(given.have)
            if given.value is None:
                slot = slot_text(given.slot)
                self.unfilled[name] = (
                    f"{slot} of {tool}" if slot == given.have else f"{given.have}, as {slot} of {tool}"
                )
            else:
                self.constants[name] = given.value
        if given.each:
            self._loops.lists[given.have] = self._have[given.have]

    def _keep_compared(self, match: Match) -> None:
        have = match.given.have
        if have not in self._have:
            name = self._have[have] = self._names.make(have)
            if match.given.value is None:
                tool = self._workflow.order[match.axis.step].ports.tool
                self.unfilled[name] = f"{have}, as {path_text(match.path)} of {tool}"
            else:
                self.constants[name] = match.given.value

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

    def held(self, task: Task, frame: Frame) -> _Sure:
        """Put values that may be missing into variables, and leave out the rows where they are."""
        doubtful = {
            (one.step, one.source): None
            for one in task.arguments
            if one.origin == "step"
            and not self._loops.is_sure(one.step, one.source)
            and not self._gathers(task, one)
            and all(
                Axis(one.step, one.source[: at + 1]) in frame.items
                for at, step in enumerate(one.source)
                if step.kind != "key"
            )
        }
        return self._hold(frame, doubtful)

    def _hold(self, frame: Frame, places: Iterable[tuple[str, Path]]) -> _Sure:
        """Filter by whether values are there, and return the variables that hold them.

        A type checker knows that a variable is not None after a test, but not that a second lookup is not.
        """
        held: _Sure = {}
        for step, path in places:
            keys = [one.key for one in path if one.kind == "key"]
            name = held[step, path] = self._names.make(keys[-1] if keys else "value")
            value = ast.List([self._loops.value(frame, step, path)], ast.Load())
            there = ast.Compare(load(name), [ast.IsNot()], [constant(None)])
            frame.generators.append(ast.comprehension(store(name), value, [there], 0))
        return held

    def matches(self, matches: Iterable[Match], frame: Frame) -> list[ast.expr]:
        """Return the conditions of filters inside the loops of a frame."""
        return [self._match(one, frame) for one in matches if one.axis in frame.items]

    def inside(self, matches: Iterable[Match], frame: Frame) -> Iterator[ast.expr]:
        """Yield the conditions of filters on results that belong to a frame."""
        for one in matches:
            step = one.axis.step
            if one.axis in frame.items or step not in frame.results or not self._workflow.order[step].axes:
                continue
            inner = frame.copy()
            for size in range(1, len(one.axis.path) + 1):
                if one.axis.path[size - 1].kind != "key":
                    self._loops.enter(inner, Axis(step, one.axis.path[:size]))
            same = self._match(one, inner)
            yield call("any", ast.GeneratorExp(same, inner.generators)) if inner.generators else same

    def unmatched(self, matches: Iterable[Match]) -> Iterator[tuple[Match, ast.expr]]:
        """Yield for each filter the condition that nothing passes it."""
        for one in matches:
            frame = Frame()
            if self._workflow.order[one.axis.step].axes:
                self._loops.bind(frame, one.axis.step)
            for size in range(1, len(one.axis.path) + 1):
                if one.axis.path[size - 1].kind != "key":
                    self._loops.enter(frame, Axis(one.axis.step, one.axis.path[:size]))
            same = self._match(one, frame)
            yield one, ast.UnaryOp(ast.Not(), call("any", ast.GeneratorExp(same, frame.generators)))

    def _match(self, match: Match, frame: Frame) -> ast.expr:
        inner = frame.copy()
        step, path = match.axis.step, match.path
        for size in range(len(match.axis.path) + 1, len(path) + 1):
            if path[size - 1].kind != "key":
                self._loops.enter(inner, Axis(step, path[:size]))
        value = self._loops.value(inner, step, path)
        have = match.given.have
        how: ast.cmpop = ast.In() if match.given.each else ast.Eq()
        same = ast.Compare(value, [how], [load(self._have[have])])
        return call("any", ast.GeneratorExp(same, inner.generators)) if inner.generators else same

    def of(self, task: Task, frame: Frame, sure: _Sure) -> dict[str, ast.expr]:
        """Write the arguments of a step by parameter; `sure` are places that a variable holds already."""
        by_name: dict[str, list[Given]] = {}
        for one in _passed(task):
            by_name.setdefault(one.slot[0].key, []).append(one)
        return {name: self._parts(task, given, 1, frame, sure) for name, given in by_name.items()}

    def _parts(self, task: Task, given: Sequence[Given], depth: int, frame: Frame, sure: _Sure) -> ast.expr:
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

    def _array(self, task: Task, given: Sequence[Given], depth: int, frame: Frame, sure: _Sure) -> ast.expr:
        """Write an array: an item for each item of a loop, or a single one."""
        inner = frame.copy()
        steps = [one for one in given if one.origin == "step"]
        main = max(steps, key=lambda one: many(one.source), default=None)
        if main is not None:
            task_of = self._workflow.order[main.step]
            if not set(task_of.axes) <= inner.items.keys():
                self._loops.bind(inner, main.step)
            for size in range(1, len(main.source) + 1):
                if main.source[size - 1].kind != "key":
                    self._loops.enter(inner, Axis(main.step, main.source[:size]))
        if inner.generators:
            entered = [one for one in task.matches if one.axis not in frame.items]
            inner.generators[-1].ifs += self.matches(entered, inner)
            places = {(one.step, one.source): None for one in steps}
            doubtful = [one for one in places if one not in sure and not self._loops.is_sure(*one)]
            sure = sure | self._hold(inner, doubtful)
        item = self._parts(task, given, depth, inner, sure)
        return ast.ListComp(item, inner.generators) if inner.generators else ast.List([item], ast.Load())

    def _value(self, task: Task, given: Given, frame: Frame, sure: _Sure) -> ast.expr:
        if given.origin == "missing":
            return load(self._missing[task.id, given.slot])
        if given.origin == "have":
            item = frame.items[Axis.of_have(given.have)] if given.each else self._have[given.have]
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
