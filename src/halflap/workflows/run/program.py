"""From a net to a program for the sandbox, built as an `ast`, whatever tasks and values are called.

It plays the net: a task takes the tokens it needs and puts new ones. What becomes ready is started at once and awaited together. `_ENGINE` is the
same for every net; the tables it reads differ.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from halflap.core.errors import WorkflowError
from halflap.core.text import visible
from halflap.workflows.model.checks import or_blocks
from halflap.workflows.model.form import read_net, write_net
from halflap.workflows.predicates import PRELUDE, parse, to_python
from halflap.workflows.run.check import is_literal, reference

if TYPE_CHECKING:
    from halflap.workflows.model.net import Flow, Net, Task

_DEFAULT_LIMIT = 100
"""How often a task is done in one run, if it states no limit."""
_LONGEST = 80

_ENGINE = """
def _look(path, said):
    value = _data
    for at, step in enumerate(path):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        elif at == 0:
            raise ValueError(f"{said}: there is no {step!r} yet.")
        else:
            raise ValueError(f"{said}: {'.'.join(path[:at])!r} has no {step!r}. It is {_sort(value)}.")
    return value


def _sort(value):
    if isinstance(value, dict):
        names = [str(name) for name in value]
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        return f"an object with {', '.join(names[:10])}{more}" if names else "an object with no keys"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "text" if isinstance(value, str) else json.dumps(value)


def _keep(task, value):
    _data[task] = value
    written = _writes.get(task, [])
    for name in written:
        if len(written) == 1:
            _data[name] = value
        elif isinstance(value, dict) and name in value:
            _data[name] = value[name]
        else:
            raise ValueError(f"The task {task!r} writes {name!r}, and what it returned has no such key.")


def _ready():
    found = []
    for task, (join, places) in _joins.items():
        marked = [place for place in places if _marked[place]]
        if join == "and":
            taken = marked if len(marked) == len(places) else []
        elif join == "or":
            taken = marked if marked and len(marked) == _chosen.get(task, 0) else []
        else:
            taken = marked[:1]
        for place in taken:
            _marked[place] -= 1
        if taken:
            found.append(task)
    return found


def _mark(task):
    split, ways, join = _splits[task]
    if split != "and":
        taken = []
        for place, holds in ways:
            # What comes after the one that is taken is not looked at.
            if holds is not None and (split == "or" or not taken) and holds():
                taken.append(place)
        if not taken and task in _defaults:
            taken = [_defaults[task]]
        if not taken:
            raise ValueError(f"No predicate of a flow out of {task!r} holds, and none of the flows is the default.")
        ways = [(place, None) for place in taken]
    if join is not None:
        _chosen[join] = len(ways)
    for place, _ in ways:
        _marked[place] += 1


def _plain(value):
    try:
        json.dumps(value)
    except TypeError:
        # A picture, say, which JSON has not.
        return str(value)
    return value


async def _go(task):
    if _failed:
        return
    try:
        _done[task] = _done.get(task, 0) + 1
        if _done[task] > _limits[task]:
            raise ValueError(f"The task {task!r} would be done more than {_limits[task]} times, which is its limit.")
        if task in _calls:
            try:
                value = await _calls[task](_done[task])
            except ToolError as error:
                raise RuntimeError(f"The task {task!r} failed: {error}") from None
            _keep(task, value)
        _trace.append(task)
        _mark(task)
    except Exception as error:
        # What is under way is done to its end; nothing more is begun.
        _failed.append(error)
        _where.append(task)
        # What no tool said comes from what is known, and would come again.
        if not isinstance(error, RuntimeError):
            _lasting.append(task)
    if not _failed:
        await asyncio.gather(*[_go(one) for one in _ready()])
""".strip()

_PLAY = """
await asyncio.gather(*[_go(one) for one in _ready()])
_finished = {task: True for task in _trace}
_results = {task: _plain(_data[task]) for task in _calls if task in _finished}
print(json.dumps({'failed': _where[0] if _where else None, 'fails_again': bool(_lasting), 'trace': _trace, 'results': _results}, ensure_ascii=False))
if _failed:
    raise _failed[0]
if [place for place, count in _marked.items() if count] != [_output]:
    raise ValueError('It did not come to its end: ' + json.dumps(_marked))
"""
_TIME = "_time"


def net_program(net: Net, arguments: Mapping[str, Any], *, marked: bool = False) -> str:
    """Return the program that runs a net; it prints what each task returned, as JSON.

    A `marked` one can be resumed: its docstring holds the net and its arguments, and each call states which task it is for, as
    `tool#<position of the task>.<number of the time>`. Only a `Journal` accepts such names.
    """
    try:
        return _Program(net, arguments, marked=marked).text()
    except (RecursionError, MemoryError, SyntaxError):
        message = "An argument is nested too deeply for a program."
        raise WorkflowError([("", message)], f"The workflow {net.id!r} cannot be run.") from None


def recorded_net(code: str) -> tuple[Net, dict[str, Any]]:
    """Return the net and the arguments of a marked program."""
    try:
        found = json.loads((ast.get_docstring(ast.parse(code)) or "").rpartition("\n")[2])
        return read_net(found["workflow"]), dict(found["arguments"])
    except (ValueError, LookupError, TypeError, SyntaxError, RecursionError):
        raise WorkflowError([("", "The recorded program is not that of a workflow.")]) from None


class _Program:
    def __init__(self, net: Net, arguments: Mapping[str, Any], *, marked: bool) -> None:
        self._net = net
        self._marked = marked
        self._given = arguments
        self._incoming, self._outgoing = net.incoming(), net.outgoing()
        self._joined = {split: block.join for split, block in or_blocks(net).items()}
        self._called = {
            task.id: f"_call_{at}" for at, task in enumerate(net.tasks.values()) if task.tool is not None
        }

    def text(self) -> str:
        net = self._net
        about = f"Runs the workflow {visible(net.id, _LONGEST)}."
        if self._marked:
            about += f"\n\n{json.dumps({'workflow': write_net(net), 'arguments': dict(self._given)})}"
        body: list[ast.stmt] = [ast.Expr(ast.Constant(about))]
        body += [ast.Import([ast.alias(one)]) for one in ("asyncio", "json")]
        body += ast.parse(PRELUDE).body
        body += ast.parse(_ENGINE).body
        body += list(self._functions())
        places = dict.fromkeys(place for flow in net.flows for place in (_place(net, flow),))
        begin: dict[str, Any] = dict.fromkeys(places, 0) | {net.input: 1}
        writes = {
            task.id: sorted(task.writes)
            for task in net.tasks.values()
            if task.tool is not None and task.writes
        }
        defaults = {flow.source: _place(net, flow) for flow in net.flows if flow.default}
        limits = {one.id: _DEFAULT_LIMIT if one.limit is None else one.limit for one in net.tasks.values()}
        body += [
            # As JSON text, so that the check before the run knows no types.
            assign("_data", call("json.loads", constant(json.dumps(dict(self._given))))),
            assign("_marked", literal(begin)),
            assign("_joins", literal({task.id: self._join(task) for task in net.tasks.values()})),
            assign("_splits", _table({task.id: self._split(task) for task in net.tasks.values()})),
            assign("_calls", _table({task: load(name) for task, name in self._called.items()})),
            assign("_defaults", literal(defaults)),
            assign("_output", constant(net.output)),
            assign("_writes", literal(writes)),
            assign("_limits", literal(limits)),
            *(assign(name, ast.Dict([], [])) for name in ("_chosen", "_done")),
            *(assign(name, ast.List([], ast.Load())) for name in ("_failed", "_where", "_lasting", "_trace")),
            *ast.parse(_PLAY).body,
        ]
        return ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))

    def _functions(self) -> Iterator[ast.stmt]:
        for at, one in enumerate(self._net.tasks.values()):
            if one.id not in self._called:
                continue
            assert one.tool is not None
            given = {key: self._value(one, key, value) for key, value in (one.arguments or {}).items()}
            tool: tuple[ast.expr, list[ast.expr]] = load(one.tool), []
            if self._marked:
                mark = ast.FormattedValue(load(_TIME), -1)
                tool = load("call_tool"), [ast.JoinedStr([constant(f"{one.tool}#{at}."), mark])]
            called = ast.Call(*tool, [ast.keyword(None, _table(given))] if given else [])
            taken = ast.arguments([], [ast.arg(_TIME)], None, [], [], None, [])
            yield ast.AsyncFunctionDef(self._called[one.id], taken, [ast.Return(ast.Await(called))], [])

    def _value(self, task: Task, key: str, value: Any) -> ast.expr:
        """Return the expression of an argument, or of a part of one."""
        path = reference(value)
        if path is not None:
            return _looked_up(path, f"The argument {visible(key, _LONGEST)!r} of the task {task.id!r}")
        if is_literal(value):
            return literal(value["value"])
        if isinstance(value, dict):
            return _table({name: self._value(task, key, one) for name, one in value.items()})
        if isinstance(value, list | tuple):
            return ast.List([self._value(task, key, one) for one in value], ast.Load())
        return literal(value)

    def _join(self, task: Task) -> list[Any]:
        places = dict.fromkeys(_place(self._net, flow) for flow in self._incoming[task.id])
        return [task.join if len(places) > 1 else "xor", list(places)]

    def _split(self, task: Task) -> ast.expr:
        flows = self._outgoing[task.id]
        kind = task.split if len(flows) > 1 else "and"
        if kind != "and":
            flows = [one for _, one in sorted(enumerate(flows), key=lambda one: _turn(*one))]
        ways = [
            ast.Tuple([constant(_place(self._net, flow)), self._holds(flow, kind)], ast.Load())
            for flow in flows
        ]
        join = self._joined.get(task.id)
        return ast.Tuple([constant(kind), ast.List(list(ways), ast.Load()), constant(join)], ast.Load())

    def _holds(self, flow: Flow, kind: str) -> ast.expr:
        if kind == "and" or flow.predicate is None:
            return constant(None)
        said = f"The predicate of the flow from {flow.source!r} to {flow.target!r}"
        decided = to_python(parse(flow.predicate), lambda path: _looked_up(path, said))
        return ast.Lambda(_no_arguments(), decided)


def load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def constant(value: str | None) -> ast.expr:
    return ast.Constant(value)


def literal(value: Any) -> ast.expr:
    """Return a JSON value as an expression."""
    return ast.parse(repr(value), mode="eval").body


def call(function: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.parse(function, mode="eval").body, list(arguments), [])


def assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _place(net: Net, flow: Flow) -> str:
    """Return the condition that a flow leads out of or into, or the unnamed one in it."""
    if flow.source in net.conditions:
        return flow.source
    return flow.target if flow.target in net.conditions else flow.key


def _turn(at: int, flow: Flow) -> tuple[bool, int, int]:
    return (flow.order is None, flow.order or 0, at)


def _looked_up(path: tuple[str, ...], said: str) -> ast.expr:
    return call("_look", ast.List([constant(one) for one in path], ast.Load()), constant(said))


def _table(of: Mapping[str, ast.expr]) -> ast.expr:
    return ast.Dict([constant(key) for key in of], list(of.values()))


def _no_arguments() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])
