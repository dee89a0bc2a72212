"""Which activities that depend on each other can come in another order than before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from halflap.workflows.footprint import Unknown
from halflap.workflows.order import first_order

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from halflap.workflows.net import Net
    from halflap.workflows.order import Order
    from halflap.workflows.study import Study

__all__ = ["Data", "data_by_label", "depend", "dependents", "reversals", "reversed_pairs"]


class Data(Protocol):
    """What something reads and writes, as a task says it; None for what is not known."""

    @property
    def reads(self) -> frozenset[str] | None: ...

    @property
    def writes(self) -> frozenset[str] | None: ...


def depend(one: Data, other: Data) -> bool:
    """Tell whether the order of two tasks may matter: it does, unless all that they read and write says that it does not."""
    if one.reads is None or one.writes is None or other.reads is None or other.writes is None:
        return True
    return bool(one.writes & (other.reads | other.writes) or one.reads & other.writes)


def dependents(listed: Iterable[Data]) -> list[int]:
    """Give for each of these the ones listed before it that it depends on, as bits.

    Not pair by pair, which thousands would be too many for, but by who has to do with the same names.
    """
    found = []
    reading: dict[str, int] = {}
    writing: dict[str, int] = {}
    unknown = 0
    for at, data in enumerate(listed):
        bit = 1 << at
        if data.reads is None or data.writes is None:
            found.append(bit - 1)
            unknown |= bit
            continue
        depends = unknown
        for name in data.writes:
            depends |= writing.get(name, 0) | reading.get(name, 0)
        for name in data.reads:
            depends |= writing.get(name, 0)
        for names, table in ((data.reads, reading), (data.writes, writing)):
            for name in names:
                table[name] = table.get(name, 0) | bit
        found.append(depends)
    return found


@dataclass(slots=True)
class _OfLabel:
    """What all tasks of one label read and write."""

    reads: frozenset[str] | None = frozenset()
    writes: frozenset[str] | None = frozenset()


def reversals(old: Study, new: Study) -> tuple[tuple[str, str], ...] | Unknown:
    """Give the pairs of dependent activities, of which the first always came first and now the second can."""
    before, after = first_order(old), first_order(new)
    if isinstance(before, Unknown):
        return before
    return after if isinstance(after, Unknown) else reversed_pairs(data_by_label(old.net), before, after)


def reversed_pairs(
    data: Mapping[str, Data], before: Order, after: Order, *, most: int | None = None
) -> tuple[tuple[str, str], ...]:
    """Give those pairs from the orders, or as many as are asked for.

    What comes first is by the first time in a case. What a task reads and writes is taken from the old workflow: the new
    one could say anything.
    """
    now = list(after.before)
    if before.activities != after.activities:
        place = {activity: at for at, activity in enumerate(before.activities)}
        now = [0] * len(place)
        for one, other in after.pairs():
            if one in place and other in place:
                now[place[one]] |= 1 << place[other]
    found: list[tuple[str, str]] = []
    for at, one in enumerate(before.activities):
        # Those that this one could not come before, and now can.
        news = now[at] & ~before.before[at]
        while news:
            lowest = news & -news
            news ^= lowest
            first = lowest.bit_length() - 1
            if before.before[first] >> at & 1 and depend(data[one], data[before.activities[first]]):
                found.append((before.activities[first], one))
                if len(found) == most:
                    return tuple(found)
    return tuple(sorted(found))


def data_by_label(net: Net) -> dict[str, Data]:
    """Give what all tasks of each label read and write."""
    found: dict[str, _OfLabel] = {}
    for task in net.tasks.values():
        if task.label is None:
            continue
        data = found.setdefault(task.label, _OfLabel())
        data.reads = None if data.reads is None or task.reads is None else data.reads | task.reads
        data.writes = None if data.writes is None or task.writes is None else data.writes | task.writes
    return dict(found)
