"""Follow values through the calls of a run: which result held a value before it became an argument.

Of a value only a hash is kept, with its place, and only of the latest runs. It is Python's own, whose key each process
draws for itself: good enough for what is never written down.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from halflap.graph.lineage.counts import NO_LINEAGE, Count, Flow, Lineage
from halflap.graph.lineage.values import SURE, Spots, telling

_MOST_VALUES = 20_000
"""Values remembered per run; the oldest are dropped first."""
_MOST_RUNS = 500
_MOST_IN_ALL = 50_000
_MOST_TOOLS = 2_000
_MOST_SOURCES = 3
"""A value that more tools than this return tells nothing about which of them it came from."""
_MOST_PLACES = 12
_LONGEST_PATH = 300
_MOST_FLOWS = 50_000
_MOST_ORDERS = 10_000


_Source = tuple[Any, int, float, str]
"""A place in a result that held a value: the tool, the number of the result in its run, its time, the path."""


class _Value:
    """A value that was in several places of a run, or was an argument."""

    __slots__ = ("is_used", "sources")

    def __init__(self, *sources: _Source, is_used: bool = False) -> None:
        self.sources = list(sources)
        self.is_used = is_used
        """Whether it has been an argument: a tool that returns it later only repeats it."""

    def stands_in(self, source: _Source) -> None:
        """Add a place; of each tool only those in its first result count."""
        for tool, answer, _, path in self.sources:
            if tool == source[0] and (answer != source[1] or path == source[3]):
                return
        if len(self.sources) < _MOST_PLACES or _is_new_server(self.sources, source):
            self.sources.append(source)


def _is_new_server(sources: list[_Source], source: _Source) -> bool:
    """Return whether no place is from this server: one is kept free for it, however many another server fills."""
    server = getattr(source[0], "server", None)
    return server is not None and all(getattr(one[0], "server", None) != server for one in sources)


def _at_home(sources: list[_Source], tool: Hashable) -> list[_Source]:
    """Prefer the sources of the server that takes the value: others may only know or guess it."""
    home = getattr(tool, "server", None)
    if home is None or len(sources) < 2:  # noqa: PLR2004 -- there is nothing to choose from
        return sources
    return [one for one in sources if getattr(one[0], "server", None) == home] or sources


@dataclass(slots=True)
class _Trail:
    """One run."""

    values: dict[int, _Source | _Value] = field(default_factory=dict)
    """By their keyed hashes."""
    flows: set[Flow] = field(default_factory=set)
    """The flows counted for this run."""
    orders: set[Hashable] = field(default_factory=set)
    answers: int = 0


class Trails:
    """Follows any number of runs at a time and counts flows."""

    def __init__(self) -> None:
        self._runs: OrderedDict[Hashable, _Trail] = OrderedDict()
        self._spots: OrderedDict[Hashable, tuple[Spots, Spots]] = OrderedDict()
        self._held = 0
        self._counts: dict[Flow, Count] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    def take(self) -> Lineage:
        """Return the counts and start again from zero; runs are still followed."""
        if not self._counts:
            return NO_LINEAGE
        counts, self._counts = self._counts, {}
        return Lineage(counts)

    def forget(self) -> None:
        """Forget all runs."""
        self._runs.clear()
        self._held = 0

    def see(
        self,
        run: Hashable,
        tool: Hashable,
        arguments: Mapping[str, Any],
        result: Any,
        *,
        began: float,
        ended: float,
        order: Hashable = None,
    ) -> None:
        """Follow a call that has ended; `result` is None where it failed."""
        self.asked(run, tool, arguments, began, order=order)
        self.answered(run, tool, result, ended)

    def asked(
        self,
        run: Hashable,
        tool: Hashable,
        arguments: Mapping[str, Any],
        at: float,
        *,
        order: Hashable = None,
    ) -> None:
        """Follow the arguments of a call. Only results from before it can be their source.

        `order` is the call's number, if it has one: a number that comes again starts another run of that name.
        """
        trail = self._trail(run, order)
        held = len(trail.values)
        for flow in self._arguments(trail, tool, self._of(tool)[0].leaves(arguments), at):
            is_new = flow not in trail.flows
            if is_new and len(trail.flows) < _MOST_FLOWS:
                trail.flows.add(flow)
            if flow in self._counts or len(self._counts) < _MOST_FLOWS:
                known = self._counts.get(flow, Count(0, 0))
                self._counts[flow] = Count(known.times + 1, known.runs + is_new)
        self._make_room(run, trail, held)

    def answered(self, run: Hashable, tool: Hashable, result: Any, at: float) -> None:
        """Follow the result of a call."""
        if result is None:
            return
        trail = self._trail(run, None)
        trail.answers += 1
        held = len(trail.values)
        self._result(trail, tool, self._of(tool)[1].leaves(result), at)
        self._make_room(run, trail, held)

    def _of(self, tool: Hashable) -> tuple[Spots, Spots]:
        """Return the places of a tool's arguments and of its results."""
        known = self._spots.get(tool)
        if known is None:
            known = self._spots[tool] = Spots(), Spots()
            if len(self._spots) > _MOST_TOOLS:
                self._spots.popitem(last=False)
        return known

    def _trail(self, run: Hashable, order: Hashable) -> _Trail:
        trail = self._runs.get(run)
        if trail is not None and order is not None and order in trail.orders:
            self._held -= len(trail.values)
            trail = None
        if trail is None:
            trail = self._runs[run] = _Trail()
        self._runs.move_to_end(run)
        if order is not None and len(trail.orders) < _MOST_ORDERS:
            trail.orders.add(order)
        return trail

    def _make_room(self, run: Hashable, trail: _Trail, held: int) -> None:
        if len(trail.values) > _MOST_VALUES:
            # More than needed, since finding the oldest of a mapping takes long.
            for sealed in list(islice(trail.values, len(trail.values) - _MOST_VALUES // 2)):
                del trail.values[sealed]
        self._held += len(trail.values) - held
        while len(self._runs) > _MOST_RUNS or self._held > _MOST_IN_ALL:
            oldest, other = next(iter(self._runs.items()))
            if oldest == run:
                return
            self._held -= len(other.values)
            del self._runs[oldest]

    def _arguments(
        self, trail: _Trail, tool: Hashable, leaves: list[tuple[str, Any]], began: float
    ) -> set[Flow]:
        """Remember the arguments of a call, and return the flows they show, each once."""
        values = trail.values
        came: list[tuple[str, int, _Source]] = []
        given: list[_Value] = []
        for path, leaf in dict.fromkeys(leaves):
            tells = telling(leaf)
            if not tells or len(path) > _LONGEST_PATH:
                continue
            sealed = _sealed(leaf)
            value = values.get(sealed)
            if not isinstance(value, _Value):
                # A value that is not known came from elsewhere.
                value = values[sealed] = _Value() if value is None else _Value(value)
            given.append(value)
            # A result that came later cannot be its source.
            value.sources = [one for one in value.sources if one[2] <= began]
            sources = _at_home(value.sources, tool)
            if len({one[0] for one in sources}) <= _MOST_SOURCES:
                came += [(path, tells, one) for one in sources]
        for value in given:
            value.is_used = True
        sure = {source[1] for _, tells, source in came if tells == SURE}
        return {
            Flow(source[0], source[3], tool, path)
            for path, tells, source in came
            if tells == SURE or source[1] in sure
        }

    def _result(self, trail: _Trail, tool: Hashable, leaves: list[tuple[str, Any]], ended: float) -> None:
        """Remember the values of a result, except those that were arguments before."""
        values, answer = trail.values, trail.answers
        # Many items of a list have the same value.
        for path, leaf in dict.fromkeys(leaves):
            sealed = _sealed(leaf)
            value = values.get(sealed)
            if value is None:
                values[sealed] = (tool, answer, ended, path)
            elif isinstance(value, _Value):
                if not value.is_used:
                    value.stands_in((tool, answer, ended, path))
            elif value[1] != answer or value[3] != path:
                known = values[sealed] = _Value(value)
                known.stands_in((tool, answer, ended, path))


def _sealed(leaf: str | int) -> int:
    # A number and its text are different values, and the hash of a number is the number itself.
    return hash(leaf if type(leaf) is str else f"\0{leaf}")
