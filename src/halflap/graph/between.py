"""The edge between two tools: which links there are, what they cover, and how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halflap.graph.edge import Edge, Link, key, path_text
from halflap.graph.evidence import LEAST, candidates, together
from halflap.graph.paging import pages
from halflap.graph.words import phrase, words_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from halflap.graph.edge import Coverage, Path, Ports, Slot
    from halflap.graph.evidence import Candidate, Flows
    from halflap.graph.node import Node

__all__ = ["LEAST_OPTIONAL", "edge_between"]

LEAST_OPTIONAL = 0.6
"""How sure a link to an optional parameter has to be: a required one has to come from somewhere, this may be left out."""
_COMPANION = 0.3
"""How sure a link has to be, where another one makes the edge."""
_LEAST_TOGETHER = 0.6
_LEAST_NAMED = 0.15
_FEW_SEEN = 0.75
"""What is left of a link's confidence where its place was hardly ever seen."""
_PER_SLOT = 3
_NEAR = 0.75

Found = tuple[float, "Candidate"]


def edge_between(
    source: Node, target: Node, weigh: Callable[[str], float], seen: Flows | None
) -> Edge | None:
    """Give the edge from one tool to another, if there is one; from a tool to itself, only by pagination."""
    if source is target:
        links = pages(source)
        if not links:
            return None
        covered = coverage({link.target for link in links}, target.ports)
        return _edge(source, target, links, covered, is_pagination=True)
    kept: dict[int, list[Found]] = {}
    leads = False
    for one in candidates(source, target, weigh, seen, _LEAST_NAMED):
        strength = one.strength
        if one.conflict or strength < _COMPANION:
            continue
        needed = _is_needed(target.ports, target.ports.slots[one.slot])
        leads = leads or strength >= (LEAST if needed else LEAST_OPTIONAL)
        kept.setdefault(one.slot, []).append((strength, one))
    if not kept or not (leads or _lead_together(source, target, kept)):
        return None
    links = []
    for found in kept.values():
        if len(found) == 1:
            links.append(_link(source, target, found[0][1], found[0][0]))
            continue
        found.sort(key=lambda pair: (-pair[0], len(source.ports.places[pair[1].place].path), pair[1].place))
        best = found[0][0]
        links += [_link(source, target, one, sure) for sure, one in found[:_PER_SLOT] if sure >= best * _NEAR]
    slots = tuple(kept)
    if slots not in target.covered:
        target.covered[slots] = coverage({link.target for link in links}, target.ports)
    covered = target.covered[slots]
    if covered == "strict" and len(target.ports.required) > 1 and not _has_one_for_each(links, target):
        covered = "partial"
    return _edge(source, target, links, covered)


def _edge(
    source: Node, target: Node, links: Sequence[Link], covered: Coverage, *, is_pagination: bool = False
) -> Edge:
    ordered = (
        links
        if len(links) == 1
        else sorted(
            links, key=lambda link: (-link.confidence, path_text(link.target), path_text(link.source))
        )
    )
    return Edge(
        source.tool,
        target.tool,
        covered,
        ordered[0].confidence,
        tuple(ordered),
        is_pagination,
    )


def _has_one_for_each(links: Sequence[Link], target: Node) -> bool:
    """Say whether there is a place of its own for each required parameter: none is both `from_id` and `to_id`."""
    places: dict[str, list[Path]] = {}
    for link in links:
        if len(link.target) == 1 and link.target[0].key in target.ports.required:
            places.setdefault(phrase(words_of(link.target[0].key)), []).append(link.source)
    if len(places) < 2:  # noqa: PLR2004 -- one alone takes what it likes
        return True
    taken: dict[Path, str] = {}

    def settle(name: str, tried: set[Path]) -> bool:
        for path in places[name]:
            if path not in tried:
                tried.add(path)
                if path not in taken or settle(taken[path], tried):
                    taken[path] = name
                    return True
        return False

    return all(settle(name, set()) for name in places)


def _is_needed(ports: Ports, slot: Slot) -> bool:
    return slot.required and slot.parameter in ports.required


def _lead_together(source: Node, target: Node, kept: dict[int, list[Found]]) -> bool:
    """Say whether names that say little alone stand side by side in both: the start and the end of a free slot."""
    if source.server != target.server or not any(
        key[0] == "+" for key in source.gives.keys() & target.takes.keys()
    ):
        return False
    if target.subject.creates and source.subject.thing[-1:] == target.subject.thing[-1:]:
        return False
    beside: dict[Path, dict[int, float]] = {}
    for slot, found in kept.items():
        if not _is_needed(target.ports, target.ports.slots[slot]):
            continue
        for strength, one in found:
            best = beside.setdefault(source.ports.places[one.place].path[:-1], {})
            best[slot] = max(strength, best.get(slot, 0.0))
    return any(len(best) > 1 and together(best.values()) >= _LEAST_TOGETHER for best in beside.values())


def _link(source: Node, target: Node, one: Candidate, strength: float) -> Link:
    place = source.ports.places[one.place]
    sure = strength if place.declared else strength * (_FEW_SEEN + (1 - _FEW_SEEN) * place.confidence)
    return Link(place.path, target.ports.slots[one.slot].path, sure, one.evidence)


def coverage(supplied: Collection[Path], target: Ports) -> Coverage:
    """Say what of a tool's parameters these slots are: all that are required, some of them, or only others."""
    names = {path[0].key for path in supplied}
    if target.required.isdisjoint(names):
        return "optional"
    if not target.required <= names:
        return "partial"
    whole = all(
        (key(name),) in supplied or _is_supplied(name, supplied, target.slots) for name in target.required
    )
    return "strict" if whole else "partial"


def _is_supplied(name: str, supplied: Collection[Path], slots: Sequence[Slot]) -> bool:
    """Say whether a parameter is supplied: itself, each item of it, or all inside of it that has to be there."""
    inside = [slot for slot in slots if slot.parameter == name]
    if any(slot.path in supplied and _is_outer(slot.path) for slot in inside):
        return True
    needed = [slot.path for slot in inside if slot.required and not _is_outer(slot.path)]
    leaves = [path for path in needed if not any(_holds(path, other) for other in needed)]
    return bool(leaves) and all(
        any(path[:length] in supplied for length in range(1, len(path) + 1)) for path in leaves
    )


def _is_outer(path: Path) -> bool:
    return all(step.kind != "key" for step in path[1:])


def _holds(path: Path, other: Path) -> bool:
    return len(other) > len(path) and other[: len(path)] == path
