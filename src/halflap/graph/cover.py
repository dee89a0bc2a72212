"""The cheapest choice of tools that supply together all that one tool needs: each is paid once, however much it supplies."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Chosen", "Cover"]

_MOST_STATES = 4_096
"""What up to twelve units can be supplied in part; beyond that, the cheapest of them are gone on from."""


class Chosen(NamedTuple):
    """A tool that was chosen, the units (by number) that it supplies, and who was chosen before."""

    source: str
    units: int
    before: Chosen | None


class Cover:
    """Grows as tools become available, the cheaper ones first; never dearer than the best choice among them."""

    def __init__(self, size: int, missing: Sequence[float] | None = None) -> None:
        """`missing`: what it costs to leave each unit open, if that is possible."""
        self._full = (1 << size) - 1
        self._missing = missing
        self._states: dict[int, tuple[float, Chosen | None]] = {0: (0.0, None)}
        self._seen: list[dict[int, float]] = []

    def add(self, source: str, cost: float, units: Sequence[tuple[int, float]]) -> bool:
        """Take a tool into account: what it costs itself, and for each unit what it costs to take it from there.

        Says whether it can be of use: not if another, no dearer, supplies the same at no more.
        """
        if self._full == 1:
            return self._add_only(source, cost + units[0][1])
        prices = {1 << at: price for at, price in units}
        if any(all(one.get(bit, price + 1) <= price for bit, price in prices.items()) for one in self._seen):
            return False
        self._seen.append(prices)
        states = self._states
        with_it = {mask: (sum_ + cost, 0, before) for mask, (sum_, before) in states.items()}
        for bit, price in prices.items():
            for mask, (sum_, units_, before) in list(with_it.items()):
                if not mask & bit:
                    grown = mask | bit
                    known = with_it.get(grown)
                    if known is None or sum_ + price < known[0]:
                        with_it[grown] = (sum_ + price, units_ | bit, before)
        for mask, (sum_, units_, before) in with_it.items():
            if units_ and (mask not in states or sum_ < states[mask][0]):
                states[mask] = (sum_, Chosen(source, units_, before))
        if len(states) > _MOST_STATES:
            self._cut()
        return True

    def _add_only(self, source: str, cost: float) -> bool:
        """Take a tool into account where there is one unit: who is cheapest has it."""
        known = self._states.get(1)
        if known is not None and known[0] <= cost:
            return False
        self._states[1] = (cost, Chosen(source, 1, None))
        return True

    def best(self) -> tuple[float, Chosen | None, int] | None:
        """Give the cheapest choice, who is in it, and which units nobody supplies; None where some are and may not be."""
        if self._missing is None:
            found = self._states.get(self._full)
            return None if found is None else (*found, 0)
        return min(
            (
                (sum_ + self._left_open(mask), chosen, self._full & ~mask)
                for mask, (sum_, chosen) in self._states.items()
            ),
            key=lambda one: (one[0], one[2]),
        )

    def _left_open(self, mask: int) -> float:
        return sum(price for at, price in enumerate(self._missing or ()) if not mask >> at & 1)

    def _cut(self) -> None:
        kept = sorted(self._states.items(), key=lambda one: (one[1][0] - one[0].bit_count() * 10, one[0]))
        self._states = dict(kept[:_MOST_STATES]) | {0: (0.0, None)}
