"""A piece is played out by the clock, its choices made by somebody: by chance, or one after the other until all were made."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from halflap.workflows.pieces.piece import Branching, Series, Step
from halflap.workflows.timing.clock import Clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halflap.workflows.pieces.facts import Facts
    from halflap.workflows.pieces.piece import Loop, Piece
    from halflap.workflows.timing.chance import Chances

__all__ = ["ByChance", "Chooser", "all_cases", "chances_of_ways", "played", "shares", "some_cases"]

_Then = Callable[[], None]


class Chooser(Protocol):
    """Somebody who chooses one of several, given how likely each is."""

    def __call__(self, chances: Sequence[float]) -> int: ...


class ByChance:
    """Chooses by chance; the same seed makes the same choices."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 (no secret)

    def __call__(self, chances: Sequence[float]) -> int:
        at = self._random.random()
        for number, chance in enumerate(chances):
            at -= chance
            if at < 0:
                return number
        return max(number for number, chance in enumerate(chances) if chance > 0)


class _Scripted:
    """Makes the choices of a script, then always the first that is possible; keeps what there was to choose."""

    def __init__(self, script: Sequence[int]) -> None:
        self.script = script
        self.made: list[tuple[int, Sequence[float]]] = []
        self.probability = 1.0

    def __call__(self, chances: Sequence[float]) -> int:
        at = len(self.made)
        chosen = self.script[at] if at < len(self.script) else _next_possible(chances, 0)
        self.made.append((chosen, chances))
        self.probability *= chances[chosen]
        return chosen


def _next_possible(chances: Sequence[float], start: int) -> int:
    return next((at for at in range(start, len(chances)) if chances[at] > 0), len(chances))


def shares(weights: Sequence[float]) -> list[float]:
    """Make probabilities of weights; where all are nothing, all are the same."""
    whole = sum(weights)
    return [weight / whole for weight in weights] if whole > 0 else [1 / len(weights)] * len(weights)


def chances_of_ways(piece: Branching) -> list[float]:
    """Give how likely each way of an or-split is taken, each by itself; one half where nothing is said."""
    found = [0.5 if way.said.probability is None else way.weight for way in piece.ways]
    if any(chance > 0 for chance in found):
        return found
    # At least one is: the one that is taken if no other is.
    default = next((at for at, way in enumerate(piece.ways) if way.said.default), 0)
    return [1.0 if at == default else 0.0 for at in range(len(found))]


def _some(chances: Sequence[float], choose: Chooser) -> list[int]:
    """Choose some of several, at least one."""
    found: list[int] = []
    none = [1.0] * (len(chances) + 1)
    for at in range(len(chances) - 1, -1, -1):
        none[at] = none[at + 1] * (1 - chances[at])
    for at, chance in enumerate(chances):
        likely = chance if found else chance / (1 - none[at]) if none[at] < 1 else 1.0
        if choose([likely, 1 - likely]) == 0:
            found.append(at)
    return found


def played(facts: Facts, piece: Piece, choose: Chooser) -> float:
    """Play a piece out, and give how long it took."""
    player = _Player(Clock(facts), choose)
    player.play(piece, lambda: None)
    return player.clock.run()


class _Player:
    """One case; each part of it says what comes then."""

    def __init__(self, clock: Clock, choose: Chooser) -> None:
        self.clock = clock
        self.choose = choose

    def play(self, one: Piece, then: _Then) -> None:
        if isinstance(one, Step):
            self.clock.do(one.node, then)
        elif isinstance(one, Series):
            self.follow(one.parts, 0, then)
        elif isinstance(one, Branching):
            self.together(one, self.chosen(one), then)
        else:
            loop = one
            self.play(loop.body, lambda: self.decide(loop, then))

    def chosen(self, one: Branching) -> list[int]:
        if one.kind == "xor":
            return [self.choose(shares([way.weight for way in one.ways]))]
        if one.kind == "and":
            return list(range(len(one.ways)))
        return _some(chances_of_ways(one), self.choose)

    def decide(self, loop: Loop, then: _Then) -> None:
        # To leave is the first choice: who always makes the first comes to an end.
        if self.choose(shares([loop.leave_weight, loop.again.weight])) == 0:
            self.clock.soon(then)
        else:
            self.play(loop.again.piece, lambda: self.clock.soon(lambda: self.play(loop, then)))

    def follow(self, parts: Sequence[Piece], at: int, then: _Then) -> None:
        if at == len(parts):
            self.clock.soon(then)
        else:
            self.play(parts[at], lambda: self.follow(parts, at + 1, then))

    def together(self, one: Branching, chosen: list[int], then: _Then) -> None:
        left = len(chosen)

        def ended() -> None:
            nonlocal left
            left -= 1
            if not left:
                self.clock.soon(then)

        for at in chosen:
            self.play(one.ways[at].piece, ended)


def all_cases(facts: Facts, piece: Piece, most: int) -> Chances | None:
    """Play every case, and give the times with their probabilities; None if there are more than `most`."""
    found: dict[float, float] = {}
    script: list[int] | None = []
    for _ in range(most):
        if script is None:
            break
        choose = _Scripted(script)
        time = played(facts, piece, choose)
        found[time] = found.get(time, 0.0) + choose.probability
        script = None
        for at in range(len(choose.made) - 1, -1, -1):
            chosen, chances = choose.made[at]
            other = _next_possible(chances, chosen + 1)
            if other < len(chances):
                script = [one for one, _ in choose.made[:at]] + [other]
                break
    return None if script is not None else tuple(sorted(found.items()))


def some_cases(facts: Facts, piece: Piece, count: int, seed: int) -> Chances:
    """Play so many cases by chance, and give the times, each with its share."""
    choose = ByChance(seed)
    found: dict[float, float] = {}
    for _ in range(count):
        time = played(facts, piece, choose)
        found[time] = found.get(time, 0.0) + 1 / count
    return tuple(sorted(found.items()))
