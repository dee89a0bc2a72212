"""What a tool gains from the best tool of its server: a task that needs one mostly needs its neighbours too."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Neighbours"]

_SHARE = 0.5


class Neighbours:
    """Which tools are of one server; tools are known by their numbers."""

    def __init__(self, servers: Sequence[str]) -> None:
        members: dict[str, list[int]] = {}
        for number, server in enumerate(servers):
            members.setdefault(server, []).append(number)
        self._members = list(members.values())
        self._arrays: tuple[Any, Any, Any] | None = None

    def best(self, covered: Sequence[float], limit: int) -> dict[int, float]:
        """Give how well the best `limit` fit, of those that fit at all; more where some are equally good."""
        tops = [max(_of(covered, numbers)) for numbers in self._members]
        # The best of each server has its own and the share of it: so much at least the last of them all has.
        leaders = nlargest(limit, tops)
        least = (1 + _SHARE) * leaders[-1] if len(leaders) == limit else 0.0
        least *= 1 - 1e-9  # sums of such numbers are not exact
        found: dict[int, float] = {}
        for numbers, top in zip(self._members, tops, strict=True):
            if top and (1 + _SHARE) * top >= least:
                share = _SHARE * top
                for number, fit in zip(numbers, _of(covered, numbers), strict=True):
                    if fit and fit + share >= least:
                        found[number] = fit + share
        return found

    def all(self, covered: Sequence[float], numpy: Any) -> Any:
        """Give how well all of them fit, as an array."""
        if self._arrays is None:
            sizes = numpy.array([len(numbers) for numbers in self._members])
            order = numpy.concatenate(self._members)
            self._arrays = order, sizes, numpy.cumsum(sizes) - sizes
        order, sizes, starts = self._arrays
        own = numpy.array(covered)
        tops = numpy.empty_like(own)
        tops[order] = numpy.repeat(numpy.maximum.reduceat(own[order], starts), sizes)
        return numpy.where(own > 0, own + _SHARE * tops, 0.0)


def _of(covered: Sequence[float], numbers: Sequence[int]) -> Sequence[float]:
    """Give those of these tools; mostly they stand together, because names begin with the server's."""
    first, last = numbers[0], numbers[-1]
    if last - first + 1 == len(numbers):
        return covered[first : last + 1]
    return [covered[number] for number in numbers]
