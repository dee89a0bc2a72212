"""Whether the tools of a workflow exist and accept the arguments of its tasks, as far as that is known before the run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.core.errors import ArgumentProblem, HalflapError, ToolNotFoundError, WorkflowError
from halflap.schema import path_of
from halflap.schema.stub import make_stub
from halflap.workflows.run.check import is_literal, reference, sources

if TYPE_CHECKING:
    from halflap.schema import ToolSchema
    from halflap.workflows.model.net import Net, Task


async def check_tools(
    net: Net,
    given: Mapping[str, Any],
    look_up: Callable[[str], Awaitable[tuple[ToolSchema, bool]]],
    done: Collection[str] = (),
    *,
    strict: bool = False,
) -> frozenset[str]:
    """Raise a `WorkflowError` with every task whose tool does not exist or does not accept its arguments.

    Return the tools that can safely be called twice. Tasks that are `done` are not checked. With `strict`, an argument that a tool does not
    declare is wrong too, unless the tool accepts any.
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
            listed = await asyncio.to_thread(_problems, task, fixed, found, strict=strict)
            problems += ((f"tasks[{at}].{path}", message) for path, message in listed)
    if problems and len(down) == len(problems):
        # The workflow itself may be fine: its server is down.
        raise down[0]
    if problems:
        raise WorkflowError(problems, f"The workflow {net.id!r} cannot be run. Nothing was called.")
    return frozenset(repeatable)


def _problems(
    task: Task, fixed: Mapping[str, Any], schema: ToolSchema, *, strict: bool
) -> list[tuple[str, str]]:
    value: dict[str, Any] = {}
    later: set[str] = set()
    """Arguments that are only known during the run."""
    for key, one in (task.arguments or {}).items():
        try:
            value[key] = _filled(one, fixed)
        except LookupError:
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


def _filled(value: Any, fixed: Mapping[str, Any]) -> Any:
    """Return an argument with references resolved; a `LookupError` if one is only known during the run."""
    path = reference(value)
    if path is not None:
        found: Any = fixed
        for step in path:
            if isinstance(found, list) and step.isdigit():
                found = found[int(step)]
            elif isinstance(found, Mapping):
                found = found[step]
            else:
                raise LookupError(step)
        return found
    if is_literal(value):
        return value["value"]
    if isinstance(value, dict):
        return {key: _filled(one, fixed) for key, one in value.items()}
    return [_filled(one, fixed) for one in value] if isinstance(value, list | tuple) else value
