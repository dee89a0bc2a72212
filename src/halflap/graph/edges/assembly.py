"""From the candidates for each slot to an edge: parts of a key together, each place once, and what is covered."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from halflap.graph.edges.model import Edge, Evidence, Link, combined
from halflap.graph.paging import pages_of
from halflap.graph.paths import path_text, slot_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from halflap.graph.edges.evidence import Given
    from halflap.graph.edges.model import Coverage
    from halflap.graph.paths import Path
    from halflap.graph.ports import Ports, Slot

__all__ = ["Candidate", "add", "best_first", "edge_of", "page_edge", "together"]

_PAGES = 0.9
"""How certain a link to the next page is."""
_PER_SLOT, _SHOWN = 8, 3
"""Places of one tool for a slot that are compared, and those that a link shows."""
_NEAR = 0.9
"""Of one tool, places are kept for a slot that are at least this good compared with the best."""
_BESIDE = 0.01
"""What each key counts that a place shares with those chosen for other slots."""


class Candidate(NamedTuple):
    """A place that may fill a slot, with the reasons."""

    given: Given
    evidence: tuple[Evidence, ...]
    confidence: float


def add(found: dict[Path, Candidate], given: Given, evidence: Evidence) -> None:
    """Add a reason for a place, beside those that are known."""
    path = given.place.path
    reasons = (*(found[path].evidence if path in found else ()), evidence)
    found[path] = Candidate(given, reasons, combined(reasons))


def best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the few best places of one tool for a slot; the same ones in whatever order they come."""
    found = sorted(candidates, key=_rank)
    least = found[0].confidence * _NEAR
    return [one for one in found[:_PER_SLOT] if one.confidence >= least]


def _rank(one: Candidate) -> tuple[float, int, int]:
    return -one.confidence, len(one.given.place.path), one.given.at


def together(by_slot: dict[Path, list[Candidate]]) -> dict[Path, list[Candidate]]:
    """Choose for each slot the place nearest to those chosen for the others: parts of one key travel together.

    Each slot chooses a second time, when the others have. One place fills one slot only: whatever takes `from_id` and
    `to_id` does not mean the same.
    """
    order = sorted(by_slot, key=lambda path: -by_slot[path][0].confidence)
    chosen: dict[Path, Candidate] = {}
    for slot in order * 2 if len(order) > 1 else order:
        chosen.pop(slot, None)
        taken = {one.given.place.path for one in chosen.values()}
        free = [one for one in by_slot[slot] if one.given.place.path not in taken]
        if free:
            chosen[slot] = max(free, key=lambda one: one.confidence + _BESIDE * _nearness(one, taken))
    found: dict[Path, list[Candidate]] = {}
    taken = {one.given.place.path for one in chosen.values()}
    for slot in (one for one in by_slot if one in chosen):
        others = [one for one in by_slot[slot] if one.given.place.path not in taken]
        # Beside the others it is as certain as any.
        confidence = max(one.confidence for one in (chosen[slot], *others))
        found[slot] = [chosen[slot]._replace(confidence=confidence), *others[: _SHOWN - 1]]
    return found


def _nearness(one: Candidate, others: Iterable[Path]) -> int:
    """Return the length of the longest path that a place shares with another."""
    path = one.given.place.path
    best = 0
    for other in others:
        size = 0
        while size < min(len(path), len(other)) and path[size] == other[size]:
            size += 1
        best = max(best, size)
    return best


def edge_of(source: Ports, target: Ports, links: Sequence[Link], *, is_pagination: bool = False) -> Edge:
    ordered = sorted(links, key=lambda link: -link.confidence)
    return Edge(
        source.tool,
        target.tool,
        _coverage(links, target),
        ordered[0].confidence,
        tuple(ordered),
        is_pagination,
    )


def page_edge(ports: Ports) -> Edge | None:
    pages = pages_of(ports)
    if pages is None:
        return None
    detail = f"{path_text(pages.source)} leads to the next page by {slot_text(pages.target)}"
    link = Link(pages.source, pages.target, _PAGES, (Evidence("name", _PAGES, detail),))
    return edge_of(ports, ports, [link], is_pagination=True)


def _coverage(links: Iterable[Link], target: Ports) -> Coverage:
    """Return what of a tool's parameters the links supply."""
    supplied = {link.target for link in links}
    names = {path[0].key for path in supplied}
    if target.required.isdisjoint(names):
        return "optional"
    return (
        "strict" if all(_is_supplied(name, supplied, target.slots) for name in target.required) else "partial"
    )


def _is_supplied(name: str, supplied: set[Path], slots: Sequence[Slot]) -> bool:
    """Return whether a parameter is supplied: itself, its items, or everything required inside it."""
    inside = [slot.path for slot in slots if slot.parameter == name and slot.required]
    leaves = [
        path for path in inside if not any(path == other[: len(path)] and path != other for other in inside)
    ]
    return bool(leaves) and all(
        any(path[:size] in supplied for size in range(1, len(path) + 1)) for path in leaves
    )
