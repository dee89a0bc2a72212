"""The graph: tools, and the edges between them, computed when they are asked for."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from halflap.graph.edges.evidence import COMPANION, LEAST, score, taken_of
from halflap.graph.edges.index import Index
from halflap.graph.edges.model import Edge, Evidence, Link, combined
from halflap.graph.edges.relations import mentions, names_in
from halflap.graph.naming import is_secret, slot_identity, words_of
from halflap.graph.paging import pages_of, takes_page
from halflap.graph.paths import keys_of, path_text, slot_text
from halflap.graph.types import conflict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from halflap.graph.edges.evidence import Features, Given, Taken
    from halflap.graph.edges.model import Coverage
    from halflap.graph.paths import Path
    from halflap.graph.ports import Ports, Slot

__all__ = ["Candidate", "Flows", "Graph"]

BEST = 5
"""Tools shown per parameter where all edges are listed. Doubling it doubles the list, with less certain edges."""
_PER_SLOT = 3
_NEAR = 0.9
"""Of one tool, places are kept for a slot that are at least this good compared with the best."""
_LEAST_OPTIONAL = 0.6
"""An optional parameter can be left out, so its links have to be more certain."""
_DECLARED = 0.9
_SUPPORT = 0.5
"""What a description adds to a link between two tools when it names one of them but not the field."""
_GONE = frozenset({"delete", "destroy", "purge", "remove"})


class Flows(Protocol):
    """Where values were seen to go."""

    def between(self, source: str, target: str) -> Sequence[tuple[str, str, int]]:
        """Return path, path and how often."""
        ...

    @property
    def pairs(self) -> Iterable[tuple[str, str]]: ...


@dataclass(frozen=True, slots=True)
class Candidate:
    """A place that may fill a slot, with the reasons."""

    given: Given
    evidence: tuple[Evidence, ...]
    confidence: float


_Table = dict[str, list[Candidate]]
"""The best places for one slot, by tool."""


class Graph:
    """Tools, and the edges between them."""

    def __init__(self, ports: Iterable[Ports] = (), lineage: Flows | None = None) -> None:
        self._ports: dict[str, Ports] = {}
        self.index = Index()
        self._names: dict[tuple[str, str], str] = {}
        """Tools by server and by the name they have there."""
        self._mentioned: dict[tuple[str, str], set[str]] = {}
        """Tools whose descriptions name another of their server."""
        self._taken: dict[str, dict[Path, Taken]] = {}
        """What each slot of a tool asks for, without those that are never linked."""
        self._tables: dict[Taken, _Table] = {}
        self._into: dict[str, tuple[Edge, ...]] = {}
        self._lineage: Flows | None = None
        self._sources: dict[str, set[str]] = {}
        self.follow(lineage)
        with _without_collection():
            for one in ports:
                self.put(one)

    @property
    def tools(self) -> Mapping[str, Ports]:
        return MappingProxyType(self._ports)

    def follow(self, lineage: Flows | None) -> None:
        """Use what is known now of where values went."""
        self._lineage = lineage
        self._sources = {}
        for source, target in () if lineage is None else lineage.pairs:
            self._sources.setdefault(target, set()).add(source)
        self._into.clear()

    def put(self, ports: Ports) -> None:
        """Add a tool, or replace it."""
        self.remove(ports.tool)
        self._ports[ports.tool] = ports
        self._taken[ports.tool] = {
            slot.path: taken_of(ports, slot) for slot in ports.slots if _may_be_linked(slot)
        }
        self._names[ports.server, ports.name] = ports.tool
        for name in mentions(ports):
            self._mentioned.setdefault((ports.server, name), set()).add(ports.tool)
        self.index.put(ports)

    def remove(self, tool: str) -> None:
        """Remove a tool, if it is there."""
        ports = self._ports.pop(tool, None)
        if self._tables or self._into:
            self._tables.clear()
            self._into.clear()
        if ports is None:
            return
        del self._taken[tool]
        self._names.pop((ports.server, ports.name), None)
        for name in mentions(ports):
            self._mentioned[ports.server, name].discard(tool)
        self.index.remove(tool)

    def into(self, tool: str) -> Sequence[Edge]:
        """Return all edges to a tool, most certain first."""
        if tool not in self._ports:
            return ()
        if tool not in self._into:
            edges = (self.edge(source, tool) for source in sorted(self._sources_of(self._ports[tool])))
            self._into[tool] = _sorted(one for one in edges if one is not None)
        return self._into[tool]

    def out_of(self, tool: str) -> Sequence[Edge]:
        """Return all edges from a tool, most certain first."""
        edges = (self.edge(tool, target) for target in self._ports)
        return _sorted(one for one in edges if one is not None)

    def edges(self, best: int = BEST) -> Iterator[Edge]:
        """Yield the edges to every tool, from the `best` tools for each of its parameters."""
        for tool, ports in self._ports.items():
            sources = {tool, *self._sources.get(tool, ()), *self._declaring(ports)}
            for slot in ports.slots:
                found = self.sources_of_slot(ports, slot)
                least = LEAST if ports.needs(slot) else _LEAST_OPTIONAL
                sources.update(one for one in found[:best] if self._best(ports, slot, one) >= least)
            edges = (self.edge(source, tool) for source in sorted(sources) if source in self._ports)
            yield from _sorted(one for one in edges if one is not None)

    def sources_of_slot(self, ports: Ports, slot: Slot) -> list[str]:
        """Return the tools that can fill a slot, best first; among equals, those that need least themselves."""
        seen = self._sources.get(ports.tool, ())
        table = self.table(ports, slot)
        return [
            *(one for one in table if one in seen),
            *(one for one in table if one not in seen and one != ports.tool),
        ]

    def edge(self, source: str, target: str) -> Edge | None:
        """Return the edge from one tool to another, if there is one; from a tool to itself only by pagination."""
        one, other = self._ports.get(source), self._ports.get(target)
        if one is None or other is None:
            return None
        if one is other:
            return _page_edge(one)
        found = self.links(one, other)
        needed = {slot.path for slot in other.slots if other.needs(slot)}
        leads = any(
            link.confidence >= (LEAST if link.target in needed else _LEAST_OPTIONAL) for link in found
        )
        return _edge(one, other, found) if leads else None

    def links(self, source: Ports, target: Ports) -> list[Link]:
        """Return what each slot of a tool can take from another, weak links included."""
        by_slot: dict[Path, list[Candidate]] = {}
        for slot in target.slots:
            if found := self._candidates(source, target, slot):
                by_slot[slot.path] = found
        chosen = _together(by_slot)
        return [
            Link(one.given.place.path, path, one.confidence, one.evidence)
            for path, found in chosen.items()
            for one in found
        ]

    def table(self, ports: Ports, slot: Slot) -> _Table:
        """Return the best places for a slot in all tools, by names and types; the best tools come first."""
        taken = self._taken[ports.tool].get(slot.path)
        if taken is None or is_secret(words_of(_name(slot))):
            return {}
        if taken not in self._tables:
            found = self._scored(taken, home=True)
            # Servers number their things themselves: others are asked for a key only where its own has none.
            own_keys = any(one.evidence[0].kind == "entity" for own in found.values() for one in own)
            for tool, others in (
                self._scored(taken, home=False).items()
                if not own_keys or not taken.identity.attribute
                else ()
            ):
                kept = [one for one in others if not own_keys or one.evidence[0].kind != "entity"]
                if kept:
                    found[tool] = kept
            for key in taken.relations:
                for given in self.index.related(key):
                    if conflict(given.features.form, taken.form):
                        continue
                    detail = f"the server declares that both identify a {key.partition(chr(0))[2]}"
                    own = {one.given.place.path: one for one in found.get(given.tool, ())}
                    _add(own, given, Evidence("declared", _DECLARED, detail))
                    found[given.tool] = list(own.values())
            best = {tool: _best_first(candidates) for tool, candidates in found.items()}
            self._tables[taken] = {
                tool: best[tool] for tool in sorted(best, key=lambda tool: self._rank(tool, best[tool]))
            }
        return self._tables[taken]

    def _scored(self, taken: Taken, *, home: bool) -> _Table:
        found: _Table = {}
        scores: dict[Features, Evidence | None] = {}
        for given in self.index.candidates(taken, home=home):
            features = given.features
            if features not in scores:
                scores[features] = score(features, taken, self.index.rarity)
            evidence = scores[features]
            if evidence is not None and evidence.weight >= COMPANION:
                found.setdefault(given.tool, []).append(Candidate(given, (evidence,), evidence.weight))
        return found

    def _rank(self, tool: str, candidates: list[Candidate]) -> tuple[float, int, str]:
        return -round(candidates[0].confidence, 2), len(self._ports[tool].required), tool

    def _best(self, ports: Ports, slot: Slot, source: str) -> float:
        return self.table(ports, slot)[source][0].confidence

    def _sources_of(self, ports: Ports) -> set[str]:
        """Return all tools from which there may be an edge to this one."""
        found = {ports.tool, *self._sources.get(ports.tool, ()), *self._declaring(ports)}
        for slot in ports.slots:
            found.update(self.table(ports, slot))
        return found

    def _declaring(self, ports: Ports) -> set[str]:
        """Return the tools of the same server whose descriptions name this one, or that its own name."""
        found = {
            tool for name in mentions(ports) if (tool := self._names.get((ports.server, name))) is not None
        }
        return found | self._mentioned.get((ports.server, ports.name), set())

    def _candidates(self, source: Ports, target: Ports, slot: Slot) -> list[Candidate]:
        """Return the best places of one tool for a slot, with everything that speaks for each."""
        if slot.path not in self._taken[target.tool]:
            return []
        found = {one.given.place.path: one for one in self.table(target, slot).get(source.tool, ())}
        if found:
            found = {path: one for path, one in found.items() if not _is_pointless(one, source, target, slot)}
        for path, times in self._seen(source, target, slot):
            for given in self.index.of(source.tool):
                if path_text(given.place.path) == path and not conflict(
                    given.features.form, self._taken[target.tool][slot.path].form
                ):
                    weight = 1 - 0.5 ** (1 + times / 2)
                    _add(found, given, Evidence("lineage", min(0.98, weight), f"seen {times} times"))
        if source.server == target.server:
            self._declared(source, target, slot, found)
        return _best_first(found.values())

    def _seen(self, source: Ports, target: Ports, slot: Slot) -> Iterator[tuple[str, int]]:
        if self._lineage is not None and source.tool in self._sources.get(target.tool, ()):
            own = path_text(slot.path)
            yield from (
                (start, times)
                for start, end, times in self._lineage.between(source.tool, target.tool)
                if end == own
            )

    def _declared(self, source: Ports, target: Ports, slot: Slot, found: dict[Path, Candidate]) -> None:
        """Add what descriptions say: a field or parameter that names the other tool, or a tool that does."""
        if not target.needs(slot) or is_secret(words_of(_name(slot))):
            return
        asks = source.name in names_in(slot.description)
        if asks or any(target.name in names_in(one.given.place.description) for one in found.values()):
            if not found and (only := self._only_key(source, target, slot)) is not None:
                _add(found, only, Evidence("declared", _DECLARED, slot.description[:200]))
            for one in list(found.values()):
                if asks or target.name in names_in(one.given.place.description):
                    text = slot.description if asks else one.given.place.description
                    _add(found, one.given, Evidence("declared", _DECLARED, text[:200]))
        elif target.name in names_in(source.description) or source.name in names_in(target.description):
            for one in list(found.values()):
                _add(found, one.given, Evidence("declared", _SUPPORT, "a description names the other tool"))
        elif not found:
            self._pointed_at(source, target, slot, found)

    def _pointed_at(self, source: Ports, target: Ports, slot: Slot, found: dict[Path, Candidate]) -> None:
        """Add a field that is to be used with a tool which takes one thing only, whatever that calls it."""
        if len(target.required) != 1:
            return
        for given in self.index.of(source.tool):
            text = given.place.description
            if (
                text
                and target.name in names_in(text)
                and not conflict(given.features.form, self._taken[target.tool][slot.path].form)
            ):
                _add(found, given, Evidence("declared", _DECLARED, text[:200]))

    def _only_key(self, source: Ports, target: Ports, slot: Slot) -> Given | None:
        """Return the one identifier that a tool returns of its own thing, if it has the slot's type."""
        form = self._taken[target.tool][slot.path].form
        keys = [
            one
            for one in self.index.of(source.tool)
            if any(own.attribute for own in one.features.identities) and not conflict(one.features.form, form)
        ]
        depth = min((len(one.place.path) for one in keys), default=0)
        outermost = [one for one in keys if len(one.place.path) == depth]
        return outermost[0] if len(outermost) == 1 else None


@contextmanager
def _without_collection() -> Iterator[None]:
    """Pause garbage collection: everything made here stays, and looking through it takes as long as making it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _may_be_linked(slot: Slot) -> bool:
    return not takes_page(slot.path) and slot.type.kind != "boolean"


def _name(slot: Slot) -> str:
    return next(step.key for step in reversed(slot.path) if step.kind == "key")


def _is_pointless(one: Candidate, source: Ports, target: Ports, slot: Slot) -> bool:
    """Return whether a value names something that is gone, or is to name something new of the same kind."""
    things = {own.thing for own in one.given.features.identities}
    if source.subject.verb in _GONE and source.subject.thing in things:
        return True
    if not target.subject.creates:
        return False
    asked = slot_identity(keys_of(slot.path), target.subject.things)
    return asked.thing == target.subject.thing and asked.thing in things


def _add(found: dict[Path, Candidate], given: Given, evidence: Evidence) -> None:
    path = given.place.path
    reasons = (*(found[path].evidence if path in found else ()), evidence)
    found[path] = Candidate(given, reasons, combined(reasons))


def _best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    found = sorted(candidates, key=lambda one: (-one.confidence, len(one.given.place.path)))
    return [one for one in found[:_PER_SLOT] if one.confidence >= found[0].confidence * _NEAR]


def _together(by_slot: dict[Path, list[Candidate]]) -> dict[Path, list[Candidate]]:
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


def _edge(source: Ports, target: Ports, links: Sequence[Link], *, is_pagination: bool = False) -> Edge:
    ordered = sorted(links, key=lambda link: -link.confidence)
    return Edge(
        source.tool,
        target.tool,
        coverage(links, target),
        ordered[0].confidence,
        tuple(ordered),
        is_pagination,
    )


def _page_edge(ports: Ports) -> Edge | None:
    pages = pages_of(ports)
    if pages is None:
        return None
    detail = f"{path_text(pages.source)} leads to the next page by {slot_text(pages.target)}"
    link = Link(pages.source, pages.target, _DECLARED, (Evidence("name", _DECLARED, detail),))
    return _edge(ports, ports, [link], is_pagination=True)


def coverage(links: Iterable[Link], target: Ports) -> Coverage:
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


def _sorted(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    return tuple(sorted(edges, key=lambda edge: (-edge.confidence, edge.source, edge.target)))
