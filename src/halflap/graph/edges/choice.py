"""From the candidates for each slot to an edge: parts of a key together, each field once, and what is covered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.edges.model import Coverage, Edge, Evidence, Link, combined
from halflap.graph.paging import pages_of
from halflap.graph.paths import Path, path_text, slot_text

if TYPE_CHECKING:
    from halflap.graph.edges.evidence import Returned
    from halflap.graph.ports import Ports, Slot

__all__ = ["Candidate", "add", "best_first", "edge_of", "page_edge", "together"]

_PAGES = 0.9
"""How certain a link to the next page is."""
_PER_SLOT, _SHOWN = 8, 3
"""Fields of one tool for a slot that are compared, and those that an edge shows."""
_NEAR = 0.9
"""Of one tool, fields are kept for a slot that are at least this good compared with the best."""
_BESIDE = 0.01
"""What each key counts that a field's path shares with those chosen for other slots."""


class Candidate(NamedTuple):
    """A field that may fill a slot, with the reasons."""

    given: Returned
    evidence: tuple[Evidence, ...]
    confidence: float

    @property
    def path(self) -> Path:
        return self.given.place.path


def add(found: dict[Path, Candidate], given: Returned, evidence: Evidence) -> None:
    """Add a reason for a field, beside those that are known."""
    path = given.place.path
    reasons = (*(found[path].evidence if path in found else ()), evidence)
    found[path] = Candidate(given, reasons, combined(reasons))


def best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the few best fields of one tool for a slot, whatever order they come in."""
    found = list(candidates)
    if len(found) > 1:
        found.sort(key=lambda one: (-one.confidence, len(one.path), one.given.at))
    least = found[0].confidence * _NEAR
    return [one for one in found[:_PER_SLOT] if one.confidence >= least]


def together(by_slot: dict[Path, list[Candidate]]) -> dict[Path, list[Candidate]]:
    """Choose for each slot the field nearest to those chosen for the others: parts of one key travel together.

    Each slot chooses a second time, when the others have. One field fills one slot only: a tool that takes `from_id` and
    `to_id` does not mean the same by them.
    """
    if all(len(found) == 1 for found in by_slot.values()) and len(
        {found[0].path for found in by_slot.values()}
    ) == len(by_slot):
        return by_slot
    order = sorted(by_slot, key=lambda path: -by_slot[path][0].confidence)
    chosen: dict[Path, Candidate] = {}
    for slot in order * 2 if len(order) > 1 else order:
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


def edge_of(source: Ports, target: Ports, links: Iterable[Link], *, is_pagination: bool = False) -> Edge:
    ordered = tuple(sorted(links, key=lambda link: -link.confidence))
    coverage = _coverage({link.target for link in ordered}, target)
    return Edge(source.tool, target.tool, coverage, ordered[0].confidence, ordered, is_pagination)


def page_edge(ports: Ports) -> Edge | None:
    pages = pages_of(ports)
    if pages is None:
        return None
    detail = f"{path_text(pages.source)} leads to the next page by {slot_text(pages.target)}"
    link = Link(pages.source, pages.target, _PAGES, (Evidence("name", _PAGES, detail),))
    return edge_of(ports, ports, [link], is_pagination=True)


def _coverage(supplied: set[Path], target: Ports) -> Coverage:
    """Return how many of a tool's required parameters are supplied."""
    if target.required.isdisjoint(path[0].key for path in supplied):
        return "optional"
    return (
        "strict" if all(_is_supplied(one, supplied, target.slots) for one in target.required) else "partial"
    )


def _is_supplied(name: str, supplied: set[Path], slots: Sequence[Slot]) -> bool:
    """Return whether a parameter is supplied: itself, its items, or everything required inside it."""
    inside = [slot.path for slot in slots if slot.parameter == name and slot.required]
    around = {path[:size] for path in inside for size in range(len(path))}
    leaves = [path for path in inside if path not in around]
    return bool(leaves) and all(
        any(path[:size] in supplied for size in range(1, len(path) + 1)) for path in leaves
    )
