"""The loops of a generated program: what each step is called for, and which results belong together."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halflap.graph.emit.syntax import Names, expr, load, loop
from halflap.graph.paths import EACH, VALUE, Path, key
from halflap.graph.workflow import Axis, Task, Workflow
from halflap.schema import fields_of, object_types

if TYPE_CHECKING:
    from halflap.graph.ports import Ports
    from halflap.schema import Type

__all__ = ["Frame", "Loops", "Rows", "row_of"]


class Presence:
    """What is always there in a tool's result, as far as that is known."""

    def __init__(self, ports: Ports) -> None:
        self._seldom: dict[Path, bool] = {}
        self._null: set[Path] = set()
        for place in ports.places:
            self._read(place.path, place.type)
        if ports.result is not None:
            self._read((), ports.result)

    def _read(self, path: Path, kind: Type) -> None:
        """Read from a type whether it may be null, and which of its keys may be missing."""
        if any(one.kind == "null" for one in kind.members or (kind,)):
            self._null.add(path)
        for one in fields_of(object_types(kind)):
            inner = (*path, key(one.name))
            if not one.required:
                self._seldom[inner] = True
            self._read_items(inner, one.type)

    def _read_items(self, path: Path, kind: Type) -> None:
        """Read whether a value, or one of many in it, may be null; keys of objects have places themselves."""
        for one in kind.members or (kind,):
            if one.kind == "null":
                self._null.add(path)
            if one.items is not None:
                self._read_items((*path, EACH), one.items)
            if one.extra is not None:
                self._read_items((*path, VALUE), one.extra)

    def _may_be_nothing(self, path: Path) -> bool:
        """Return whether a value may be missing or null where what is around it is there."""
        return path in self._null or (path[-1].kind == "key" and self._seldom.get(path, False))

    def is_sure(self, path: Path) -> bool:
        """Return whether a value and everything around it is always there."""
        return not any(self._may_be_nothing(path[: at + 1]) for at in range(len(path)))

    def read(
        self, value: ast.expr, keys: Path, before: Path = (), *, empty: ast.expr | None = None
    ) -> ast.expr:
        """Read along keys from a value at a path, with care where one may be missing.

        `empty` is used in place of a list or map that is missing.
        """
        path = before
        careful = path in self._null
        for step in keys:
            if careful:
                value = expr("VALUE or {}", VALUE=value)
            path = (*path, step)
            may_lack = careful or self._seldom.get(path, False)
            form = "VALUE.get(KEY)" if may_lack else "VALUE[KEY]"
            value = expr(form, VALUE=value, KEY=ast.Constant(step.key))
            careful = may_lack or path in self._null
        return expr("VALUE or EMPTY", VALUE=value, EMPTY=empty) if careful and empty is not None else value


@dataclass(eq=False)
class Rows:
    """A list in the program: for each call of a step, its items and the results that belong to them."""

    name: str
    axes: tuple[Axis, ...]
    carried: tuple[str, ...] = ()
    """Steps whose result for that row is in it, after the items."""
    held: tuple[str, ...] = ()
    """Variables whose values are in it after these, because they might be missing."""


@dataclass
class Frame:
    """What is known at a point of the program: the loops around it, and the results that belong to it."""

    items: dict[Axis, str] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)
    generators: list[ast.comprehension] = field(default_factory=list)

    def copy(self) -> Frame:
        """Start an inner loop."""
        return Frame(dict(self.items), dict(self.results))


class Loops:
    """The lists of a program, and how to read a value from inside loops."""

    def __init__(self, workflow: Workflow, names: Names) -> None:
        self._workflow = workflow
        self._names = names
        self.presence = {one.id: Presence(one.ports) for one in workflow.tasks}
        self._items: dict[Axis, str] = {}
        self._ones: dict[str, str] = {}
        self.results = {
            one.id: names.of_result(one.ports.original_name or one.ports.tool, several=bool(one.axes))
            for one in workflow.tasks
        }
        """The variable of each step's result; for a step in a loop, of the list of results."""
        self.lists: dict[str, str] = {}
        """The variable of each list in `have` that is looped over."""
        self.rows: dict[str, Rows] = {}
        self._after = _after(workflow)

    def bind(self, frame: Frame, step: str) -> None:
        """Bring a step's result into a frame; for a step in loops, by looping over its calls."""
        task = self._workflow.order[step]
        if step in frame.results:
            return
        if not task.axes:
            frame.results[step] = self.results[step]
            return
        rows = self.rows[step]
        names: list[str] = []
        conditions: list[ast.expr] = []
        for axis in rows.axes:
            name = self._item(axis)
            if axis in frame.items:
                # Already in this loop: of the other list, what belongs to the same item.
                name = self._names.make(f"same_{name}")
                conditions.append(expr("ONE is OTHER", ONE=name, OTHER=frame.items[axis]))
            else:
                frame.items[axis] = name
            names.append(name)
        for carried in rows.carried:
            name = self.one(carried)
            if carried in frame.results:
                name = self._names.make(f"same_{name}")
            else:
                frame.results[carried] = name
            names.append(name)
        frame.results[step] = self.one(step)
        target = ast.Tuple([row_of([*names, *rows.held], ast.Store()), _stored(self.one(step))], ast.Store())
        pairs = expr("zip(ROWS, RESULTS)", ROWS=rows.name, RESULTS=self.results[step])
        frame.generators.append(loop(target, pairs, *conditions))

    def enter(self, frame: Frame, axis: Axis) -> None:
        """Loop over what a step returned."""
        if axis in frame.items:
            return
        is_map = axis.path[-1].kind == "value"
        value = load(self.lists[axis.path[0].key]) if not axis.step else None
        if value is None:
            value = self.value(frame, axis.step, axis.path[:-1], empty=expr("{}" if is_map else "[]"))
        if is_map:
            value = expr("VALUE.values()", VALUE=value)
        frame.items[axis] = self._item(axis)
        frame.generators.append(loop(frame.items[axis], value))

    def enter_all(self, frame: Frame, step: str, path: Path) -> None:
        """Enter all loops on the way to a place."""
        for at, one in enumerate(path, 1):
            if one.kind != "key":
                self.enter(frame, Axis(step, path[:at]))

    def value(self, frame: Frame, step: str, path: Path, *, empty: ast.expr | None = None) -> ast.expr:
        """Read a path of a step's result from a frame whose loops lead there."""
        start: ast.expr | None = None
        before: Path = ()
        for size in range(len(path), 0, -1):
            axis = Axis(step, path[:size])
            if axis in frame.items:
                start, before = load(frame.items[axis]), path[:size]
                break
        if start is None:
            self.bind(frame, step)
            start = load(frame.results[step])
        rest = path[len(before) :]
        assert all(one.kind == "key" for one in rest), "every loop on the way is entered first"
        return self.presence[step].read(start, rest, before, empty=empty)

    def is_sure(self, step: str, path: Path) -> bool:
        return self.presence[step].is_sure(path)

    def frame_for(self, task: Task, needed: Iterable[tuple[str, Path]]) -> Frame:
        """Enter all loops that a step is in; `needed` are the places that it takes values from."""
        frame = Frame()
        wanted = list(needed)
        # The latest first: its rows hold what it was called for, and whose results.
        for step in reversed(list(self._workflow.order)):
            looped = bool(self._workflow.order[step].axes)
            if looped and any(one == step and not _has(frame, step, path) for one, path in wanted):
                self.bind(frame, step)
        for axis in task.axes:
            self.enter(frame, axis)
        for step, path in wanted:
            if not _has(frame, step, path):
                self.bind(frame, step)
        return frame

    def carried_in(self, task: Task, frame: Frame) -> tuple[str, ...]:
        """Return the looped steps from whose results this step or a later one takes values outside their items."""
        order = self._workflow.order
        users = [task, *(order[step] for step in self._after[task.id])]
        return tuple(
            step
            for step in frame.results
            if order[step].axes and any(_takes_whole(user, step, task.axes) for user in users)
        )

    def row(self, frame: Frame, rows: Rows) -> list[str]:
        """Return what one row has: the items, the results that belong to them, and looked-up values."""
        items = [frame.items[axis] for axis in rows.axes]
        return [*items, *(frame.results[step] for step in rows.carried), *rows.held]

    def _item(self, axis: Axis) -> str:
        if axis not in self._items:
            tool = self._workflow.order[axis.step].ports.original_name if axis.step else ""
            self._items[axis] = self._names.of_item(axis.path, tool)
        return self._items[axis]

    def one(self, step: str) -> str:
        """Return the variable for one result of a looped step."""
        if step not in self._ones:
            self._ones[step] = self._names.make(self.results[step].removesuffix("s"))
        return self._ones[step]


def row_of(names: list[str], context: ast.expr_context) -> ast.expr:
    """Write one row, to be read or to be taken apart."""
    parts: list[ast.expr] = [ast.Name(one, context) for one in names]
    return parts[0] if len(parts) == 1 else ast.Tuple(parts, context)


def _stored(name: str) -> ast.expr:
    return ast.Name(name, ast.Store())


def _has(frame: Frame, step: str, path: Path) -> bool:
    """Return whether a frame's items lead to a path of a step's result."""
    return any(Axis(step, path[:size]) in frame.items for size in range(1, len(path) + 1))


def _takes_whole(task: Task, step: str, axes: Sequence[Axis]) -> bool:
    """Return whether a step takes a value from another's result that is not in the items it is called for."""
    return any(
        one.step == step
        and not any(Axis(step, one.source[:size]) in axes for size in range(1, len(one.source) + 1))
        for one in task.arguments
    )


def _after(workflow: Workflow) -> dict[str, set[str]]:
    """Return for each step all steps that depend on it."""
    after: dict[str, set[str]] = {one.id: set() for one in workflow.tasks}
    for task in reversed(workflow.tasks):
        for step in task.sources:
            after[step] |= {task.id, *after[task.id]}
    return after
