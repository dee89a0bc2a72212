"""Follow values through the calls of a run: what was an argument, and which result it had stood in before.

Of a value nothing is kept but a keyed hash, with where it stood, and that only while its run is under way. It is
Python's own (SipHash, with a key that each process draws for itself and tells nobody), which is as good as any for what
is never written down, and takes a twentieth of the time; with `PYTHONHASHSEED` it has no key, and BLAKE2 takes its
place, with the salt.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any

from halflap.graph.lineage import NO_LINEAGE, Count, Flow, Lineage
from halflap.graph.telling import SURE, Spots, telling

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

__all__ = ["Trails"]

_IS_KEYED = bool(sys.flags.hash_randomization)
_MOST_VALUES = 20_000
"""Of a run, so many values are remembered; the oldest go first."""
_MOST_RUNS = 500
_MOST_IN_ALL = 50_000
_MOST_TOOLS = 2_000
_MOST_SOURCES = 3
"""What more tools than this return of themselves tells of none that it was the one."""
_MOST_PLACES = 12
_LONGEST_PATH = 300
_MOST_FLOWS = 50_000
_MOST_ORDERS = 10_000


_Source = tuple[Any, int, float, str]
"""A place in a result that a value stood in: the tool, which of the run's results, when that came, the path."""


class _Value:
    """What is known of a value within a run, once it stood in several places, or was an argument."""

    __slots__ = ("is_used", "sources")

    def __init__(self, *sources: _Source, is_used: bool = False) -> None:
        self.sources = list(sources)
        self.is_used = is_used
        """Whether it has been an argument: who returns it from then on only says what it was told."""

    def stands_in(self, source: _Source) -> None:
        """Note a further place; of each tool, those of the first result count."""
        for tool, answer, _, path in self.sources:
            if tool == source[0] and (answer != source[1] or path == source[3]):
                return
        if len(self.sources) < _MOST_PLACES or _is_new_server(self.sources, source):
            self.sources.append(source)


def _is_new_server(sources: list[_Source], source: _Source) -> bool:
    """Say whether no place is of a result of this server: however many another fills, one is left for it."""
    server = getattr(source[0], "server", None)
    return server is not None and all(getattr(one[0], "server", None) != server for one in sources)


def _at_home(sources: list[_Source], tool: Hashable) -> list[_Source]:
    """Give those of the server that takes a value, if it returned it, too: others may know or guess what it has."""
    home = getattr(tool, "server", None)
    if home is None or len(sources) < 2:  # noqa: PLR2004 -- there is nothing to choose from
        return sources
    return [one for one in sources if getattr(one[0], "server", None) == home] or sources


@dataclass(slots=True)
class _Trail:
    """One run."""

    values: dict[int | bytes, _Source | _Value] = field(default_factory=dict)
    """By their keyed hashes."""
    flows: set[Flow] = field(default_factory=set)
    """Those that were counted for this run."""
    orders: set[Hashable] = field(default_factory=set)
    answers: int = 0
    last: float = 0.0
    """When something of it was last seen."""


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

    def forget_idle(self, since: float) -> bool:
        """Let go of the runs of which nothing was seen since then; says whether there are others."""
        for run in [name for name, trail in self._runs.items() if trail.last < since]:
            self._held -= len(self._runs.pop(run).values)
        return bool(self._runs)

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
        trail.last = max(trail.last, at)
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
        trail.last = max(trail.last, at)
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
        if len(trail.values) > _MOST_VALUES:
            # More than is needed: to look for the oldest of a mapping takes long.
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
        """Note what a call was given; gives the ways that it came, each once."""
        values = trail.values
        came: list[tuple[str, int, _Source]] = []
        given: list[_Value] = []
        for path, leaf in dict.fromkeys(leaves):
            tells = telling(leaf)
            if not tells or len(path) > _LONGEST_PATH:
                continue
            sealed = self._sealed(leaf)
            value = values.get(sealed)
            if not isinstance(value, _Value):
                # Of what is not there, whoever asked had it from elsewhere.
                value = values[sealed] = _Value() if value is None else _Value(value)
            given.append(value)
            # If it came from somebody since, it was known before that.
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
        """Note what a call gave, unless that was an argument before: then it is no news."""
        values, answer, seal = trail.values, trail.answers, self._sealed
        # The same stands in many items of a list.
        for path, leaf in dict.fromkeys(leaves):
            sealed = hash(leaf) if _IS_KEYED and type(leaf) is str else seal(leaf)
            value = values.get(sealed)
            if value is None:
                values[sealed] = (tool, answer, ended, path)
            elif isinstance(value, _Value):
                if not value.is_used:
                    value.stands_in((tool, answer, ended, path))
            elif value[1] != answer or value[3] != path:
                known = values[sealed] = _Value(value)
                known.stands_in((tool, answer, ended, path))

    def _sealed(self, leaf: str | int) -> int | bytes:
        # A number and the text of it are different values, and the hash of a number is the number.
        text = leaf if type(leaf) is str else f"\0{leaf}"
        if _IS_KEYED:
            return hash(text)
        return blake2b(text.encode(errors="surrogatepass"), digest_size=8, key=self.salt[:64]).digest()
