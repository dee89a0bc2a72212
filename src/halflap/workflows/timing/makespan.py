"""How long a case takes, and what it costs, by expectation: exact for what is made of blocks, by cases played out otherwise.

A choice is by the probabilities of its flows, or all alike where none are said; a loop is left with the probability of the
flow out of it. Side by side, the longest counts: not the longest by its mean, but the mean of the longest. Where
branches share a resource, all cases of their block are played out by the clock; if there are too many, some by chance,
always the same.
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

__all__ = ["SAMPLES", "Time", "Timing"]

SAMPLES = 400
SEED = 0
_MOST_CASES = 64
_NEARLY_ALWAYS = 1 - 1e-6


@dataclass(frozen=True, slots=True)
class Time:
    """How long something takes by expectation."""

    value: float | None
    """None where it is not known, or there is no end."""
    method: Literal["exact", "simulated"] = "exact"
    problem: str | None = None


class Timing:
    """Times of pieces; what was found once is not looked for again."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
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
        except EndlessError:
            return Time(None, problem="A loop in it is never left.")
        return Time(value, "simulated" if piece in self._played else "exact")

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
                return all_cases(self.facts, piece, _MOST_CASES) or self._some(piece)
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
        return some_cases(self.facts, piece, SAMPLES, SEED)

    def _as(self, piece: Piece, *parts: Piece) -> None:
        """Remember of a whole that it was found by cases, if a part was."""
        if not self._played.isdisjoint(parts):
            self._played.add(piece)

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
            found = self._cost[piece] = self._found_cost(piece)
        return found

    def _found_cost(self, piece: Piece) -> float:
        if isinstance(piece, Step):
            return self.facts.cost(piece.node)
        if isinstance(piece, Series):
            return sum(self.cost(part) for part in piece.parts)
        if isinstance(piece, Branching):
            if piece.kind == "xor":
                done = shares([way.weight for way in piece.ways])
            elif piece.kind == "and":
                done = [1.0] * len(piece.ways)
            else:
                done = chances_of_ways(piece)
                none = 1.0
                for p in done:
                    none *= 1 - p
                done = [p / (1 - none) for p in done]
            return sum(p * self.cost(way.piece) for p, way in zip(done, piece.ways, strict=True))
        back = _back(piece)
        return (self.cost(piece.body) + back * self.cost(piece.again.piece)) / (1 - back)

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


def _back(piece: Loop) -> float:
    """Give how likely the way back is taken."""
    back = shares([piece.again.weight, piece.leave_weight])[0]
    if back > _NEARLY_ALWAYS:
        raise EndlessError
    return back
