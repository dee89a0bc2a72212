"""Of a workflow that is not made of blocks, the gates that are in none: the circles among them, and what ways out of them begin with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.workflows.pieces.piece import Branching, Loop, Series, Step, steps_of
from halflap.workflows.timing.playing import shares

if TYPE_CHECKING:
    from halflap.workflows.net import Net
    from halflap.workflows.pieces.piece import Layout, Link, Piece

__all__ = ["Circle", "beginnings", "circles"]


@dataclass(frozen=True, slots=True)
class Circle:
    """Gates that are in no block and from each of which a way leads to each other; what is done between them."""

    steps: frozenset[str]
    left: bool
    """Whether from everywhere in it a choice can be reached that leads out, by flows that are not of probability 0."""
    splits: tuple[str, ...]
    """Who chooses in it whether it is left."""
    out: float
    """How likely a way out is at the most, where one of them chooses."""


def circles(layout: Layout) -> list[Circle]:
    """Find the circles of the gates that are in no block."""
    out = _out(layout)
    found = []
    for inside in _connected(layout, out):
        links = [link for at in inside for link in out[at] if link.target in inside]
        if not links:
            continue
        leaving = {at: _leaving(layout, out[at], at, inside) for at in inside}
        fine = {at for at, likely in leaving.items() if likely > 0}
        waiting = sorted(fine)
        while waiting:
            target = waiting.pop()
            for link in links:
                if link.target == target and link.source not in fine and _possible(layout, out, link):
                    fine.add(link.source)
                    waiting.append(link.source)
        splits = [at for at in sorted(inside) if any(link.target not in inside for link in out[at])]
        found.append(
            Circle(
                frozenset(step for link in links for step in steps_of(link.way.piece)),
                fine == inside,
                tuple(dict.fromkeys(layout.corners[at].node for at in splits)),
                max(leaving.values()),
            )
        )
    return found


def _out(layout: Layout) -> list[list[Link]]:
    out: list[list[Link]] = [[] for _ in layout.corners]
    for link in layout.links:
        out[link.source].append(link)
    return out


def _chooses(layout: Layout, at: int) -> bool:
    corner = layout.corners[at]
    return not corner.joins and corner.kind != "and"


def _leaving(layout: Layout, links: list[Link], at: int, inside: set[int]) -> float:
    """Give how likely a choice leads out of a circle."""
    if not _chooses(layout, at):
        return 0.0
    chances = shares([link.way.weight for link in links])
    return sum(p for link, p in zip(links, chances, strict=True) if link.target not in inside)


def _possible(layout: Layout, out: list[list[Link]], link: Link) -> bool:
    if not _chooses(layout, link.source):
        return True
    weights = [one.way.weight for one in out[link.source]]
    return link.way.weight > 0 or not any(weights)


def _connected(layout: Layout, out: list[list[Link]]) -> list[set[int]]:
    """Give the strongly connected components of the gates: by when each is left in one walk, then back from the last."""
    order: list[int] = []
    seen: set[int] = set()
    walk = [(start, False) for start in range(len(layout.corners))]
    while walk:
        at, done = walk.pop()
        if done:
            order.append(at)
        elif at not in seen:
            seen.add(at)
            walk.append((at, True))
            walk.extend((link.target, False) for link in out[at])
    back: list[set[int]] = [set() for _ in layout.corners]
    for link in layout.links:
        back[link.target].add(link.source)
    found: list[set[int]] = []
    taken: set[int] = set()
    for start in reversed(order):
        one = {start} - taken
        waiting = list(one)
        while waiting:
            new = back[waiting.pop()] - taken - one
            one |= new
            waiting += new
        taken |= one
        if one:
            found.append(one)
    return found


def beginnings(net: Net, layout: Layout, links: list[Link]) -> list[set[str | None]]:
    """Give for each of these ways the labels that come first on it, by its flows; None for the end of the case."""
    out = _out(layout)
    found: list[set[str | None]] = []
    for link in links:
        labels: set[str | None] = set()
        waiting, seen = [link], {id(link)}
        while waiting:
            one = waiting.pop()
            first, through = _first(net, one.way.piece)
            labels |= first
            if through and not out[one.target]:
                labels.add(None)
            elif through:
                waiting += [after for after in out[one.target] if id(after) not in seen]
                seen |= {id(after) for after in out[one.target]}
        found.append(labels)
    return found


def _first(net: Net, piece: Piece) -> tuple[set[str | None], bool]:
    """Give the labels that a piece can begin with, and whether it can be gone through with nothing to be seen."""
    if isinstance(piece, Step):
        task = net.tasks.get(piece.node)
        return (set(), True) if task is None or task.label is None else ({task.label}, False)
    found: set[str | None] = set()
    if isinstance(piece, Branching):
        inner = [_first(net, way.piece) for way in piece.ways]
        through = [one[1] for one in inner]
        return found.union(*(one[0] for one in inner)), any(through) if piece.kind == "xor" else all(through)
    parts = piece.parts if isinstance(piece, Series) else (piece.body,)
    for part in parts:
        first, through_it = _first(net, part)
        found |= first
        if not through_it:
            return found, False
    if isinstance(piece, Loop):
        found |= _first(net, piece.again.piece)[0]
    return found, True
