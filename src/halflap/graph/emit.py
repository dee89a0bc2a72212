"""From a workflow to a program: built as nodes of a tree, never as text, whatever tools and fields are called."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from halflap.graph.arguments import Arguments
from halflap.graph.edge import path_text
from halflap.graph.loops import Frame, Loops, Rows
from halflap.graph.paging import keeps_its_cursor, last_page
from halflap.graph.syntax import Names, attribute, call, constant, into, literal, load, store
from halflap.graph.workflow import Axis, many, slot_text
from halflap.schema import visible
from halflap.schema.stub.names import is_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from halflap.graph.edge import Path
    from halflap.graph.workflow import Task, Wanted, Workflow

__all__ = ["program"]

_MOST_CALLS = 200
_MOST_PAGES = 200
_LONGEST = 80


def program(workflow: Workflow) -> str:
    """Write a program that does a workflow and prints, as JSON, what is wanted."""
    return _Program(workflow).text()


class _Program:
    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._names = Names(one.ports.tool for one in workflow.tasks)
        self._most_calls = self._names.make("most_calls")
        self._most_pages = self._names.make("most_pages")
        self._loops = Loops(workflow, self._names)
        self._arguments = Arguments(workflow, self._loops, self._names)
        self._pages: dict[str, str] = {}
        self._checks: dict[str, str] = {}
        """The functions that see to it that a call succeeded, by the key that says so."""
        self._modules: set[str] = {"json"}

    def text(self) -> str:
        steps = list(self._steps())
        last = self._print()
        given = list(self._given())
        looped = any(
            isinstance(node, ast.Name) and node.id == self._most_calls
            for one in steps
            for node in ast.walk(one)
        )
        if looped:
            # How often a step may be called, before anybody notices.
            given.append(_set(self._most_calls, constant(_MOST_CALLS)))
        pages = list(self._page_functions())
        if pages:
            given.append(_set(self._most_pages, constant(_MOST_PAGES)))
        imports: list[ast.stmt] = [ast.Import([ast.alias(one)]) for one in sorted(self._modules)]
        body = [self._docstring(), *imports, *given, *self._check_functions(), *pages, *steps, last]
        return ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))

    def _docstring(self) -> ast.stmt:
        tools = ", then ".join(visible(one.ports.tool, _LONGEST) for one in self._workflow.tasks)
        lines = [f"Calls {tools}."]
        unfilled = self._arguments.unfilled
        if unfilled:
            lines += ["", "Fill in before it is run:"]
            lines += [f"    {name}: {visible(what, 2 * _LONGEST)}" for name, what in unfilled.items()]
        return ast.Expr(ast.Constant("\n".join(lines) + ("\n" if unfilled else "")))

    def _given(self) -> Iterator[ast.stmt]:
        """Set what is at hand; what is not filled in ends the program before any tool is called."""
        for name, value in self._arguments.constants.items():
            yield _set(name, literal(value))
        for name in self._arguments.unfilled:
            yield _set(name, constant(None))
        for name, what in self._arguments.unfilled.items():
            message = f"Fill in {name}: {visible(what, 2 * _LONGEST)}"
            yield _refuse_nothing(load(name), message)

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
        """Do steps that do not need each other at the same time."""
        awaited: list[ast.expr] = []
        for task in tasks:
            made, one = self._looped(task) if task.axes else self._once(task)
            yield from made
            awaited.append(one)
        names = [self._loops.results[one.id] for one in tasks]
        if len(awaited) == 1:
            yield _set(names[0], ast.Await(awaited[0]))
        else:
            target = ast.Tuple([store(one) for one in names], ast.Store())
            yield ast.Assign([target], ast.Await(self._gather(*awaited)))

    def _once(self, task: Task) -> tuple[list[ast.stmt], ast.expr]:
        frame = Frame()
        before: list[ast.stmt] = []
        sure: dict[tuple[str, Path], str] = {}
        for one in task.arguments:
            single = one.origin == "step" and not many(one.source) and not self._workflow.order[one.step].axes
            if not single or self._loops.is_sure(one.step, one.source):
                continue
            name = self._names.make(slot_text(one.slot))
            source = self._workflow.order[one.step].ports.tool
            before.append(_set(name, self._loops.value(frame, one.step, one.source)))
            what = visible(path_text(one.source), _LONGEST)
            before.append(_refuse_nothing(load(name), f"{visible(source, _LONGEST)} returned no {what}."))
            sure[one.step, one.source] = name
        return before, self._call(task, frame, sure)

    def _looped(self, task: Task) -> tuple[list[ast.stmt], ast.expr]:
        """Call a step for each of what it is for."""
        frame = self._loops.frame_for(task, self._arguments.single_places(task))
        conditions = self._arguments.conditions(task, frame)
        axes = task.axes
        loops = self._loops
        inherited = [one for one in task.sources if loops.rows.get(one) and loops.rows[one].axes == axes]
        if len(frame.generators) == 1 and inherited and not conditions:
            # As often as another step, and for the same.
            loops.rows[task.id] = loops.rows[inherited[-1]]
            several = ast.ListComp(self._call(task, frame, {}), frame.generators)
            return [], self._gather(ast.Starred(several, ast.Load()))
        carried = loops.carried_in(task, frame)
        name = self._names.make(f"{loops.results[task.id].removesuffix('_results')}_calls")
        loops.rows[task.id] = Rows(name, axes, carried)
        frame.generators[-1].ifs += conditions
        row = loops.row(frame, axes, carried, store_=False)
        target = loops.row(frame, axes, carried, store_=True)
        inner = Frame(dict(frame.items), dict(frame.results))
        several = ast.ListComp(self._call(task, inner, {}), [ast.comprehension(target, load(name), [], 0)])
        made = _rows(row, frame.generators)
        tool = visible(task.ports.tool, _LONGEST)
        message = f"{tool} would be called more often than {self._most_calls} allows: {{}} times."
        told = call(attribute(constant(message), "format"), call("len", load(name)))
        too_many = ast.If(
            ast.Compare(call("len", load(name)), [ast.Gt()], [load(self._most_calls)]),
            [ast.Raise(call("ValueError", told))],
            [],
        )
        return [_set(name, made), too_many], self._gather(ast.Starred(several, ast.Load()))

    def _gather(self, *awaited: ast.expr) -> ast.expr:
        self._modules.add("asyncio")
        return call(attribute(load("asyncio"), "gather"), *awaited)

    def _call(self, task: Task, frame: Frame, sure: dict[tuple[str, Path], str]) -> ast.expr:
        arguments = self._arguments.of(task, frame, sure)
        if task.paginates is None:
            return self._tool_call(task, arguments)
        if task.id not in self._pages:
            self._pages[task.id] = self._names.make(
                f"all_{self._loops.results[task.id].removesuffix('_results')}"
            )
        return call(self._pages[task.id], *arguments.values())

    def _tool_call(self, task: Task, arguments: dict[str, ast.expr]) -> ast.expr:
        called = _tool_call(task.ports.tool, arguments)
        envelope = task.ports.envelope
        if envelope is None or (task.paginates is None and not self._is_opened(task)):
            return called
        if envelope.success not in self._checks:
            self._checks[envelope.success] = self._names.make("succeeded")
        return call(self._checks[envelope.success], constant(visible(task.ports.tool, _LONGEST)), called)

    def _is_opened(self, task: Task) -> bool:
        """Say whether anything is taken out of a step's result, which else is printed as it is."""
        return any(one.step == task.id for one in self._workflow.links()) or any(
            one.step == task.id and one.path for one in self._workflow.wanted
        )

    def _check_functions(self) -> Iterator[ast.stmt]:
        """Write functions that await a result and, where it says itself that it is none, end with what it says."""
        for success, function in self._checks.items():
            tool, called, result, error = (
                self._names.make(one) for one in ("tool", "called", "result", "error")
            )
            failed = ast.Compare(
                call(attribute(load(result), "get"), constant(success)), [ast.Is()], [constant(False)]
            )
            own = call(attribute(load(error), "get"), constant("message"))
            beside = call(attribute(load(result), "get"), constant("message"))
            told = call(
                attribute(constant("{} failed: {}"), "format"),
                load(tool),
                ast.BoolOp(ast.Or(), [load(error), beside]),
            )
            refuse: list[ast.stmt] = [
                _set(error, call(attribute(load(result), "get"), constant("error"))),
                ast.If(
                    call("isinstance", load(error), load("dict")),
                    [_set(error, ast.BoolOp(ast.Or(), [own, load(error)]))],
                    [],
                ),
                ast.Raise(call("ValueError", told)),
            ]
            is_object = call("isinstance", load(result), load("dict"))
            body: list[ast.stmt] = [
                _set(result, ast.Await(load(called))),
                ast.If(ast.BoolOp(ast.And(), [is_object, failed]), refuse, []),
                ast.Return(load(result)),
            ]
            yield _function(function, [tool, called], body)

    # Pages.

    def _page_functions(self) -> Iterator[ast.stmt]:
        for task in self._workflow.tasks:
            if task.id in self._pages:
                yield self._page_function(task, self._pages[task.id])

    def _page_function(self, task: Task, function: str) -> ast.stmt:
        """Write a function that asks for one page after the other, and gives them as one."""
        assert task.paginates is not None, "it has pages"
        names = self._names
        whole, page, cursor, asked, turn = (
            names.make(one) for one in ("whole", "page", "cursor", "asked", "turn")
        )
        given = {name: names.make(name) for name in self._arguments.names(task)}
        first = {name: load(one) for name, one in given.items()}
        again = first | {task.paginates.target[0].key: load(cursor)}
        path = task.paginates.source
        last = last_page(task.ports, path)
        # What leads on, and what says whether it does: of the whole they are as on the last page.
        turned = [_put(whole, path, load(cursor))]
        if last is not None:
            turned.append(_put(whole, last[0], self._got(task, page, last[0])))
        ends: list[ast.expr] = (
            [ast.UnaryOp(ast.Not(), self._items(task, array, page)) for array in task.collects]
            if keeps_its_cursor(path)
            else [ast.Compare(load(cursor), [ast.Eq()], [load(asked)])]
        )
        message = f"{visible(task.ports.tool, _LONGEST)} has more pages than {self._most_pages} allows."
        loop = ast.For(
            store(turn),
            call("range", load(self._most_pages)),
            [
                ast.If(ast.UnaryOp(ast.Not(), load(cursor)), [ast.Break()], []),
                _set(asked, load(cursor)),
                _set(page, ast.Await(self._tool_call(task, again))),
                *(one for array in task.collects for one in self._grow(task, array, whole, page)),
                *self._next(task, page, cursor, last),
                ast.If(_all(ends), [_set(cursor, constant(None))], []),
                *turned,
            ],
            [],
        )
        body = [
            _set(whole, ast.Await(self._tool_call(task, first))),
            *self._next(task, whole, cursor, last),
            loop,
            ast.If(load(cursor), [ast.Raise(call("ValueError", constant(message)))], []),
            ast.Return(load(whole)),
        ]
        return _function(function, given.values(), body)

    def _next(self, task: Task, page: str, cursor: str, last: tuple[Path, bool] | None) -> Iterator[ast.stmt]:
        """Set the cursor to what leads on from a page: to nothing where the page says that it is the last."""
        assert task.paginates is not None, "it has pages"
        yield _set(cursor, self._got(task, page, task.paginates.source))
        if last is not None:
            says = ast.Compare(self._got(task, page, last[0]), [ast.Is()], [constant(last[1])])
            yield ast.If(says, [_set(cursor, constant(None))], [])

    def _got(self, task: Task, value: str, path: Path) -> ast.expr:
        """Write what stands at a path of a page, which need not be there: the last page may lack what others have."""
        presence = self._loops.presence(task.id)
        inner = into(load(value), path[:-1], (), presence)
        if path[:-1] and presence.may_be_nothing(path[:-1]):
            inner = ast.BoolOp(ast.Or(), [inner, ast.Dict([], [])])
        return call(attribute(inner, "get"), constant(path[-1].key))

    def _items(self, task: Task, array: Path, value: str) -> ast.expr:
        return into(load(value), array, (), self._loops.presence(task.id), empty=ast.List([], ast.Load()))

    def _grow(self, task: Task, array: Path, whole: str, page: str) -> Iterator[ast.stmt]:
        presence = self._loops.presence(task.id)
        for size in range(1, len(array)):
            around = array[:size]
            if presence.may_be_nothing(around):
                # The first page may lack what holds the items of the next.
                missing = ast.Compare(self._got(task, whole, around), [ast.Is()], [constant(None)])
                yield ast.If(missing, [_put(whole, around, ast.Dict([], []))], [])
        parts = [self._items(task, array, one) for one in (whole, page)]
        yield _put(whole, array, ast.BinOp(parts[0], ast.Add(), parts[1]))

    # The end.

    def _print(self) -> ast.stmt:
        wanted = self._workflow.wanted
        value = self._wanted(wanted[0]) if len(wanted) == 1 else None
        if value is None:
            value = ast.Dict(
                [ast.Constant(one.target.name) for one in wanted], [self._wanted(one) for one in wanted]
            )
        text = call(
            attribute(load("json"), "dumps"),
            value,
            ensure_ascii=constant(False),
            separators=ast.Tuple([constant(","), constant(":")], ast.Load()),
        )
        said: ast.stmt = ast.Expr(call("print", text))
        if all(self._workflow.order[one.step].ports.places for one in wanted):
            return said
        # Of what nothing is known it may be a picture, which JSON has not.
        plain: ast.stmt = ast.Expr(call("print", value))
        return ast.Try([said], [ast.ExceptHandler(load("TypeError"), None, [plain])], [], [])

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
        return ast.ListComp(value, frame.generators) if frame.generators else value


def _rows(row: ast.expr, generators: list[ast.comprehension]) -> ast.expr:
    only = generators[0]
    if len(generators) == 1 and not only.ifs and ast.unparse(row) == ast.unparse(only.target):
        return call("list", only.iter)
    return ast.ListComp(row, generators)


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([store(name)], value)


def _put(name: str, path: Path, value: ast.expr) -> ast.stmt:
    """Set what stands at a path of a value, all that is around it being there."""
    around = load(name)
    for step in path[:-1]:
        around = ast.Subscript(around, ast.Constant(step.key), ast.Load())
    return ast.Assign([ast.Subscript(around, ast.Constant(path[-1].key), ast.Store())], value)


def _all(conditions: list[ast.expr]) -> ast.expr:
    return conditions[0] if len(conditions) == 1 else ast.BoolOp(ast.And(), conditions)


def _function(name: str, parameters: Iterable[str], body: list[ast.stmt]) -> ast.stmt:
    taken = ast.arguments(
        posonlyargs=[],
        args=[ast.arg(one) for one in parameters],
        kwonlyargs=[],
        kw_defaults=[],
        defaults=[],
    )
    return ast.AsyncFunctionDef(name=name, args=taken, body=body, decorator_list=[])


def _refuse_nothing(value: ast.expr, message: str) -> ast.stmt:
    return ast.If(
        ast.Compare(value, [ast.Is()], [constant(None)]),
        [ast.Raise(call("ValueError", constant(message)))],
        [],
    )


def _tool_call(tool: str, arguments: dict[str, ast.expr]) -> ast.expr:
    named = [ast.keyword(name, value) for name, value in arguments.items() if is_name(name)]
    odd = {name: value for name, value in arguments.items() if not is_name(name)}
    if odd:
        named.append(ast.keyword(None, ast.Dict([ast.Constant(one) for one in odd], list(odd.values()))))
    if is_name(tool) and tool not in Names.OWN:
        return ast.Call(load(tool), [], named)
    return ast.Call(load("call_tool"), [constant(tool)], named)
