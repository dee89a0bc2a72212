"""How far two footprints agree, and in which cells they do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.core.errors import WorkflowError
from halflap.workflows.footprint import turned

if TYPE_CHECKING:
    from halflap.workflows.footprint import Footprint, Relation

__all__ = ["Agreement", "Difference", "agreement"]


@dataclass(frozen=True, slots=True)
class Difference:
    """A cell: what its row is to its column, in the one and in the other."""

    row: str
    column: str
    first: Relation
    second: Relation


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two footprints side by side, over the activities of both."""

    activities: tuple[str, ...]
    cells: float
    """The share of cells that are the same. It is high for anything large: a swap is a few cells of thousands."""
    directly_follows: float
    """How many pairs of direct neighbours both have, of those that one has (Jaccard); 1 where there are none."""
    differing: int
    """How many cells differ."""
    differences: tuple[Difference, ...]
    """Those cells by row and column; the first ones, where only so many were asked for."""
    missing: tuple[str, ...]
    """Activities of the first that the second has not."""
    added: tuple[str, ...]
    """Activities of the second that the first has not."""


def agreement(first: Footprint, second: Footprint, most: int | None = None) -> Agreement:
    """Compare two footprints, with at most so many of the differences listed."""
    empty = [name for name, one in (("first", first), ("second", second)) if not one.activities]
    if empty:
        raise WorkflowError(
            [(name, "No complete case of it has an activity that is seen.") for name in empty],
            "A footprint that is empty agrees with nothing.",
        )
    activities = tuple(sorted({*first.activities, *second.activities}))
    one, two = _over(first, activities), _over(second, activities)
    one_back, two_back = turned(one), turned(two)
    differing = 0
    listed: list[Difference] = []
    for at, row in enumerate(activities):
        unlike = (one[at] ^ two[at]) | (one_back[at] ^ two_back[at])
        differing += unlike.bit_count()
        while unlike and (most is None or len(listed) < most):
            lowest = unlike & -unlike
            unlike ^= lowest
            column = lowest.bit_length() - 1
            cells = (
                _relation(one[at] >> column & 1, one_back[at] >> column & 1),
                _relation(two[at] >> column & 1, two_back[at] >> column & 1),
            )
            listed.append(Difference(row, activities[column], *cells))
    both = sum((a & b).bit_count() for a, b in zip(one, two, strict=True))
    either = sum((a | b).bit_count() for a, b in zip(one, two, strict=True))
    return Agreement(
        activities,
        1 - differing / len(activities) ** 2,
        both / either if either else 1.0,
        differing,
        tuple(listed),
        tuple(sorted({*first.activities} - {*second.activities})),
        tuple(sorted({*second.activities} - {*first.activities})),
    )


def _relation(forth: int, back: int) -> Relation:
    if forth:
        return "||" if back else "→"
    return "←" if back else "#"


def _over(found: Footprint, activities: tuple[str, ...]) -> list[int]:
    """Count the bits of a footprint along other activities."""
    if found.activities == activities:
        return list(found.follows)
    place = {activity: at for at, activity in enumerate(activities)}
    rows = [0] * len(activities)
    for one, other in found.directly_follows():
        rows[place[one]] |= 1 << place[other]
    return rows
