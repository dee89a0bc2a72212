"""What is known of the tasks of a workflow, for whoever counts time or changes the order: time, cost, data, and what has to stay.

What is not said is never to one's advantage: a task whose data is not known depends on everything; a task whose
duration is not known takes 1, unless it is silent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError
from halflap.workflows.dependence import depend
from halflap.workflows.pieces.piece import Branching, Loop, Series, Step, Way, steps_of
from halflap.workflows.predicates import names, parse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from halflap.workflows.net import Net, Task
    from halflap.workflows.pieces.piece import Piece

__all__ = ["UNKNOWN", "Data", "Facts"]

_OF_TASK = {"timer", "minimum", "maximum", "threshold", "creationMode", "miDataInput", "miDataOutput"}
"""What may be kept of a task and has to do with when, or how often, it is done."""
_OF_ALL = {"removesTokens", "removesTokensFromFlow", "@joins", "@splits"}
"""What may be kept and has to do with other parts of the workflow, too."""


@dataclass(frozen=True, slots=True)
class Data:
    """What is read and written; None for what is not known."""

    reads: frozenset[str] | None = frozenset()
    writes: frozenset[str] | None = frozenset()

    def __or__(self, other: Data) -> Data:
        return Data(
            None if self.reads is None or other.reads is None else self.reads | other.reads,
            None if self.writes is None or other.writes is None else self.writes | other.writes,
        )


UNKNOWN = Data(None, None)
_NONE = Data()


class Facts:
    """The tasks of one workflow, by their ids; all that is made from it has no other tasks that do anything."""

    def __init__(self, net: Net, fixed: Iterable[str] = (), ordered: Iterable[tuple[str, str]] = ()) -> None:
        """Begin; `fixed` tasks stay where they are, and of each pair of `ordered` the first stays before the second."""
        self.net = net
        kept = [one for one in net.kept if one.name in _OF_TASK]
        self.fixed = frozenset(fixed)
        self.held = self.fixed | {one.at for one in kept}
        """Tasks that stay where they are."""
        self.named = frozenset(task for rule in net.rules for task in rule.tasks)
        """Tasks that a rule names: they can't go."""
        self.ties = frozenset(ordered) | {
            (rule.tasks[0], rule.tasks[1]) for rule in net.rules if rule.kind in {"precedence", "response"}
        }
        self._tied = frozenset(task for pair in self.ties for task in pair)
        self._data: dict[Piece, Data] = {}
        self._steps: dict[Piece, frozenset[str]] = {}
        self._numbers: dict[Piece, int] = {}
        self._pieces: list[Piece] = []
        self._depend: dict[int, bool] = {}

    @property
    def untouchable(self) -> str | None:
        """Why nothing of the workflow may be changed, if so."""
        found = sorted({one.name for one in self.net.kept if one.name in _OF_ALL})
        if not found:
            return None
        return f"It has {', '.join(found)}, which this model can't follow; what would become of that is not known."

    def duration(self, node: str) -> float:
        task = self.net.tasks.get(node)
        if task is None:
            return 0.0
        if task.duration is None:
            return 0.0 if task.label is None else 1.0
        return float(task.duration)

    def cost(self, node: str) -> float:
        task = self.net.tasks.get(node)
        return 0.0 if task is None or task.cost is None else float(task.cost)

    def resource(self, node: str) -> str | None:
        task = self.net.tasks.get(node)
        return None if task is None else task.resource

    def routes(self, node: str) -> bool:
        """Tell whether a step does nothing: a condition, or a silent task that is there for its gates alone."""
        task = self.net.tasks.get(node)
        return task is None or (
            task.label is None
            and not task.duration
            and not task.cost
            and not task.writes
            and task.tool is None
            and task.resource is None
            and node not in self.held
            and node not in self.named
        )

    def removable(self, node: str) -> bool:
        """Tell whether nothing is lost with a step that does nothing; what it reads is what a choice depends on."""
        task = self.net.tasks.get(node)
        return self.routes(node) and node not in self.held and (task is None or not task.reads)

    def droppable(self, node: str) -> bool:
        """Tell whether a task may go at all: nobody asked for it to stay."""
        return node not in self.held and node not in self.named

    def steps(self, piece: Piece) -> frozenset[str]:
        """Give the tasks and conditions of a piece."""
        found = self._steps.get(piece)
        if found is None:
            found = self._steps[piece] = frozenset(steps_of(piece))
        return found

    def data(self, piece: Piece) -> Data:
        """Give what a piece reads and writes, choices included."""
        found = self._data.get(piece)
        if found is None:
            found = self._data[piece] = self._found_data(piece)
        return found

    def number(self, piece: Piece) -> int:
        """Give a piece a number, by which pairs are remembered: pieces are slow to compare."""
        found = self._numbers.get(piece)
        if found is None:
            found = self._numbers[piece] = len(self._pieces)
            self._pieces.append(piece)
        return found

    def depend(self, one: Piece, other: Piece) -> bool:
        """Tell whether the order of two pieces matters, by data or because it was asked for."""
        return self.numbers_depend(self.number(one), self.number(other))

    def numbers_depend(self, one: int, other: int) -> bool:
        """Tell the same of two pieces by their numbers."""
        key = one << 32 | other
        found = self._depend.get(key)
        if found is None:
            mine, yours = self._pieces[one], self._pieces[other]
            found = depend(self.data(mine), self.data(yours)) or self._are_tied(mine, yours)
            self._depend[key] = found
        return found

    def tied(self, piece: Piece) -> frozenset[str]:
        """Give the tasks of a piece that have to stay before or after others."""
        return self.steps(piece) & self._tied

    def _are_tied(self, one: Piece, other: Piece) -> bool:
        mine, yours = self.tied(one), self.tied(other)
        return any((a, b) in self.ties or (b, a) in self.ties for a in mine for b in yours)

    def _found_data(self, piece: Piece) -> Data:
        if isinstance(piece, Step):
            return self._of_task(piece.node)
        found = _NONE
        if isinstance(piece, Series):
            for part in piece.parts:
                found |= self.data(part)
        elif isinstance(piece, Branching):
            for way in piece.ways:
                found |= self.data(way.piece)
            if piece.kind != "and":
                found |= self.choice(piece.split, piece.ways)
        else:
            found = self.data(piece.body) | self.data(piece.again.piece)
            found |= self.choice(piece.split, (piece.again, Way(Series(()), said=piece.leave)))
        return found

    def _of_task(self, node: str) -> Data:
        task = self.net.tasks.get(node)
        if task is None:
            return _NONE
        if node in self.held:
            return UNKNOWN
        if self.routes(node):
            return Data(task.reads or frozenset())
        return Data(task.reads, task.writes)

    def choice(self, split: str | None, ways: Iterable[Way]) -> Data:
        """Give what is read to choose a way: the names in the predicates, or what the task reads that chooses."""
        task = self.net.tasks.get(split or "")
        listed = list(_all_ways(split, ways))
        without = [way for way in listed if way.said.predicate is None]
        # The one that is taken if no other is needs no predicate.
        if len(without) <= 1 and len(listed) > 1:
            try:
                read = [names(parse(way.said.predicate)) for way in listed if way.said.predicate is not None]
            except WorkflowError:
                return UNKNOWN
            return Data(frozenset(name[0] for one in read for name in one))
        return UNKNOWN if task is None or not self._tells(task) else _NONE

    @staticmethod
    def _tells(task: Task) -> bool:
        """Tell whether a task says what it chooses by."""
        return task.reads is not None and (task.label is None or task.writes is not None)


def _all_ways(split: str | None, ways: Iterable[Way]) -> Iterable[Way]:
    """Give the ways of a gate; where some of them are a block of their own at the same gate, those."""
    for way in ways:
        inner = way.piece
        if isinstance(inner, Branching) and inner.split == split and inner.kind != "and":
            yield from _all_ways(split, inner.ways)
        elif isinstance(inner, Loop) and inner.split == split:
            yield inner.again
            yield way
        else:
            yield way
