"""The cheapest choice of tools that supply together all that one tool needs: each is paid once, however much it supplies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Choice", "Chosen", "Cover", "cover_of"]

_EXACT = 8
"""So many units have 256 parts that can be supplied so far: all are kept in mind."""


class Chosen(NamedTuple):
    """A tool that was chosen, the units (as bits) that it supplies, and who was chosen before."""

    source: str
    units: int
    before: Chosen | None


class Choice(NamedTuple):
    """A choice of tools: what it costs, who is in it, and which units (as bits) nobody supplies."""

    cost: float
    chosen: Chosen | None
    missing: int


class Cover(Protocol):
    """Grows as tools become available."""

    def add(self, source: str, cost: float, units: Sequence[tuple[int, float]]) -> Choice | None:
        """Take a tool into account: what it costs itself, and for each unit what it costs to take it from there.

        Gives the best choice if that may be another now.
        """
        ...


def cover_of(size: int, missing: Sequence[float] | None = None) -> Cover:
    """Give what covers so many units; `missing` is what it costs to leave each of them open, if that is possible.

    Of up to eight units the choice is the cheapest that there is. Of more, it is one that no single tool makes
    cheaper: to find the cheapest would take longer than anybody waits.
    """
    if size == 1:
        return _One(missing)
    return _Exact(size, missing) if size <= _EXACT else _Near(size, missing)


class _One:
    """Knows the cheapest: most tools need one thing."""

    def __init__(self, missing: Sequence[float] | None) -> None:
        # What it costs to do without is known before anybody comes.
        self._least = float("inf") if missing is None else missing[0]

    def add(self, source: str, cost: float, units: Sequence[tuple[int, float]]) -> Choice | None:
        whole = cost + units[0][1]
        if whole >= self._least:
            return None
        self._least = whole
        return Choice(whole, Chosen(source, 1, None), 0)


class _Exact:
    """Knows for each set of units the cheapest choice that supplies it."""

    def __init__(self, size: int, missing: Sequence[float] | None) -> None:
        self._full = (1 << size) - 1
        self._missing = missing
        self._states: dict[int, tuple[float, Chosen | None]] = {0: (0.0, None)}
        self._seen: list[tuple[float, dict[int, float]]] = []

    def add(self, source: str, cost: float, units: Sequence[tuple[int, float]]) -> Choice | None:
        prices = {1 << at: price for at, price in units}
        # Of no use, if another that is no dearer supplies the same at no more.
        if any(
            known <= cost and all(one.get(bit, price + 1) <= price for bit, price in prices.items())
            for known, one in self._seen
        ):
            return None
        self._seen.append((cost, prices))
        states = self._states
        with_it = {mask: (sum_ + cost, 0, before) for mask, (sum_, before) in states.items()}
        for bit, price in prices.items():
            for mask, (sum_, taken, before) in list(with_it.items()):
                if not mask & bit:
                    known = with_it.get(mask | bit)
                    if known is None or sum_ + price < known[0]:
                        with_it[mask | bit] = (sum_ + price, taken | bit, before)
        for mask, (sum_, taken, before) in with_it.items():
            if taken and (mask not in states or sum_ < states[mask][0]):
                states[mask] = (sum_, Chosen(source, taken, before))
        return self._best()

    def _best(self) -> Choice | None:
        if self._missing is None:
            found = self._states.get(self._full)
            return None if found is None else Choice(*found, 0)
        return min(
            (
                Choice(sum_ + _left_open(self._missing, self._full & ~mask), chosen, self._full & ~mask)
                for mask, (sum_, chosen) in self._states.items()
            ),
            key=lambda one: (one.cost, one.missing),
        )


class _Near:
    """Keeps one choice, and makes it better by each tool that comes."""

    def __init__(self, size: int, missing: Sequence[float] | None) -> None:
        self._full = (1 << size) - 1
        self._missing = missing
        self._tools: list[tuple[str, float, dict[int, float]]] = []
        self._covered = 0
        self._taken: list[int] = []
        self._cost = float("inf")

    def add(self, source: str, cost: float, units: Sequence[tuple[int, float]]) -> Choice | None:
        self._tools.append((source, cost, dict(units)))
        new = len(self._tools) - 1
        fresh = any(not self._covered >> at & 1 for at, _ in units)
        for at, _ in units:
            self._covered |= 1 << at
        if self._missing is None and self._covered != self._full:
            return None
        # The first time that it works out, and whenever there is something new, from the beginning.
        return self._better(self._greedy() if fresh else [*self._taken, new])

    def _greedy(self) -> list[int]:
        """Take the tool that supplies what is open at the least for each, until nothing is."""
        taken: list[int] = []
        open_ = self._covered
        while open_:
            best, least = -1, float("inf")
            for at, (_, cost, prices) in enumerate(self._tools):
                fitting = [price for unit, price in prices.items() if open_ >> unit & 1]
                if fitting and (cost + sum(fitting)) / len(fitting) < least:
                    best, least = at, (cost + sum(fitting)) / len(fitting)
            taken.append(best)
            for unit in self._tools[best][2]:
                open_ &= ~(1 << unit)
        return taken

    def _better(self, taken: list[int]) -> Choice | None:
        """Do without every tool without which it is cheaper; keep what is found if it is better than what was."""
        cost = self._sum(taken)
        for one in sorted(taken, key=lambda at: -self._tools[at][1]):
            rest = [at for at in taken if at != one]
            without = self._sum(rest)
            if without <= cost:
                taken, cost = rest, without
        if cost >= self._cost:
            return None
        self._taken, self._cost = taken, cost
        return self._choice()

    def _sum(self, taken: Sequence[int]) -> float:
        least: dict[int, float] = {}
        for at in taken:
            for unit, price in self._tools[at][2].items():
                least[unit] = min(price, least.get(unit, price))
        open_ = self._full & ~sum(1 << unit for unit in least)
        if open_ and self._missing is None:
            return float("inf")
        return (
            sum(self._tools[at][1] for at in taken)
            + sum(least.values())
            + _left_open(self._missing or (), open_)
        )

    def _choice(self) -> Choice:
        units: dict[int, int] = {}
        open_ = 0
        for unit in range(self._full.bit_length()):
            fitting = [at for at in self._taken if unit in self._tools[at][2]]
            if fitting:
                best = min(fitting, key=lambda at: self._tools[at][2][unit])
                units[best] = units.get(best, 0) | 1 << unit
            else:
                open_ |= 1 << unit
        chosen: Chosen | None = None
        for at, bits in sorted(units.items()):
            chosen = Chosen(self._tools[at][0], bits, chosen)
        return Choice(self._cost, chosen, open_)


def _left_open(prices: Sequence[float], units: int) -> float:
    return sum(price for at, price in enumerate(prices) if units >> at & 1)
