"""How long a case takes, and what it costs, by expectation: exact for what is made of blocks, by cases played out otherwise.

A choice is by the probabilities of its flows, or all alike where none are said; a loop is left with the probability of the
flow out of it. Side by side, the longest counts: not the longest by its mean, but the mean of the longest. Where
branches share a resource, all cases of their block are played out by the clock; if there are too many, some by chance,
always the same. Who asks for thousands of times, as a search does, gets an estimate instead where cases would have to be
played out by chance: the longest mean, or the most that one resource has to do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halflap.workflows.pieces.piece import Branching, Series, Step
from halflap.workflows.timing.chance import (
    TooManyError,
    certain,
    expected,
    latest,
    mixed,
    repeated,
    summed,
)
from halflap.workflows.timing.clock import EndlessError
from halflap.workflows.timing.playing import all_cases, chances_of_ways, shares, some_cases

if TYPE_CHECKING:
    from halflap.workflows.pieces.facts import Facts
    from halflap.workflows.pieces.piece import Loop, Piece
    from halflap.workflows.timing.chance import Chances

__all__ = ["NEARLY_ALWAYS", "SAMPLES", "SEED", "Method", "Time", "Timing"]

SAMPLES = 200
SEED = 0
_MOST_CASES = 64
_FEW_CASES = 4
NEARLY_ALWAYS = 1 - 1e-6
"""A loop that is gone back in more often than this has no end that could be waited for."""

Method = Literal["exact", "simulated", "estimated"]


@dataclass(frozen=True, slots=True)
class Time:
    """How long something takes by expectation."""

    value: float | None
    """None where it is not known, or there is no end."""
    method: Method | None = "exact"
    problem: str | None = None


class Timing:
    """Times of pieces; what was found once is not looked for again."""

    def __init__(self, facts: Facts, *, quick: bool = False) -> None:
        """Begin; a `quick` one plays nothing out by chance, but estimates."""
        self.facts = facts
        self.quick = quick
        self._rough: dict[Piece, float] = {}
        self._load: dict[Piece, dict[str, float]] = {}
        self._expected: dict[Piece, float] = {}
        self._chances: dict[Piece, Chances] = {}
        self._needs: dict[Piece, frozenset[str]] = {}
        self._width: dict[Piece, int] = {}
        self._cost: dict[Piece, float] = {}
        self._played: set[Piece] = set()

    def time(self, piece: Piece) -> Time:
        """Give how long a piece takes, by expectation."""
        try:
            value = self.expected(piece)
        except EndlessError as error:
            return Time(None, None, str(error))
        if piece not in self._played:
            return Time(value)
        return Time(value, "estimated" if self.quick else "simulated")

    def expected(self, piece: Piece) -> float:
        found = self._expected.get(piece)
        if found is None:
            found = self._expected[piece] = self._mean(piece)
        return found

    def _mean(self, piece: Piece) -> float:
        if isinstance(piece, Step):
            return self.facts.duration(piece.node)
        if isinstance(piece, Series):
            found = sum(self.expected(part) for part in piece.parts)
            self._as(piece, *piece.parts)
            return found
        if isinstance(piece, Branching):
            inner = [way.piece for way in piece.ways]
            if piece.kind == "xor":
                chances = shares([way.weight for way in piece.ways])
                found = sum(p * self.expected(one) for p, one in zip(chances, inner, strict=True) if p)
                self._as(piece, *inner)
                return found
            return expected(self.chances(piece))
        back = _back(piece)
        body, again = self.expected(piece.body), self.expected(piece.again.piece)
        self._as(piece, piece.body, piece.again.piece)
        return (body + back * again) / (1 - back)

    def chances(self, piece: Piece) -> Chances:
        """Give all times that a piece can take; those of cases by chance where there are too many."""
        found = self._chances.get(piece)
        if found is None:
            try:
                found = self._all(piece)
            except TooManyError:
                found = self._some(piece)
            self._chances[piece] = found
        return found

    def _all(self, piece: Piece) -> Chances:
        if isinstance(piece, Step):
            return certain(self.facts.duration(piece.node))
        if isinstance(piece, Series):
            found = certain(0.0)
            for part in piece.parts:
                found = summed(found, self.chances(part))
            self._as(piece, *piece.parts)
            return found
        if isinstance(piece, Branching):
            inner = [way.piece for way in piece.ways]
            if piece.kind == "xor":
                chances = shares([way.weight for way in piece.ways])
                self._as(piece, *inner)
                return mixed((p, self.chances(one)) for p, one in zip(chances, inner, strict=True) if p)
            if self.shares_resources(piece):
                most = _FEW_CASES if self.quick else _MOST_CASES
                return all_cases(self.facts, piece, most) or self._some(piece)
            done = [1.0] * len(inner) if piece.kind == "and" else chances_of_ways(piece)
            found = latest([(p, self.chances(one)) for p, one in zip(done, inner, strict=True) if p])
            self._as(piece, *inner)
            return found
        back = _back(piece)
        found = repeated(self.chances(piece.body), self.chances(piece.again.piece), back)
        self._as(piece, piece.body, piece.again.piece)
        return found

    def _some(self, piece: Piece) -> Chances:
        self._played.add(piece)
        if self.quick:
            return certain(self.rough(piece))
        return some_cases(self.facts, piece, SAMPLES, SEED)

    def _as(self, piece: Piece, *parts: Piece) -> None:
        """Remember of a whole that it was found by cases, if a part was."""
        if not self._played.isdisjoint(parts):
            self._played.add(piece)

    def rough(self, piece: Piece) -> float:
        """Estimate how long a piece takes, by means alone: side by side, the longest or what one resource has to do."""
        found = self._rough.get(piece)
        if found is None:
            if isinstance(piece, Step):
                found = self.facts.duration(piece.node)
            elif isinstance(piece, Series):
                found = sum(self.rough(part) for part in piece.parts)
            elif isinstance(piece, Branching):
                inner = [self.rough(way.piece) for way in piece.ways]
                if piece.kind == "xor":
                    found = sum(p * one for p, one in zip(_done(piece), inner, strict=True))
                elif piece.kind == "and":
                    found = max((*inner, *self.load(piece).values()))
                else:
                    by_chance = [
                        (p, certain(t)) for p, t in zip(chances_of_ways(piece), inner, strict=True) if p
                    ]
                    found = max((expected(latest(by_chance)), *self.load(piece).values()))
            else:
                back = _back(piece)
                found = (self.rough(piece.body) + back * self.rough(piece.again.piece)) / (1 - back)
            self._rough[piece] = found
        return found

    def load(self, piece: Piece) -> dict[str, float]:
        """Give how long each resource works on a piece, by expectation."""
        found = self._load.get(piece)
        if found is None:
            found = {}
            for part, times in self._shares(piece):
                for resource, time in self.load(part).items():
                    found[resource] = found.get(resource, 0.0) + times * time
            if isinstance(piece, Step):
                who = self.facts.resource(piece.node)
                found = {} if who is None else {who: self.facts.duration(piece.node)}
            self._load[piece] = found
        return found

    @staticmethod
    def _shares(piece: Piece) -> list[tuple[Piece, float]]:
        """Give the parts of a piece, and how often each is done, by expectation."""
        if isinstance(piece, Step):
            return []
        if isinstance(piece, Series):
            return [(part, 1.0) for part in piece.parts]
        if isinstance(piece, Branching):
            return [(way.piece, p) for way, p in zip(piece.ways, _done(piece), strict=True)]
        back = _back(piece)
        return [(piece.body, 1 / (1 - back)), (piece.again.piece, back / (1 - back))]

    def needs(self, piece: Piece) -> frozenset[str]:
        """Give the resources that a piece needs."""
        found = self._needs.get(piece)
        if found is None:
            resources = (self.facts.resource(node) for node in self.facts.steps(piece))
            found = self._needs[piece] = frozenset(one for one in resources if one is not None)
        return found

    def shares_resources(self, piece: Branching) -> bool:
        """Tell whether two branches need the same resource."""
        seen: set[str] = set()
        for way in piece.ways:
            if not seen.isdisjoint(self.needs(way.piece)):
                return True
            seen |= self.needs(way.piece)
        return False

    def cost(self, piece: Piece) -> float:
        """Give what a piece costs, by expectation; what is not known costs nothing."""
        found = self._cost.get(piece)
        if found is None:
            if isinstance(piece, Step):
                found = self.facts.cost(piece.node)
            else:
                found = sum(times * self.cost(part) for part, times in self._shares(piece))
            self._cost[piece] = found
        return found

    def width(self, piece: Piece) -> int:
        """Tell how many tasks can be under way at once."""
        found = self._width.get(piece)
        if found is None:
            if isinstance(piece, Step):
                found = 0 if self.facts.routes(piece.node) else 1
            elif isinstance(piece, Series):
                found = max((self.width(part) for part in piece.parts), default=0)
            elif isinstance(piece, Branching):
                widths = [self.width(way.piece) for way in piece.ways]
                found = max(widths) if piece.kind == "xor" else sum(widths)
            else:
                found = max(self.width(piece.body), self.width(piece.again.piece))
            self._width[piece] = found
        return found


def _done(piece: Branching) -> list[float]:
    """Give how likely each way of a block is gone."""
    if piece.kind == "xor":
        return shares([way.weight for way in piece.ways])
    if piece.kind == "and":
        return [1.0] * len(piece.ways)
    chances = chances_of_ways(piece)
    none = 1.0
    for p in chances:
        none *= 1 - p
    return [p / (1 - none) for p in chances]


def _back(piece: Loop) -> float:
    """Give how likely the way back is taken."""
    back = shares([piece.again.weight, piece.leave_weight])[0]
    if back > NEARLY_ALWAYS:
        raise EndlessError(piece.split, back)
    return back
