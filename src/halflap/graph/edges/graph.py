"""The graph: tools, and the edges between them, computed when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from halflap.graph.edges.choice import Candidate, add, best_first, together
from halflap.graph.edges.evidence import COMPANION, LEAST, score
from halflap.graph.edges.fields import Asked, asked_of
from halflap.graph.edges.index import Index, without_collection
from halflap.graph.edges.model import Edge, Evidence, Link, edge_of, page_edge
from halflap.graph.edges.relations import declared, mentions
from halflap.graph.effects import changed_by
from halflap.graph.naming import slot_identities
from halflap.graph.paging import takes_page
from halflap.graph.paths import Path, keys_of, path_text
from halflap.graph.types import conflict

if TYPE_CHECKING:
    from halflap.graph.edges.fields import Returned
    from halflap.graph.effects import Changed
    from halflap.graph.lineage import Lineage
    from halflap.graph.ports import Ports, Slot

BEST = 5
"""Tools shown per parameter where all edges are listed. Doubling it doubles the list, with less certain edges."""
_LEAST_OPTIONAL = 0.6
"""An optional parameter can be left out, so its links have to be more certain."""
_MOST_SEEN = 0.98
"""The maximum confidence from lineage alone."""
_GONE = frozenset({"delete", "destroy", "purge", "remove"})


_Table = dict[str, list[Candidate]]
"""The fields for a slot by tool, best first."""


class Graph:
    """Tools, and the edges between them."""

    def __init__(self, ports: Iterable[Ports] = (), lineage: Lineage | None = None) -> None:
        self.tools: dict[str, Ports] = {}
        self.index = Index()
        self._slots: dict[str, list[tuple[Slot, Asked]]] = {}
        """The slots of a tool that may be linked, with what they ask for."""
        self._asked: dict[Asked, Asked] = {}
        """Many slots ask for the same."""
        self._changed: dict[str, Changed] = {}
        """What each tool changes."""
        self._names: dict[tuple[str, str], str] = {}
        """Tools by server and by the name they have there."""
        self._mentions: dict[str, frozenset[str]] = {}
        """Names in the descriptions of each tool, which may be those of other tools."""
        self._mentioned: dict[tuple[str, str], set[str]] = {}
        """By server and name, the tools that mention it."""
        self._seen: dict[str, set[str]] = {}
        """By tool, the sources of its observed lineage."""
        self._tables: dict[int, _Table] = {}
        """By what is asked for, computed on demand."""
        self.follow(lineage)
        with without_collection():
            for one in ports:
                self.put(one)

    # What is known

    def follow(self, lineage: Lineage | None) -> None:
        """Replace the lineage."""
        self._lineage = lineage
        self._seen = {}
        for source, target in () if lineage is None else lineage.pairs:
            self._seen.setdefault(target, set()).add(source)

    def put(self, ports: Ports) -> None:
        """Add a tool, or replace it."""
        self.remove(ports.tool)
        self.tools[ports.tool] = ports
        asked = ((slot, asked_of(ports, slot)) for slot in ports.slots if _may_be_linked(slot))
        self._slots[ports.tool] = [(slot, self._asked.setdefault(one, one)) for slot, one in asked]
        self._changed[ports.tool] = changed_by(ports)
        self._names[ports.server, ports.name] = ports.tool
        self._mentions[ports.tool] = mentions(ports)
        for name in self._mentions[ports.tool]:
            self._mentioned.setdefault((ports.server, name), set()).add(ports.tool)
        self.index.put(ports)

    def remove(self, tool: str) -> None:
        """Remove a tool, if it is there."""
        self._tables.clear()
        ports = self.tools.pop(tool, None)
        if ports is None:
            return
        del self._slots[tool], self._changed[tool]
        self._names.pop((ports.server, ports.name), None)
        for name in self._mentions.pop(tool):
            self._mentioned[ports.server, name].discard(tool)
        self.index.remove(ports)

    # Edges

    def into(self, tool: str) -> Sequence[Edge]:
        """Return all edges to a tool, most certain first."""
        return self._into(tool, len(self.tools)) if tool in self.tools else ()

    def out_of(self, tool: str) -> Sequence[Edge]:
        """Return all edges from a tool, most certain first."""
        edges = (self.edge(tool, target) for target in self.tools)
        return _sorted(one for one in edges if one is not None)

    def edges(self, best: int = BEST) -> Iterator[Edge]:
        """Yield the edges to every tool, from the `best` tools for each of its parameters."""
        with without_collection():
            for tool in list(self.tools):
                yield from self._into(tool, best)

    def _into(self, tool: str, best: int) -> Sequence[Edge]:
        sources = {tool, *self._named_or_seen(tool)}
        for slot, asked in self._slots[tool]:
            least = _least(self.tools[tool], slot)
            others = (one for one in self._table(asked).items() if one[0] != tool)
            sources.update(one for one, found in islice(others, best) if found[0].confidence >= least)
        return _sorted(edge for one in sources if (edge := self.edge(one, tool)) is not None)

    def edge(self, source: str, target: str) -> Edge | None:
        """Return the edge from one tool to another, if there is one; from a tool to itself only by pagination."""
        one, other = self.tools.get(source), self.tools.get(target)
        if one is None or other is None:
            return None
        if one is other:
            return page_edge(one)
        links = self.links(one, other)
        least = {slot.path: _least(other, slot) for slot, _ in self._slots[target]} if links else {}
        is_edge = any(link.confidence >= least[link.target] for link in links)
        return edge_of(one, other, links) if is_edge else None

    # Links

    def sources(self, ports: Ports, slot: Slot) -> Iterator[tuple[str, Candidate]]:
        """Yield the tools that can fill a slot, with the best field of each.

        Those that values were seen to come from, or that descriptions name, come first; then the best by names and
        types, among equals those that need least themselves.
        """
        first = self._named_or_seen(ports.tool) - {ports.tool}
        for tool in sorted(first):
            found = self._chosen(self.tools[tool], ports).get(slot.path)
            if found:
                yield tool, found[0]
        table = next((self._table(asked) for one, asked in self._slots[ports.tool] if one is slot), {})
        for tool, found in table.items():
            if tool != ports.tool and tool not in first:
                yield tool, found[0]

    def links(self, source: Ports, target: Ports) -> list[Link]:
        """Return what each slot of a tool can take from another, weak links included."""
        return [
            Link(one.path, path, one.confidence, one.evidence)
            for path, found in self._chosen(source, target).items()
            for one in found
        ]

    def _chosen(self, source: Ports, target: Ports) -> dict[Path, list[Candidate]]:
        by_slot: dict[Path, list[Candidate]] = {}
        more = source.tool in self._named_or_seen(target.tool)
        changed = self._changed[target.tool]
        may_be_pointless = source.subject.verb in _GONE or target.subject.creates
        for slot, asked in self._slots[target.tool]:
            candidates = self._table(asked).get(source.tool, [])
            if changed.things:
                candidates = [one for one in candidates if not changed.has(slot, source, one.path)]
            if may_be_pointless:
                candidates = [one for one in candidates if not _is_pointless(one, source, target, slot)]
            if more:
                found = {one.path: one for one in candidates}
                for given, evidence in self._declared_or_seen(source, target, slot, asked, found):
                    add(found, given, evidence)
                candidates = best_first(found.values())
            if candidates:
                by_slot[slot.path] = candidates
        return together(by_slot, {slot.path for slot in target.slots if target.needs(slot)})

    def _declared_or_seen(
        self, source: Ports, target: Ports, slot: Slot, asked: Asked, found: dict[Path, Candidate]
    ) -> Iterator[tuple[Returned, Evidence]]:
        """Yield the fields that descriptions name for a slot, and those whose values were seen to go into it."""
        fields = self.index.of(source.tool)
        own = path_text(slot.path)
        flows = () if self._lineage is None else self._lineage.between(source.tool, target.tool)
        times = {start: times for start, end, times in flows if end == own}
        for given in fields if times else ():
            seen = times.get(path_text(given.place.path))
            if seen and not conflict(given.place.form, asked.form):
                weight = min(_MOST_SEEN, 1 - 0.5 ** (1 + seen / 2))
                yield given, Evidence("lineage", weight, f"seen {seen} times")
        if source.server == target.server and target.needs(slot) and not asked.only_seen:
            yield from declared(source.name, fields, target, slot, form=asked.form, found=found)

    def _named_or_seen(self, tool: str) -> set[str]:
        """Return the tools that descriptions relate to this one, or whose values were seen to go into it."""
        ports = self.tools[tool]
        found = {self._names.get((ports.server, name), "") for name in self._mentions[tool]}
        found |= self._mentioned.get((ports.server, ports.name), set()) | self._seen.get(tool, set())
        return found & self.tools.keys()

    # Fields by names and types

    def _table(self, asked: Asked) -> _Table:
        known = self._tables.get(id(asked))
        if known is None:
            found = {} if asked.only_seen else self._found(asked)
            best = {tool: best_first(candidates) for tool, candidates in found.items()}

            def rank(tool: str) -> tuple[float, int, str]:
                return -round(best[tool][0].confidence, 2), len(self.tools[tool].required), tool

            known = self._tables[id(asked)] = {tool: best[tool] for tool in sorted(best, key=rank)}
        return known

    def _found(self, asked: Asked) -> _Table:
        found = self._scored(asked, home=True)
        # Servers number their things themselves: others are asked for a key only where its own has none.
        own_keys = any(one.evidence[0].kind == "entity" for own in found.values() for one in own)
        others = {} if own_keys and asked.identities[0].attribute else self._scored(asked, home=False)
        for tool, candidates in others.items():
            kept = [one for one in candidates if not own_keys or one.evidence[0].kind != "entity"]
            if kept:
                found[tool] = kept
        return found

    def _scored(self, asked: Asked, *, home: bool) -> _Table:
        found: _Table = {}
        for meaning, fields in self.index.candidates(asked, home=home):
            evidence = score(meaning, asked, self.index.catalogue)
            if evidence is None:
                continue
            made: dict[float, tuple[Evidence]] = {}
            for given in fields:
                weight = evidence.weight * given.factor
                if weight >= COMPANION:
                    reasons = made.get(weight) or made.setdefault(weight, (evidence._replace(weight=weight),))
                    found.setdefault(given.tool, []).append(Candidate(given, reasons, weight))
        return found


def _least(ports: Ports, slot: Slot) -> float:
    return LEAST if ports.needs(slot) else _LEAST_OPTIONAL


def _may_be_linked(slot: Slot) -> bool:
    is_constant = slot.type.kind == "values" and len(slot.type.values) == 1
    return not takes_page(slot.path) and slot.type.kind != "boolean" and not is_constant


def _is_pointless(one: Candidate, source: Ports, target: Ports, slot: Slot) -> bool:
    """Return whether a value names something deleted, or will name something new of the same kind."""
    thing = target.subject.thing
    things = {own.thing for own in one.given.meaning.identities}
    if source.subject.verb in _GONE and source.subject.thing in things:
        return True
    is_new = target.subject.creates and thing in things
    return is_new and slot_identities(keys_of(slot.path), target.subject)[0].thing == thing


def _sorted(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    return tuple(sorted(edges, key=lambda edge: (-edge.confidence, edge.source, edge.target)))
