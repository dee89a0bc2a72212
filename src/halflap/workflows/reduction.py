"""The gates of a workflow are reduced until one arrow is left, or none fits; what the arrows carry is up to the reader.

Every node is taken apart into the gate of its join, what it does, and the gate of its split; a condition has two gates
of kind xor. Then, as long as there is one: a gate with one way in and one way out is passed through; several ways
from a split to a join of its kind are one block; a way from a xor-split back to the xor-join that leads to it is a
loop. Each step keeps what the workflow can do. A split of several ways may be taken as several splits of its kind,
one within the other, if they are and or xor; of an or-split all ways have to come together in one or-join at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from halflap.workflows.net import Flow, Gate, Net

__all__ = ["Arrow", "Place", "Reduction"]

Carried = TypeVar("Carried")
"""What an arrow carries: the part of the workflow that is done on the way."""


@dataclass(slots=True, eq=False)
class Place(Generic[Carried]):
    """The gate of a join or of a split, and the arrows that are left at it, by their identity."""

    node: str
    kind: Gate
    joins: bool
    into: dict[int, Arrow[Carried]] = field(default_factory=dict)
    out: dict[int, Arrow[Carried]] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Arrow(Generic[Carried]):
    """A way from one gate to another that is not yet in a block."""

    source: Place[Carried]
    target: Place[Carried]
    carries: Carried


class Reduction(ABC, Generic[Carried]):
    """The arrows that are left, and what may fit next."""

    def __init__(
        self, net: Net, of_node: Callable[[str], Carried], of_flow: Callable[[int, Flow], Carried]
    ) -> None:
        self._between: dict[tuple[int, int], list[Arrow[Carried]]] = {}
        self.places: list[Place[Carried]] = []
        entry: dict[str, Place[Carried]] = {}
        leave: dict[str, Place[Carried]] = {}
        for node in (*net.conditions, *net.tasks):
            task = net.tasks.get(node)
            entry[node] = Place(node, task.join if task else "xor", joins=True)
            leave[node] = Place(node, task.split if task else "xor", joins=False)
            self.places += [entry[node], leave[node]]
            self._add(Arrow(entry[node], leave[node], of_node(node)))
        for rank, flow in enumerate(net.flows):
            self._add(Arrow(leave[flow.source], entry[flow.target], of_flow(rank, flow)))
        self._source, self._sink = entry[net.input], leave[net.output]
        self._waiting = deque(self.places)

    @abstractmethod
    def series(self, before: Carried, after: Carried) -> Carried:
        """Make one of what is done one after the other."""

    @abstractmethod
    def branches(self, split: Place[Carried], join: Place[Carried], ways: Sequence[Carried]) -> Carried:
        """Make one block of several ways from a split to a join of its kind."""

    @abstractmethod
    def loop(self, join: Place[Carried], split: Place[Carried], forth: Carried, back: Carried) -> Carried:
        """Make one block of a body and of what leads back to its beginning; `split` has only the ways that leave it."""

    @property
    def left(self) -> list[Arrow[Carried]]:
        """The arrows that are left."""
        return [arrow for together in self._between.values() for arrow in together]

    @property
    def whole(self) -> Carried | None:
        """What the whole workflow does, if it could be reduced to one arrow."""
        left = self.left
        is_whole = len(left) == 1 and left[0].source is self._source and left[0].target is self._sink
        return left[0].carries if is_whole else None

    def together(self, source: Place[Carried], target: Place[Carried]) -> list[Arrow[Carried]]:
        """Give the arrows from one gate to another."""
        return self._between.get((id(source), id(target)), [])

    def run(self) -> None:
        """Reduce as far as it goes."""
        for together in list(self._between.values()):
            if together:
                self._merge(together[0])
        while self._waiting:
            place = self._waiting.popleft()
            if len(place.into) == len(place.out) == 1:
                self._pass_through(place)

    def _add(self, arrow: Arrow[Carried]) -> None:
        arrow.source.out[id(arrow)] = arrow
        arrow.target.into[id(arrow)] = arrow
        self._between.setdefault((id(arrow.source), id(arrow.target)), []).append(arrow)

    def _remove(self, arrow: Arrow[Carried]) -> None:
        del arrow.source.out[id(arrow)]
        del arrow.target.into[id(arrow)]
        together = self._between[id(arrow.source), id(arrow.target)]
        together.remove(arrow)
        if not together:
            del self._between[id(arrow.source), id(arrow.target)]

    def _pass_through(self, place: Place[Carried]) -> None:
        (before,), (after,) = place.into.values(), place.out.values()
        if before.source is place:
            return
        self._remove(before)
        self._remove(after)
        arrow = Arrow(before.source, after.target, self.series(before.carries, after.carries))
        self._add(arrow)
        self._merge(arrow)

    def _merge(self, arrow: Arrow[Carried]) -> None:
        """Make one block of this arrow and of those that lead the same way, or back."""
        source, target = arrow.source, arrow.target
        together = self.together(source, target)
        complete = len(together) == len(source.out) == len(target.into)
        if len(together) > 1 and source.kind == target.kind and (complete or source.kind != "or"):
            self._make_one(list(together))
        for first in list(self.together(source, target)):
            for back in list(self.together(target, source)):
                self._close_loop(first, back)

    def _make_one(self, together: list[Arrow[Carried]]) -> None:
        source, target = together[0].source, together[0].target
        for arrow in together[1:]:
            self._remove(arrow)
        together[0].carries = self.branches(source, target, [arrow.carries for arrow in together])
        self._waiting.extend((source, target))

    def _close_loop(self, one: Arrow[Carried], other: Arrow[Carried]) -> None:
        for forth, back in ((one, other), (other, one)):
            join, split = forth.source, forth.target
            if (
                join.joins
                and not split.joins
                and join.kind == split.kind == "xor"
                and len(join.out) == len(split.into) == 1
            ):
                self._remove(back)
                forth.carries = self.loop(join, split, forth.carries, back.carries)
                self._waiting.extend((join, split))
                return
