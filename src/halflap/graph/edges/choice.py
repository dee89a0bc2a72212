"""Choose links from the candidates for each slot: the best fields of a tool, parts of a key together, each field once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.edges.model import Evidence, combined

if TYPE_CHECKING:
    from halflap.graph.edges.fields import Returned
    from halflap.graph.paths import Path

_PER_SLOT, _SHOWN = 8, 3
"""Fields of one tool for a slot that are compared, and those that an edge shows."""
_NEAR = 0.9
"""Fields of a tool are kept for a slot if their confidence is at least this share of the best."""
_BESIDE = 0.01
"""The weight of each key that a field's path shares with those chosen for other slots."""


class Candidate(NamedTuple):
    """A field that may fill a slot, with the reasons."""

    given: Returned
    evidence: tuple[Evidence, ...]
    confidence: float

    @property
    def path(self) -> Path:
        return self.given.place.path


def add(found: dict[Path, Candidate], given: Returned, evidence: Evidence) -> None:
    """Add a reason for a field."""
    path = given.place.path
    reasons = (*(found[path].evidence if path in found else ()), evidence)
    found[path] = Candidate(given, reasons, combined(reasons))


def best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the few best fields of one tool for a slot, whatever order they come in."""
    found = list(candidates)
    if len(found) > 1:
        found.sort(key=lambda one: (-one.confidence, len(one.given.place.path), one.given.at))
        least = found[0].confidence * _NEAR
        found = [one for one in found[:_PER_SLOT] if one.confidence >= least]
    return found


def together(by_slot: dict[Path, list[Candidate]], required: Collection[Path]) -> dict[Path, list[Candidate]]:
    """Choose for each slot the field nearest to those chosen for the others: parts of one key travel together.

    Required slots choose first. Each slot chooses a second time, when the others have. One field fills one slot only: a tool that takes `from_id` and
    `to_id` does not mean the same by them.
    """
    firsts = {found[0].given.place.path for found in by_slot.values()}
    if len(firsts) == len(by_slot) and all(len(found) == 1 for found in by_slot.values()):
        return by_slot
    order = sorted(by_slot, key=lambda path: -by_slot[path][0].confidence)
    first = [one for one in order if one in required]
    then = [one for one in order if one not in required]
    chosen: dict[Path, Candidate] = {}
    for slot in (*first, *first, *then, *then):
        chosen.pop(slot, None)
        taken = {one.path for one in chosen.values()}
        free = [one for one in by_slot[slot] if one.path not in taken]
        if free:
            chosen[slot] = max(free, key=lambda one: one.confidence + _BESIDE * _shared(one.path, taken))
    taken = {one.path for one in chosen.values()}
    found: dict[Path, list[Candidate]] = {}
    for slot in (one for one in by_slot if one in chosen):
        others = [one for one in by_slot[slot] if one.path not in taken]
        # Beside the others it is as certain as any.
        confidence = max(one.confidence for one in (chosen[slot], *others))
        found[slot] = [chosen[slot]._replace(confidence=confidence), *others[: _SHOWN - 1]]
    return found


def _shared(path: Path, others: Iterable[Path]) -> int:
    """Return the length of the longest path that a field shares with another."""
    best = 0
    for other in others:
        size = 0
        for mine, theirs in zip(path, other, strict=False):
            if mine != theirs:
                break
            size += 1
        best = max(best, size)
    return best
