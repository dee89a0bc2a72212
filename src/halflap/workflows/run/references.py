"""Where the arguments of a task come from: values, and references to what is known by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from halflap.workflows.model.net import Net

__all__ = ["DEEPEST", "is_literal", "reference", "references", "resolved", "sources", "too_deep"]

DEEPEST = 50
"""How many levels an argument may have."""


def reference(value: Any) -> tuple[str, ...] | None:
    """Return the path of `{"from": "task.key"}`; None for anything else."""
    if isinstance(value, dict) and set(value) == {"from"} and isinstance(value["from"], str):
        return tuple(value["from"].split("."))
    return None


def resolved(path: tuple[str, ...], names: Container[str]) -> tuple[str, ...]:
    """Return a path with its leading name as one step: the longest that exists, since names may have dots."""
    for length in range(len(path), 1, -1):
        name = ".".join(path[:length])
        if name in names:
            return (name, *path[length:])
    return path


def is_literal(value: Any) -> bool:
    """Return whether it is `{"value": …}`, which is taken as it is, whatever it looks like."""
    return isinstance(value, dict) and set(value) == {"value"}


def too_deep(value: Any) -> bool:
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
    """Yield the references anywhere in a value, with their places."""
    found = reference(value)
    if found is not None:
        yield path, found
    elif isinstance(value, dict) and not is_literal(value):
        for key, one in value.items():
            yield from references(one, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for at, one in enumerate(value):
            yield from references(one, f"{path}[{at}]")


def sources(net: Net) -> set[str]:
    """Return the names that tasks make known: their ids, and what they write."""
    tools = [task for task in net.tasks.values() if task.tool is not None]
    return {name for task in tools for name in (task.id, *(task.writes or ()))}
