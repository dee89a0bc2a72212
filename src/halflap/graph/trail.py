"""Follow values through the calls of a run: what was an argument, and which result it had stood in before.

Of a value nothing is kept but a keyed hash, with where it stood, and that only while its run is under way.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from halflap.graph.lineage import NO_LINEAGE, Count, Flow, Lineage
from halflap.graph.telling import SURE, Spots, telling

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

__all__ = ["Trails"]

_MOST_VALUES = 20_000
"""Of a run, so many values are remembered; the oldest go first."""
_MOST_RUNS = 500
_MOST_IN_ALL = 200_000
_MOST_TOOLS = 2_000
_MOST_SOURCES = 3
"""What more tools than this return of themselves tells of none that it was the one."""
_MOST_PATHS = 4
_LONGEST_PATH = 300
_MOST_FLOWS = 50_000
_MOST_ORDERS = 10_000


class _Source:
    """A result that a value stood in."""

    __slots__ = ("call", "ended", "paths", "tool")

    def __init__(self, tool: Hashable, call: int, ended: float, path: str) -> None:
        self.tool = tool
        self.call = call
        self.ended = ended
        self.paths = [path]


class _Value:
    """What is known of a value within a run."""

    __slots__ = ("is_crowd", "is_used", "sources", "tells")

    def __init__(self, tells: int) -> None:
        self.tells = tells
        self.is_used = False
        """Whether it has been an argument: who returns it from then on only says what it was told."""
        self.is_crowd = False
        self.sources: list[_Source] = []

    def stands_in(self, tool: Hashable, call: int, ended: float, path: str) -> None:
        """Note a result that it stands in; of each tool, the first."""
        for source in self.sources:
            if source.tool == tool:
                if source.call == call and path not in source.paths and len(source.paths) < _MOST_PATHS:
                    source.paths.append(path)
                return
        if len(self.sources) >= _MOST_SOURCES:
            self.is_crowd = True
        else:
            self.sources.append(_Source(tool, call, ended, path))


@dataclass(slots=True)
class _Trail:
    """One run."""

    values: OrderedDict[bytes, _Value] = field(default_factory=OrderedDict)
    flows: set[Flow] = field(default_factory=set)
    """Those that were counted for this run."""
    orders: set[Hashable] = field(default_factory=set)
    answers: int = 0


class Trails:
    """Follows any number of runs at a time, and counts what it sees."""

    def __init__(self, salt: bytes = b"") -> None:
        self.salt = salt
        self._runs: OrderedDict[Hashable, _Trail] = OrderedDict()
        self._spots: OrderedDict[Hashable, tuple[Spots, Spots]] = OrderedDict()
        self._held = 0
        self._counts: dict[Flow, Count] = {}

    def __bool__(self) -> bool:
        return bool(self._counts)

    def take(self) -> Lineage:
        """Give what was counted, and begin to count anew; the runs go on."""
        if not self._counts:
            return NO_LINEAGE
        counts, self._counts = self._counts, {}
        return Lineage(counts)

    def forget(self) -> None:
        """Let go of all runs."""
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
        counting: bool = True,
    ) -> None:
        """Look at a call of a run that has ended; `result` is None where it failed."""
        self.asked(run, tool, arguments, began, order=order, counting=counting)
        self.answered(run, tool, result, ended)

    def asked(
        self,
        run: Hashable,
        tool: Hashable,
        arguments: Mapping[str, Any],
        at: float,
        *,
        order: Hashable = None,
        counting: bool = True,
    ) -> None:
        """Look at what a call takes. Only what was answered until then can have told it anything.

        `order` is the call's number, where it has one: a number that comes again is another run of that name.
        """
        trail = self._trail(run, order)
        held = len(trail.values)
        for flow in self._arguments(trail, tool, self._of(tool)[0].leaves(arguments), at):
            is_new = flow not in trail.flows
            if is_new and len(trail.flows) < _MOST_FLOWS:
                trail.flows.add(flow)
            if counting and (flow in self._counts or len(self._counts) < _MOST_FLOWS):
                known = self._counts.get(flow, Count(0, 0))
                self._counts[flow] = Count(known.times + 1, known.runs + is_new)
        self._make_room(run, trail, held)

    def answered(self, run: Hashable, tool: Hashable, result: Any, at: float) -> None:
        """Look at what came of a call."""
        if result is None:
            return
        trail = self._trail(run, None)
        trail.answers += 1
        held = len(trail.values)
        self._result(trail, tool, self._of(tool)[1].leaves(result), at)
        self._make_room(run, trail, held)

    def _of(self, tool: Hashable) -> tuple[Spots, Spots]:
        """Give the places in what a tool takes, and in what it gives."""
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
        while len(trail.values) > _MOST_VALUES:
            trail.values.popitem(last=False)
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
        """Note what a call was given; gives the ways that it came, each once."""
        salt = self.salt[:64]
        came: list[tuple[str, _Value, _Source]] = []
        given: list[_Value] = []
        for path, leaf in leaves:
            tells = telling(leaf)
            if not tells or len(path) > _LONGEST_PATH:
                continue
            sealed = _sealed(leaf, salt)
            value = trail.values.get(sealed)
            if value is None:
                # Whoever asked had it from elsewhere.
                value = trail.values[sealed] = _Value(tells)
            given.append(value)
            if any(source.ended > began for source in value.sources):
                # It was known before that result came.
                value.sources = [source for source in value.sources if source.ended <= began]
            if not value.is_crowd:
                came += [(path, value, source) for source in value.sources]
        for value in given:
            value.is_used = True
        sure = {source.call for _, value, source in came if value.tells == SURE}
        return {
            Flow(source.tool, start, tool, path)
            for path, value, source in came
            if value.tells == SURE or source.call in sure
            for start in source.paths
        }

    def _result(self, trail: _Trail, tool: Hashable, leaves: list[tuple[str, Any]], ended: float) -> None:
        """Note what a call gave, unless that was an argument before: then it is no news."""
        values, call, salt = trail.values, trail.answers, self.salt[:64]
        # The same stands in many items of a list.
        for path, leaf in dict.fromkeys(leaves):
            tells = telling(leaf)
            if not tells or len(path) > _LONGEST_PATH:
                continue
            sealed = _sealed(leaf, salt)
            value = values.get(sealed)
            if value is None:
                value = values[sealed] = _Value(tells)
                value.sources = [_Source(tool, call, ended, path)]
            elif not value.is_used:
                value.stands_in(tool, call, ended, path)


def _sealed(leaf: str | int, salt: bytes) -> bytes:
    # A number and the text of it are different values.
    text = leaf.encode(errors="surrogatepass") if isinstance(leaf, str) else b"\0%d" % leaf
    return blake2b(text, digest_size=8, key=salt).digest()
