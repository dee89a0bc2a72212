"""The graph: tools, and the edges between them, computed when they are asked for."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

from halflap.graph.edges.choice import Candidate, add, best_first, edge_of, page_edge, together
from halflap.graph.edges.evidence import LEAST, Asked, asked_of, score
from halflap.graph.edges.index import Index
from halflap.graph.edges.model import Edge, Evidence, Link
from halflap.graph.edges.relations import DECLARED, add_declared, mentions
from halflap.graph.naming import slot_identities
from halflap.graph.paging import takes_page
from halflap.graph.paths import Path, keys_of, path_text
from halflap.graph.types import conflict

if TYPE_CHECKING:
    from halflap.graph.lineage import Lineage
    from halflap.graph.ports import Ports, Slot

__all__ = ["Graph"]

BEST = 5
"""Tools shown per parameter where all edges are listed. Doubling it doubles the list, with less certain edges."""
_LEAST_OPTIONAL = 0.6
"""An optional parameter can be left out, so its links have to be more certain."""
_MOST_SEEN = 0.98
"""The confidence that lineage alone gives at most."""
_AT_A_TIME = 20
"""Tools whose edges are computed without garbage collection."""
_GONE = frozenset({"delete", "destroy", "purge", "remove"})


_Table = dict[str, list[Candidate]]
"""The fields for a slot by tool, best first."""


class Graph:
    """Tools, and the edges between them."""

    def __init__(self, ports: Iterable[Ports] = (), lineage: Lineage | None = None) -> None:
        self._ports: dict[str, Ports] = {}
        self.index = Index()
        self._slots: dict[str, list[tuple[Slot, Asked]]] = {}
        """The slots of a tool that may be linked, with what they ask for."""
        self._asked: dict[Asked, Asked] = {}
        """Many slots ask for the same."""
        self._names: dict[tuple[str, str], str] = {}
        """Tools by server and by the name they have there."""
        self._mentions: dict[str, frozenset[str]] = {}
        """Names in the descriptions of each tool, which may be those of other tools."""
        self._mentioned: dict[tuple[str, str], set[str]] = {}
        """Tools by what they mention of their server."""
        self._seen: dict[str, set[str]] = {}
        """The tools whose values were seen to go into one."""
        self._tables: dict[int, _Table] = {}
        """By the identity of what is asked for. This and the next are computed when needed."""
        self._beyond: dict[str, frozenset[str]] = {}
        self.follow(lineage)
        with _without_collection():
            for one in ports:
                self.put(one)

    @property
    def tools(self) -> Mapping[str, Ports]:
        return MappingProxyType(self._ports)

    # What is known

    def follow(self, lineage: Lineage | None) -> None:
        """Use what is known now of where values went."""
        self._lineage = lineage
        self._seen = {}
        for source, target in () if lineage is None else lineage.pairs:
            self._seen.setdefault(target, set()).add(source)
        self._forget()

    def put(self, ports: Ports) -> None:
        """Add a tool, or replace it."""
        self.remove(ports.tool)
        self._ports[ports.tool] = ports
        asked = ((slot, asked_of(ports, slot)) for slot in ports.slots if _may_be_linked(slot))
        self._slots[ports.tool] = [(slot, self._asked.setdefault(one, one)) for slot, one in asked]
        self._names[ports.server, ports.name] = ports.tool
        self._mentions[ports.tool] = mentions(ports)
        for name in self._mentions[ports.tool]:
            self._mentioned.setdefault((ports.server, name), set()).add(ports.tool)
        self.index.put(ports)

    def remove(self, tool: str) -> None:
        """Remove a tool, if it is there."""
        self._forget()
        ports = self._ports.pop(tool, None)
        if ports is None:
            return
        del self._slots[tool]
        self._names.pop((ports.server, ports.name), None)
        for name in self._mentions.pop(tool):
            self._mentioned[ports.server, name].discard(tool)
        self.index.remove(tool)

    def _forget(self) -> None:
        self._tables.clear()
        self._beyond.clear()

    # Edges

    def into(self, tool: str) -> Sequence[Edge]:
        """Return all edges to a tool, most certain first."""
        if tool not in self._ports:
            return ()
        return self._edges(self._best_sources(tool, len(self._ports)), tool)

    def out_of(self, tool: str) -> Sequence[Edge]:
        """Return all edges from a tool, most certain first."""
        edges = (self.edge(tool, target) for target in self._ports)
        return _sorted(one for one in edges if one is not None)

    def edges(self, best: int = BEST) -> Iterator[Edge]:
        """Yield the edges to every tool, from the `best` tools for each of its parameters."""
        tools = list(self._ports)
        for start in range(0, len(tools), _AT_A_TIME):
            with _without_collection():
                some = [
                    self._edges(self._best_sources(one, best), one)
                    for one in tools[start : start + _AT_A_TIME]
                ]
            for edges in some:
                yield from edges

    def _best_sources(self, tool: str, best: int) -> set[str]:
        sources = {tool, *self._named_or_seen(tool)}
        for slot, asked in self._slots[tool]:
            least = _least(self._ports[tool], slot)
            others = (one for one in self._table(asked).items() if one[0] != tool)
            sources.update(one for one, found in islice(others, best) if found[0].confidence >= least)
        return sources

    def edge(self, source: str, target: str) -> Edge | None:
        """Return the edge from one tool to another, if there is one; from a tool to itself only by pagination."""
        one, other = self._ports.get(source), self._ports.get(target)
        if one is None or other is None:
            return None
        if one is other:
            return page_edge(one)
        links = self.links(one, other)
        least = {slot.path: _least(other, slot) for slot in other.slots}
        return (
            edge_of(one, other, links)
            if any(link.confidence >= least[link.target] for link in links)
            else None
        )

    def _edges(self, sources: Iterable[str], target: str) -> tuple[Edge, ...]:
        return _sorted(edge for one in sources if (edge := self.edge(one, target)) is not None)

    # Links

    def sources(self, ports: Ports, slot: Slot) -> Iterator[tuple[str, Candidate]]:
        """Yield the tools that can fill a slot, with the best field of each.

        Those that values were seen to come from, or that descriptions name, come first; then the best by names and
        types, among equals those that need least themselves.
        """
        first = self._named_or_seen(ports.tool) - {ports.tool}
        for tool in sorted(first):
            found = self._chosen(self._ports[tool], ports).get(slot.path)
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
        for slot, asked in self._slots[target.tool]:
            known = self._table(asked).get(source.tool)
            # A large tool has hundreds of slots, and few are filled by one other.
            if known is None and not more:
                continue
            found = {one.path: one for one in known or () if not _is_pointless(one, source, target, slot)}
            if more:
                self._add_seen(source, target, slot, asked, found)
                if source.server == target.server and target.needs(slot) and not asked.is_secret:
                    fields = list(self.index.of(source.tool))
                    add_declared(
                        found, source=source, fields=fields, target=target, slot=slot, form=asked.form
                    )
            if found:
                by_slot[slot.path] = best_first(found.values())
        return together(by_slot)

    def _add_seen(
        self, source: Ports, target: Ports, slot: Slot, asked: Asked, found: dict[Path, Candidate]
    ) -> None:
        """Add the fields whose values were seen to go into a slot."""
        own = path_text(slot.path)
        flows = () if self._lineage is None else self._lineage.between(source.tool, target.tool)
        times = {start: times for start, end, times in flows if end == own}
        for given in self.index.of(source.tool) if times else ():
            seen = times.get(path_text(given.place.path))
            if seen and not conflict(given.place.form, asked.form):
                weight = min(_MOST_SEEN, 1 - 0.5 ** (1 + seen / 2))
                add(found, given, Evidence("lineage", weight, f"seen {seen} times"))

    def _named_or_seen(self, tool: str) -> frozenset[str]:
        """Return the tools that descriptions relate to this one, or whose values were seen to go into it."""
        if tool not in self._beyond:
            ports = self._ports[tool]
            named = {self._names.get((ports.server, name)) for name in self._mentions[tool]}
            naming = self._mentioned.get((ports.server, ports.name), set())
            seen = self._seen.get(tool, set())
            self._beyond[tool] = frozenset(one for one in named | naming | seen if one in self._ports)
        return self._beyond[tool]

    # Fields by names and types

    def _table(self, asked: Asked) -> _Table:
        known = self._tables.get(id(asked))
        if known is None:
            found = {} if asked.is_secret else self._found(asked)
            best = {tool: best_first(candidates) for tool, candidates in found.items()}

            def rank(tool: str) -> tuple[float, int, str]:
                return -round(best[tool][0].confidence, 2), len(self._ports[tool].required), tool

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
        for thing, given in self.index.declared(asked):
            if not conflict(given.place.form, asked.form):
                own = {one.path: one for one in found.get(given.tool, ())}
                detail = f"the server declares that both identify a {thing}"
                add(own, given, Evidence("declared", DECLARED, detail))
                found[given.tool] = list(own.values())
        return found

    def _scored(self, asked: Asked, *, home: bool) -> _Table:
        found: _Table = {}
        for meaning, fields in self.index.candidates(asked, home=home):
            evidence = score(meaning, asked, self.index.catalogue)
            if evidence is not None:
                for given in fields:
                    found.setdefault(given.tool, []).append(Candidate(given, (evidence,), evidence.weight))
        return found


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


def _least(ports: Ports, slot: Slot) -> float:
    return LEAST if ports.needs(slot) else _LEAST_OPTIONAL


def _may_be_linked(slot: Slot) -> bool:
    return not takes_page(slot.path) and slot.type.kind != "boolean"


def _is_pointless(one: Candidate, source: Ports, target: Ports, slot: Slot) -> bool:
    """Return whether a value names something that is gone, or is to name something new of the same kind."""
    things = {own.thing for own in one.given.identities}
    if source.subject.verb in _GONE and source.subject.thing in things:
        return True
    if not target.subject.creates:
        return False
    asked = slot_identities(keys_of(slot.path), target.subject)[0]
    return asked.thing == target.subject.thing and asked.thing in things


def _sorted(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    return tuple(sorted(edges, key=lambda edge: (-edge.confidence, edge.source, edge.target)))
