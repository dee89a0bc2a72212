"""From a workflow to a program, built as syntax nodes and never as text, whatever tools and fields are called."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from halflap.graph.effects import may_change
from halflap.graph.emit.arguments import Arguments, Held
from halflap.graph.emit.loops import Frame, Loops, Rows, row_of
from halflap.graph.emit.pages import Functions, put
from halflap.graph.emit.syntax import Names, code, expr, literal, load, loop, refuse, shown
from halflap.graph.naming import place_identities, words_of
from halflap.graph.paths import Path, items_of, keys_of, many, path_text, slot_text

if TYPE_CHECKING:
    from halflap.graph.ports import Ports
    from halflap.graph.workflow import Match, Task, Wanted, Workflow

__all__ = ["program"]

_MAX_CALLS = 200

_Step = tuple[list[ast.stmt], ast.expr, list[ast.stmt]]
"""What comes before a step, what is awaited, and what comes after it."""


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
        self._gathers = self._limits = False

    def text(self) -> str:
        steps = list(self._steps())
        last = list(self._print())
        given = list(self._given())
        if self._limits:
            given += code("MAX_CALLS = LIMIT", MAX_CALLS=self._max_calls, LIMIT=ast.Constant(_MAX_CALLS))
        imports = code("import asyncio\nimport json" if self._gathers else "import json")
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
            yield from code("NAME = VALUE", NAME=name, VALUE=literal(value))
        for name in self._arguments.unfilled:
            yield from code("NAME = None", NAME=name)
        for name, what in self._arguments.unfilled.items():
            yield from refuse(expr("NAME is None", NAME=name), f"Fill in {name}: {shown(what)}")

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
        value = awaited[0] if len(awaited) == 1 else self._gather(*awaited)
        yield ast.Assign([row_of(names, ast.Store())], ast.Await(value))
        yield from after

    def _once(self, task: Task) -> _Step:
        frame = Frame()
        before = list(self._refuse_no_match(task.matches))
        sure: Held = {}
        for one in task.arguments:
            single = one.origin == "step" and not many(one.source) and not self._workflow.order[one.step].axes
            if not single or self._loops.is_sure(one.step, one.source):
                continue
            name = sure[one.step, one.source] = self._names.make(slot_text(one.slot))
            source = shown(self._workflow.order[one.step].ports.tool)
            before += code("NAME = VALUE", NAME=name, VALUE=self._loops.value(frame, one.step, one.source))
            told = f"{source} returned no {shown(path_text(one.source))}."
            before += refuse(expr("NAME is None", NAME=name), told)
        return before, self._call(task, frame, sure), []

    def _looped(self, task: Task) -> _Step:
        """Call a step for each of many items."""
        loops = self._loops
        frame = loops.frame_for(task, self._arguments.single_places(task))
        matches = self._arguments.matches(task.matches, frame)
        matches += self._arguments.inside(task.matches, frame)
        inherited = [one for one in task.sources if loops.rows.get(one) and loops.rows[one].axes == task.axes]
        size = len(frame.generators)
        frame.generators[-1].ifs += matches
        held = self._arguments.held(task, frame)
        repeats = _may_repeat(task, self._workflow.order)
        if size == 1 and inherited and not held and not matches and not repeats:
            # Called as often as another step, for the same items.
            loops.rows[task.id] = loops.rows[inherited[-1]]
            return [], self._gather_all(self._call(task, frame, {}), frame.generators), []
        stem = loops.results[task.id].removesuffix("_results")
        name = self._names.make(stem, "_calls")
        rows = Rows(name, task.axes, loops.carried_in(task, frame), tuple(held.values()))
        loops.rows[task.id] = rows
        row = loops.row(frame, rows)
        target = row_of(row, ast.Store())
        inner = Frame(dict(frame.items), dict(frame.results))
        made = list(self._refuse_no_match(task.matches))
        made += code("CALLS = ROWS", CALLS=name, ROWS=_rows(row_of(row, ast.Load()), frame.generators))
        called, calls, after = name, load(name), list[ast.stmt]()
        if repeats:
            # Make one of several calls with equal arguments, and give each row its result.
            keys, called, found = (self._names.make(stem, one) for one in ("_keys", "_once", "_found"))
            parts = {
                "KEYS": keys, "ONCE": called, "CALLS": name, "FOUND": found, "RESULTS": loops.results[task.id],
                "KEY": self._names.make("key"),
            }  # fmt: skip
            own = ast.ListComp(self._key(task, inner, held), [loop(target, load(name))])
            made += code("KEYS = OWN\nONCE = dict(zip(KEYS, CALLS))", **parts, OWN=own)
            again = "FOUND = dict(zip(ONCE, RESULTS))\nRESULTS = [FOUND[KEY] for KEY in KEYS]"
            after = code(again, **parts)
            calls = expr("ONCE.values()", **parts)
        self._limits = True
        tool = shown(task.ports.tool)
        message = f"{tool} would be called more often than {self._max_calls} allows: {{}} times."
        made += code(
            "if len(CALLED) > MAX_CALLS:\n    raise ValueError(MESSAGE.format(len(CALLED)))",
            CALLED=called,
            MAX_CALLS=self._max_calls,
            MESSAGE=ast.Constant(message),
        )
        return made, self._gather_all(self._call(task, inner, held), [loop(target, calls)]), after

    def _key(self, task: Task, frame: Frame, held: Held) -> ast.expr:
        """Write what differs from call to call, as text."""
        varying = {one.slot[0].key for one in task.arguments if one.origin == "step" or one.each}
        arguments = self._arguments.of(task, frame, held)
        parts = [value for name, value in arguments.items() if name in varying]
        return expr("json.dumps(PARTS)", PARTS=ast.List(parts, ast.Load()))

    def _refuse_no_match(self, matches: Sequence[Match]) -> Iterator[ast.stmt]:
        """Report that nothing passes a filter: an empty list would hide it."""
        for one, nothing in self._arguments.unmatched(matches):
            tool = shown(self._workflow.order[one.axis.step].ports.tool)
            path, own = shown(path_text(one.path)), shown(slot_text(one.given.slot))
            yield from refuse(nothing, f"{tool} returned nothing whose {path} is the given {own}.")

    def _gather(self, *awaited: ast.expr) -> ast.expr:
        self._gathers = True
        return ast.Call(expr("asyncio.gather"), list(awaited), [])

    def _gather_all(self, call: ast.expr, generators: list[ast.comprehension]) -> ast.expr:
        return self._gather(ast.Starred(ast.ListComp(call, generators), ast.Load()))

    def _call(self, task: Task, frame: Frame, sure: Held) -> ast.expr:
        return self._functions.call(task, self._arguments.of(task, frame, sure))

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
        values = [self._wanted(one) for one in wanted]
        names: list[ast.expr | None] = [ast.Constant(one.target.name) for one in wanted]
        value = values[0] if len(wanted) == 1 else ast.Dict(names, values)
        template = "print(JSON)"
        if not all(self._workflow.order[one.step].ports.places for one in wanted):
            # A result of an unknown kind may be an image, which JSON cannot hold.
            template = "try:\n    print(JSON)\nexcept TypeError:\n    print(VALUE)"
        yield from code(template, JSON=_json(value), VALUE=value)

    def _choose(self, wanted: Wanted) -> ast.stmt:
        """Keep only the items of a result that pass the filters."""
        task, loops = self._workflow.order[wanted.step], self._loops
        results, axis = loops.results[task.id], wanted.matches[0].axis
        one = loops.one(task.id) if task.axes else results
        frame = Frame(results={task.id: one})
        loops.enter(frame, axis)
        frame.generators[-1].ifs += self._arguments.matches(wanted.matches, frame)
        kept: ast.expr = ast.ListComp(load(frame.items[axis]), frame.generators)
        array = axis.path[:-1]
        if not array:
            kept = ast.ListComp(kept, [loop(one, load(results))]) if task.axes else kept
            return code("RESULTS = KEPT", RESULTS=results, KEPT=kept)[0]
        # Where there are no items, the object around them may be missing, too.
        items = loops.value(Frame(results={task.id: one}), task.id, array, empty=expr("[]"))
        chosen: ast.stmt = ast.If(items, [put(one, array, kept)], [])
        if task.axes:
            (chosen,) = code("for ONE in RESULTS:\n    CHOSEN", ONE=one, RESULTS=results, CHOSEN=[chosen])
        return chosen

    def _may_lack(self, wanted: Wanted) -> bool:
        """Return whether one value of one result is wanted that may be missing."""
        single = bool(wanted.path) and not many(wanted.path) and not self._workflow.order[wanted.step].axes
        return single and not self._loops.is_sure(wanted.step, wanted.path)

    def _print_if_there(self, wanted: Wanted) -> list[ast.stmt]:
        """Print a value; where it is missing, that and what was returned."""
        name = self._names.make(wanted.path[-1].key)
        tool = shown(self._workflow.order[wanted.step].ports.tool)
        return code(
            "NAME = VALUE\nif NAME is None:\n    print(LACKS, WHOLE)\nelse:\n    print(JSON)",
            NAME=name,
            VALUE=self._wanted(wanted),
            LACKS=ast.Constant(f"{tool} returned no {shown(path_text(wanted.path))}, but"),
            WHOLE=_json(load(self._loops.results[wanted.step])),
            JSON=_json(load(name)),
        )

    def _wanted(self, wanted: Wanted) -> ast.expr:
        task, loops = self._workflow.order[wanted.step], self._loops
        if not wanted.path:
            return load(loops.results[task.id])
        frame = Frame()
        if task.axes:
            one = frame.results[task.id] = loops.one(task.id)
            frame.generators.append(loop(one, load(loops.results[task.id])))
        loops.enter_all(frame, task.id, wanted.path)
        value = loops.value(frame, task.id, wanted.path)
        if frame.generators:
            frame.generators[-1].ifs += self._arguments.matches(wanted.matches, frame)
        return ast.ListComp(value, frame.generators) if frame.generators else value


def _json(value: ast.expr) -> ast.expr:
    return expr("json.dumps(VALUE, ensure_ascii=False, separators=(',', ':'))", VALUE=value)


def _rows(row: ast.expr, generators: list[ast.comprehension]) -> ast.expr:
    only = generators[0]
    if len(generators) == 1 and not only.ifs and ast.unparse(row) == ast.unparse(only.target):
        return expr("list(ITEMS)", ITEMS=only.iter)
    return ast.ListComp(row, generators)


def _may_repeat(task: Task, order: Mapping[str, Task]) -> bool:
    """Return whether a reading step in a loop may be called with the same arguments twice: by what items refer to."""
    return not may_change(task.ports) and not any(
        one.each or (one.step and one.source and _is_own_key(one.source, order[one.step].ports))
        for one in task.arguments
    )


def _is_own_key(path: Path, ports: Ports) -> bool:
    """Return whether each item of a loop holds a value of its own there: the item itself, its `id`, its own key."""
    if path[-1].kind != "key" or words_of(path[-1].key) == ("id",):
        return True
    items = items_of(path)
    if not items or len(path) > len(items) + 1:
        return False
    around = place_identities((*keys_of(items), "id"), ports.subject)
    return any(
        one[:2] in {two[:2] for two in around} for one in place_identities(keys_of(path), ports.subject)
    )
