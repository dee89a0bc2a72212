"""Check that a workflow can be run with the given arguments: the net first, then its tools. All problems are reported together."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ArgumentProblem, HalflapError, ToolNotFoundError, WorkflowError
from halflap.schema import path_of
from halflap.schema.stub import make_stub
from halflap.workflows.analysis.soundness import soundness
from halflap.workflows.analysis.study import Study
from halflap.workflows.model.net import CANCELLATION, FIXING, Net, Task
from halflap.workflows.predicates import names, parse
from halflap.workflows.run.suggested import BEYOND

if TYPE_CHECKING:
    from halflap.schema import ToolSchema

_PREFIXES = ("mcp__", "script__", "dspy__")


def check_runnable(net: Net, arguments: Mapping[str, Any]) -> None:
    """Raise a `WorkflowError` with every reason why a workflow cannot be run."""
    problems = [*_names(net, arguments), *_tasks(net), *_choices(net), *_kept(net)]
    try:
        judged = soundness(Study(net))
    except WorkflowError as error:
        problems += error.problems
    else:
        if judged.sound is None:
            problems.append(("", f"Whether it is sound is unknown: {judged.problem}"))
        problems += [("", f"It is not sound. {one.sentence}") for one in judged.failures]
    if problems:
        raise WorkflowError(problems, f"The workflow {net.id!r} cannot be run.")


def _tasks(net: Net) -> Iterator[tuple[str, str]]:
    for at, task in enumerate(net.tasks.values()):
        if task.tool is None:
            if task.label is not None:
                message = f"'{task.id}' has no tool. Name one, or make it silent with a label of null."
                yield f"tasks[{at}].tool", message
        elif not task.tool.startswith(_PREFIXES) or not task.tool.isidentifier():
            message = (
                f"{task.tool!r} is not the name of a tool. `halflap list` shows them: mcp__<server>__<tool>."
            )
            yield f"tasks[{at}].tool", message


def _choices(net: Net) -> Iterator[tuple[str, str]]:
    places = {id(flow): at for at, flow in enumerate(net.flows)}
    xpaths = {one.at for one in net.kept if one.name == "predicate"}
    for node, flows in net.outgoing().items():
        if len(flows) > 1 and node in net.conditions:
            message = f"Several flows lead out of '{node}': which is taken depends on events outside. Let a task with an xor-split choose."
            yield f"flows[{places[id(flows[0])]}].from", message
        for flow in flows if net.chooses(node, flows) and node in net.tasks else ():
            if flow.key in xpaths:
                message = f"The task '{node}' chooses by XPath, which is not evaluated. Give its flows predicates of their own."
                yield f"flows[{places[id(flow)]}].predicate", message
            elif flow.predicate is None and not flow.default:
                message = (
                    f"Give the flow from '{node}' to '{flow.target}' a predicate, or make it the default."
                )
                yield f"flows[{places[id(flow)]}]", message


def _kept(net: Net) -> Iterator[tuple[str, str]]:
    for one in net.kept:
        if one.name == BEYOND:
            then = "Run the suggestion's program instead: `halflap suggest … --program > program.py`, then `halflap run program.py`."
            yield one.at, f"It {one.text}, which a net cannot express. {then}"
        elif one.name in FIXING | CANCELLATION:
            yield one.at, f"It has <{one.name}>, which cannot be run. Remove it."


def _names(net: Net, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Check that every name that is used is given, or written by some task."""
    known = sources(net) | arguments.keys()
    used: set[str] = set()
    for path, (first, *_) in _used(net):
        used.add(first)
        if first not in known:
            yield path, f"There is no {first!r}. Give it with --arg {first}=…, or let a task write it."
    for name in arguments:
        if name in net.tasks:
            yield "", f"--arg {name}: that is a task. Use another name."
        elif name not in used:
            yield "", f"--arg {name}: nothing in the workflow uses it."


def _used(net: Net) -> list[tuple[str, Path]]:
    """Return the places of all references, with what they refer to."""
    found: list[tuple[str, Path]] = []
    for at, task in enumerate(net.tasks.values()):
        for key, value in (task.arguments or {}).items() if task.tool is not None else ():
            fill(value, lambda path, place: found.append((place, path)), f"tasks[{at}].arguments.{key}")
    outgoing = net.outgoing()
    for at, flow in enumerate(net.flows):
        if flow.predicate is not None and net.chooses(flow.source, outgoing[flow.source]):
            found += [(f"flows[{at}].predicate", name) for name in sorted(names(parse(flow.predicate)))]
    return found


# References --------------------------------------------------------------------------------------------

Path = tuple[str, ...]


def fill(value: Any, look: Callable[[Path, str], Any], place: str) -> Any:
    """Return an argument with each `{"from": "task.key"}` replaced by what `look` returns for it and its place."""
    match value:
        case {"from": str() as reference} if len(value) == 1:
            return look(tuple(reference.split(".")), place)
        case {"value": literal} if len(value) == 1:
            return literal
        case dict():
            return {key: fill(one, look, f"{place}.{key}") for key, one in value.items()}
        case list() | tuple():
            return [fill(one, look, f"{place}[{at}]") for at, one in enumerate(value)]
    return value


def sources(net: Net) -> set[str]:
    """Return the names that tasks define: their ids, and what they write."""
    tools = [task for task in net.tasks.values() if task.tool is not None]
    return {name for task in tools for name in (task.id, *(task.writes or ()))}


# Tools -------------------------------------------------------------------------------------------------


async def check_tools(
    net: Net,
    given: Mapping[str, Any],
    look_up: Callable[[str], Awaitable[tuple[ToolSchema, bool]]],
    done: Collection[str] = (),
    *,
    strict: bool = False,
) -> frozenset[str]:
    """Raise a `WorkflowError` with every task whose tool does not exist or does not accept its arguments.

    Return the tools that can safely be called twice. Tasks that are `done` are not checked. With `strict`, an argument that a tool
    does not declare is also a problem, unless the tool accepts any.
    """
    problems: list[tuple[str, str]] = []
    down: list[ToolNotFoundError] = []
    known: dict[str, ToolSchema | HalflapError] = {}
    repeatable: set[str] = set()
    for tool in dict.fromkeys(task.tool for task in net.tasks.values() if task.tool is not None):
        try:
            known[tool], again = await look_up(tool)
        except HalflapError as error:
            known[tool] = error
        else:
            repeatable |= {tool} if again else set()
    made = sources(net)
    fixed = {name: value for name, value in given.items() if name not in made}
    for at, task in enumerate(net.tasks.values()):
        if task.tool is None or task.id in done:
            continue
        found = known[task.tool]
        if isinstance(found, HalflapError):
            problems.append((f"tasks[{at}].tool", f"'{task.id}': {found}"))
            if isinstance(found, ToolNotFoundError) and found.unavailable_reason is not None:
                down.append(found)
        else:
            listed = _problems(task, fixed, found, strict=strict)
            problems += ((f"tasks[{at}].{path}", message) for path, message in listed)
    if problems and len(down) == len(problems):
        # The workflow may be correct: a server is down.
        raise down[0]
    if problems:
        raise WorkflowError(problems, f"The workflow {net.id!r} cannot be run. Nothing was called.")
    return frozenset(repeatable)


def _problems(
    task: Task, fixed: Mapping[str, Any], schema: ToolSchema, *, strict: bool
) -> list[tuple[str, str]]:
    value: dict[str, Any] = {}
    later: set[str] = set()
    """Paths of arguments that are only known during the run."""

    def known(path: Path, _place: str) -> Any:
        found: Any = fixed
        for step in path:
            found = found[int(step) if isinstance(found, list) and step.isdigit() else step]
        return found

    for key, one in (task.arguments or {}).items():
        try:
            value[key] = fill(one, known, key)
        except (LookupError, TypeError):
            value[key] = None
            later.add(path_of([key]))

    def is_certain(problem: ArgumentProblem) -> bool:
        if not problem.path:
            return problem.what != "wrong" or not later
        inside = any(problem.path == one or problem.path.startswith((f"{one}.", f"{one}[")) for one in later)
        return problem.what == "unknown" or not inside

    found = [one for one in schema.validate_arguments(value) if is_certain(one)]
    if strict and make_stub(schema).closed:
        unknown = {path_of([key]) for key in value} - {path_of([one.name]) for one in schema.parameters}
        unknown -= {one.path for one in found}
        found += [
            ArgumentProblem(path, "There is no such argument", "", "unknown") for path in sorted(unknown)
        ]
    if all(one.what == "more" for one in found):
        return []
    called = f"'{task.id}' calls {schema.format_compact()}"
    return [(_path(one), f"{replace(one, path='')}. {called}") for one in found]


def _path(problem: ArgumentProblem) -> str:
    dot = "." if problem.path and not problem.path.startswith("[") else ""
    return f"arguments{dot}{problem.path}"
