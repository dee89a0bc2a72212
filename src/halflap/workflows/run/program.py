"""From a net to a program for the sandbox. Names and values of the net get into it as Python literals only.

The program plays the token game: a task takes the tokens it needs and puts new ones. Tasks that become ready are started
immediately and awaited together. `_ENGINE` is the same for every net; the tables it reads differ.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from halflap.core.errors import WorkflowError
from halflap.core.text import visible
from halflap.workflows.model.checks import or_blocks
from halflap.workflows.model.form import read_net, write_net
from halflap.workflows.predicates import PRELUDE, parse, to_python
from halflap.workflows.run.check import fill

if TYPE_CHECKING:
    from halflap.workflows.model.net import Flow, Net, Task
    from halflap.workflows.run.check import Path

_DEFAULT_LIMIT = 100
"""How often a task may be done in one run, if it has no `limit`."""
_LONGEST = 80

_ENGINE = """
def _look(path, where):
    value = _data
    for at, step in enumerate(path):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        elif at == 0:
            raise ValueError(f"{where}: there is no {step!r} yet.")
        else:
            there = f"an object with {', '.join(list(value)[:10])}" if isinstance(value, dict) else f"a {type(value).__name__}"
            raise ValueError(f"{where}: {'.'.join(path[:at])!r} has no {step!r}. It is {there}.")
    return value


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
        needed = {"and": len(places), "or": _chosen.get(task, 0)}.get(join, 1)
        taken = marked[:1] if join == "xor" else marked
        if taken and len(taken) == needed:
            for place in taken:
                _marked[place] -= 1
            found.append(task)
    return found


def _mark(task):
    split, branches, join = _splits[task]
    taken = []
    for place, holds in branches:
        # An xor-split does not evaluate predicates after the one that holds.
        try:
            if split == "and" or (holds is not None and (split == "or" or not taken) and holds()):
                taken.append(place)
        except (TypeError, ArithmeticError) as error:
            raise ValueError(f"A predicate of a flow out of {task!r} cannot be decided: {error}.") from None
    if not taken and task in _defaults:
        taken = [_defaults[task]]
    if not taken:
        raise ValueError(f"No predicate of a flow out of {task!r} holds, and none of the flows is the default.")
    if join is not None:
        _chosen[join] = len(taken)
    for place in taken:
        _marked[place] += 1


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
        # Running tasks finish; nothing more is started.
        _failed.append((task, error))
    if not _failed:
        await asyncio.gather(*[_go(one) for one in _ready()])


_chosen, _done, _failed, _trace = {}, {}, [], []
""".strip()

_PLAY = """
await asyncio.gather(*[_go(one) for one in _ready()])
_results = {task: _data[task] for task in _calls if task in set(_trace)}
_report = {'failed': _failed[0][0] if _failed else None, 'trace': _trace, 'results': _results}
print(json.dumps(_report, ensure_ascii=False, default=str))
if _failed:
    raise _failed[0][1]
if [place for place, count in _marked.items() if count] != [_output]:
    raise ValueError('It ended without reaching the output; its tokens: ' + json.dumps(_marked))
""".strip()


def net_program(net: Net, arguments: Mapping[str, Any], *, marked: bool = False) -> str:
    """Return the program that runs a net; it prints what each task returned, as JSON.

    A `marked` one can be resumed: its docstring holds the net and its arguments, and each call names its task, as
    `tool#<position of the task>.<number of the repetition>`. Only a `Journal` accepts such names.
    """
    try:
        text = "\n\n".join(_parts(net, arguments, marked=marked))
        ast.parse(text)
    except (RecursionError, MemoryError, SyntaxError):
        message = "An argument is nested too deeply for a program."
        raise WorkflowError([("", message)], f"The workflow {net.id!r} cannot be run.") from None
    return text


def recorded_net(code: str) -> tuple[Net, dict[str, Any]]:
    """Return the net and the arguments of a marked program."""
    try:
        found = json.loads((ast.get_docstring(ast.parse(code)) or "").rpartition("\n")[2])
        return read_net(found["workflow"]), dict(found["arguments"])
    except (ValueError, LookupError, TypeError, SyntaxError, RecursionError):
        raise WorkflowError([("", "The recorded program is not that of a workflow.")]) from None


def _parts(net: Net, arguments: Mapping[str, Any], *, marked: bool) -> Iterator[str]:
    about = f"Runs the workflow {visible(net.id, _LONGEST)}."
    if marked:
        about += f"\n\n{json.dumps({'workflow': write_net(net), 'arguments': dict(arguments)})}"
    yield repr(about)
    yield "import asyncio\nimport json"
    yield PRELUDE
    yield _ENGINE
    incoming, outgoing = net.incoming(), net.outgoing()
    closed = {split: block.join for split, block in or_blocks(net).items()}
    calls, joins, splits = {}, {}, {}
    for at, task in enumerate(net.tasks.values()):
        if task.tool is not None:
            look = partial(_look, task)
            given = {key: fill(value, look, key) for key, value in (task.arguments or {}).items()}
            name = f"call_tool(f'{task.tool}#{at}.{{_time}}', " if marked else f"{task.tool}(**"
            yield f"async def _call_{at}(_time):\n    return await {name}{given!r})"
            calls[task.id] = _Expression(f"_call_{at}")
        places = list(dict.fromkeys(_place(net, flow) for flow in incoming[task.id]))
        joins[task.id] = [task.join if len(places) > 1 else "xor", places]
        splits[task.id] = _split(net, task, outgoing[task.id], closed.get(task.id))
    marking: dict[str, int] = dict.fromkeys((_place(net, flow) for flow in net.flows), 0) | {net.input: 1}
    tables = {
        "_marked": marking,
        "_calls": calls,
        "_joins": joins,
        "_splits": splits,
        "_defaults": {flow.source: _place(net, flow) for flow in net.flows if flow.default},
        "_output": net.output,
        "_writes": {task.id: sorted(task.writes) for task in net.tasks.values() if task.tool and task.writes},
        "_limits": {task.id: task.limit or _DEFAULT_LIMIT for task in net.tasks.values()},
    }
    # As JSON text, so that the check before the run infers no types.
    yield f"_data = json.loads({json.dumps(dict(arguments))!r})"
    yield "\n".join(f"{name} = {value!r}" for name, value in tables.items())
    yield _PLAY


class _Expression(str):
    """Python, as it stands in the program: its repr is itself."""

    __slots__ = ()
    __repr__ = str.__str__


def _look(task: Task, path: Path, place: str) -> _Expression:
    where = f"The argument {visible(place, _LONGEST)!r} of the task {task.id!r}"
    return _Expression(f"_look({list(path)!r}, {where!r})")


def _split(net: Net, task: Task, flows: list[Flow], join: str | None) -> tuple[Any, ...]:
    """Return the kind of a split, its branches in the order of evaluation, and the or-join that closes it."""
    branches = []
    for flow in sorted(flows, key=lambda one: (one.order is None, one.order or 0)):
        holds = None
        if flow.predicate is not None:
            where = f"The predicate of the flow from {flow.source!r} to {flow.target!r}"
            holds = _Expression(f"lambda: {ast.unparse(to_python(parse(flow.predicate), where))}")
        branches.append((_place(net, flow), holds))
    return task.split if len(flows) > 1 else "and", branches, join


def _place(net: Net, flow: Flow) -> str:
    """Return the condition that a flow leads out of or into, or the unnamed one between two tasks."""
    if flow.source in net.conditions:
        return flow.source
    return flow.target if flow.target in net.conditions else flow.key
