"""The process-structure tree of a workflow: blocks with one way in and one way out, each within another.

Trees may be as deep as a workflow is long, so nothing here or above it calls itself once for each level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["EMPTY", "Block", "BlockKind", "block_text", "depth_of", "inside_out", "tasks_of"]

BlockKind = Literal["task", "empty", "sequence", "and", "xor", "or", "loop"]


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A part of a workflow with one way in and one way out.

    A `loop` has two children: what is done at least once, and what is done between two times of it. `empty` is a way
    with nothing on it. Two blocks are the same if they are one object; `block_text` is for comparing.
    """

    kind: BlockKind
    children: tuple[Block, ...] = ()
    task: str | None = None
    """The id, of a `task`."""


EMPTY = Block("empty")


def inside_out(root: Block) -> Iterator[Block]:
    """Go through a tree, children before their parents and in their order."""
    waiting: list[tuple[Block, bool]] = [(root, False)]
    while waiting:
        block, opened = waiting.pop()
        if opened or not block.children:
            yield block
            continue
        waiting.append((block, True))
        waiting.extend((child, False) for child in reversed(block.children))


def tasks_of(root: Block) -> list[str]:
    """Give the ids of a tree's tasks, from left to right."""
    return [block.task for block in inside_out(root) if block.task is not None]


def depth_of(root: Block) -> int:
    """Tell how many blocks stand within one another, tasks not counted."""
    deepest = 0
    waiting = [(root, 1)]
    while waiting:
        block, depth = waiting.pop()
        if block.children:
            deepest = max(deepest, depth)
            waiting.extend((child, depth + 1) for child in block.children)
    return deepest


def block_text(root: Block) -> str:
    """Write a tree as text, such as `sequence(a, and(b, c))`."""
    parts: list[str] = []
    waiting: list[Block | str] = [root]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            parts.append(one)
        elif not one.children:
            parts.append("empty" if one.task is None else one.task)
        else:
            parts.append(f"{one.kind}(")
            waiting.append(")")
            for at, child in enumerate(reversed(one.children)):
                if at:
                    waiting.append(", ")
                waiting.append(child)
    return "".join(parts)
