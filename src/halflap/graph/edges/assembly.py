"""From the candidates for each slot to an edge: parts of a key together, each place once, and what is covered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from halflap.graph.edges.model import Edge, Evidence, Link
from halflap.graph.paging import pages_of
from halflap.graph.paths import path_text, slot_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from halflap.graph.edges.evidence import Given
    from halflap.graph.edges.model import Coverage
    from halflap.graph.paths import Path
    from halflap.graph.ports import Ports, Slot

__all__ = ["Candidate", "edge_of", "page_edge", "together"]

_PAGES = 0.9
"""How certain a link to the next page is."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place that may fill a slot, with the reasons."""

    given: Given
    evidence: tuple[Evidence, ...]
    confidence: float


def together(by_slot: dict[Path, list[Candidate]]) -> dict[Path, list[Candidate]]:
    """Choose for each slot the place nearest to those chosen for the others: parts of one key travel together.

    One place fills one slot only: whatever takes `from_id` and `to_id` does not mean the same.
    """
    chosen: dict[Path, list[Candidate]] = {}
    taken: dict[Path, Path] = {}
    for slot in sorted(by_slot, key=lambda path: -by_slot[path][0].confidence):
        free = [one for one in by_slot[slot] if one.given.place.path not in taken]
        if not free:
            continue
        best = max(
            free, key=lambda one: (one.confidence + 0.01 * _nearness(one, taken), -len(one.given.place.path))
        )
        top = max(one.confidence for one in free)
        if best.confidence < top:
            best = Candidate(best.given, best.evidence, top)
        chosen[slot] = [best, *(one for one in free if one.given is not best.given)]
        taken[best.given.place.path] = slot
    return {slot: chosen[slot] for slot in by_slot if slot in chosen}


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
