"""Whether the tools of a workflow exist and accept the arguments of its tasks, as far as that is known before the run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
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
    known, repeatable = await _known(net, look_up)
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
            problems += await asyncio.to_thread(_problems, f"tasks[{at}]", task, fixed, found, strict=strict)
    if problems and len(down) == len(problems):
        # The workflow itself may be fine: its server is down.
        raise down[0]
    if problems:
        raise WorkflowError(problems, f"The workflow {net.id!r} cannot be run. Nothing was called.")
    return repeatable


async def _known(
    net: Net, look_up: Callable[[str], Awaitable[tuple[ToolSchema, bool]]]
) -> tuple[dict[str, ToolSchema | HalflapError], frozenset[str]]:
    """Look up every tool, also those of tasks that are done, which may be done again."""
    known: dict[str, ToolSchema | HalflapError] = {}
    repeatable: set[str] = set()
    for tool in dict.fromkeys(task.tool for task in net.tasks.values() if task.tool is not None):
        try:
            known[tool], again = await look_up(tool)
        except HalflapError as error:
            known[tool] = error
        else:
            repeatable |= {tool} if again else set()
    return known, frozenset(repeatable)


def _problems(
    path: str, task: Task, fixed: Mapping[str, Any], schema: ToolSchema, *, strict: bool
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
    found = [one for one in schema.validate_arguments(value) if not _concerns(one, later)]
    reported = {one.path for one in found}
    if strict and make_stub(schema).closed:
        names = {one.name for one in schema.parameters}
        found += [
            ArgumentProblem(path_of([key]), "There is no such argument", "", "unknown")
            for key in value
            if key not in names and path_of([key]) not in reported
        ]
    if all(one.what == "more" for one in found):
        return []
    called = f"'{task.id}' calls {schema.format_compact()}"
    return [(_at(path, one.path), f"{_message(one)} {called}") for one in found]


def _message(problem: ArgumentProblem) -> str:
    if problem.what == "missing":
        return f"It is missing; expected {problem.expected}."
    if problem.what in {"unknown", "more"}:
        return f"{problem.expected}."
    return f"Expected {problem.expected}, received {problem.received}."


def _at(path: str, inner: str) -> str:
    if not inner:
        return f"{path}.arguments"
    return f"{path}.arguments{inner}" if inner.startswith("[") else f"{path}.arguments.{inner}"


def _filled(value: Any, fixed: Mapping[str, Any]) -> Any:
    """Return an argument with references resolved; a `LookupError` if one is only known during the run."""
    path = reference(value)
    if path is not None:
        found: Any = fixed
        for step in path:
            if isinstance(found, list) and step.isdigit():
                found = found[int(step)]
            elif isinstance(found, Mapping) and step in found:
                found = found[step]
            else:
                raise LookupError(step)
        return found
    if is_literal(value):
        return value["value"]
    if isinstance(value, dict):
        return {key: _filled(one, fixed) for key, one in value.items()}
    return [_filled(one, fixed) for one in value] if isinstance(value, list | tuple) else value


def _concerns(problem: ArgumentProblem, later: set[str]) -> bool:
    """Return whether a problem may come from an argument that is not known yet: it is in it, or about the whole."""
    inside = any(problem.path == one or problem.path.startswith((f"{one}.", f"{one}[")) for one in later)
    return (inside and problem.what != "unknown") or (
        not problem.path and bool(later) and problem.what == "wrong"
    )
