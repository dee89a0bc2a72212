"""Where the arguments of a task come from: values, and references to what is known by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping

    from halflap.workflows.net import Net

__all__ = ["DEEPEST", "reference", "references", "resolved", "sources", "too_deep", "wrapped"]

DEEPEST = 50
"""How many levels an argument may have."""
_FROM, _VALUE = "from", "value"


def reference(value: Any) -> tuple[str, ...] | None:
    """Give the path of `{"from": "task.key"}`; None for anything else."""
    if isinstance(value, dict) and set(value) == {_FROM} and isinstance(value[_FROM], str):
        return tuple(value[_FROM].split("."))
    return None


def resolved(path: tuple[str, ...], names: Container[str]) -> tuple[str, ...]:
    """Give a path with the name that it begins with as one step: the longest that there is, since a name may have dots."""
    for length in range(len(path), 1, -1):
        name = ".".join(path[:length])
        if name in names:
            return (name, *path[length:])
    return path


def wrapped(value: Any) -> bool:
    """Say whether it is `{"value": …}`, which stands for what is in it, whatever that looks like."""
    return isinstance(value, dict) and set(value) == {_VALUE}


def too_deep(value: Any) -> bool:
    """Say whether a value is nested deeper than a program can say it."""
    level, left = 0, [value]
    while left and level <= DEEPEST:
        level += 1
        left = [
            inner
            for one in left
            if isinstance(one, dict | list | tuple)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return bool(left)


def references(value: Any, path: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give the references anywhere in a value, with their places."""
    found = reference(value)
    if found is not None:
        yield path, found
    elif isinstance(value, dict) and not wrapped(value):
        for key, one in value.items():
            yield from references(one, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for at, one in enumerate(value):
            yield from references(one, f"{path}[{at}]")


def sources(net: Net) -> Mapping[str, frozenset[str]]:
    """Give who makes what is known by each name: a task by its id, and what a task writes."""
    found: dict[str, set[str]] = {}
    for task in net.tasks.values():
        if task.tool is not None:
            found.setdefault(task.id, set()).add(task.id)
            for name in task.writes or ():
                found.setdefault(name, set()).add(task.id)
    return {name: frozenset(tasks) for name, tasks in found.items()}
