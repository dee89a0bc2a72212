"""Paths into JSON values: keys, every item of an array, every value or every key of a map."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, NamedTuple


class Step(NamedTuple):
    """One step into a value."""

    kind: Literal["key", "each", "value", "name"]
    key: str = ""


EACH = Step("each")
"""To every item of an array."""
VALUE = Step("value")
"""To every value of a map."""
NAME = Step("name")
"""To every key of a map; always the last step."""

Path = tuple[Step, ...]


@lru_cache(maxsize=1 << 14)
def key(name: str) -> Step:
    return Step("key", name)


def path_text(path: Path) -> str:
    """Write a path for people: `customers[].customer_id`, `accounts.{key}`; the value itself is `$`."""
    text = ""
    for step in path:
        if step.kind == "each":
            text += "[]"
        elif step.kind == "key" and not step.key.isidentifier():
            text += f"[{step.key!r}]"
        else:
            part = {"value": "{}", "name": "{key}"}.get(step.kind, step.key)
            text += f".{part}" if text else part
    return text or "$"


def many(path: Path) -> int:
    """Count the loops on a path."""
    # The planner asks this very often, and a loop takes half the time of a generator.
    count = 0
    for step in path:
        if step.kind != "key":
            count += 1
    return count


def keys_of(path: Path) -> tuple[str, ...]:
    """Return the keys on a path, without its loops."""
    return tuple([step.key for step in path if step.kind == "key"])


def items_of(path: Path) -> Path:
    """Cut a path after its last loop; empty if it has none."""
    for end in range(len(path), 0, -1):
        if path[end - 1].kind != "key":
            return path[:end]
    return ()


def slot_text(slot: Path) -> str:
    """Name an argument: a parameter by its name, a place inside one by its path."""
    return slot[0].key if len(slot) == 1 else path_text(slot)
