"""The graph of what feeds what: tools come and go, and their edges are worked out when somebody asks."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING

from halflap.graph.between import edge_between
from halflap.graph.evidence import Flows, may_lead
from halflap.graph.explain import Explanation, explain
from halflap.graph.index import Index, bits
from halflap.graph.named import Named
from halflap.graph.node import ANY_THING, node_of, vague_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from halflap.graph.edge import Edge, Ports
    from halflap.graph.node import Held, Node

__all__ = ["Explanation", "Flows", "Graph"]

_AT_ONCE = 1_000


class Graph:
    """Tools, and the edges between them."""

    def __init__(self, ports: Iterable[Ports] = (), lineage: Flows | None = None) -> None:
        self._lineage: Flows | None
        self._index = Index()
        self.named = Named()
        self._nodes: dict[str, Node] = {}
        self._ports: dict[str, Ports] = {}
        self._by_number: list[Node | None] = []
        self._free: list[int] = []
        self._servers: dict[str, dict[str, int]] = {}
        """The numbers of each server's tools, by their names there."""
        self._telling: dict[str, set[int]] = {}
        """Those of each server whose descriptions name others."""
        self._sources: dict[str, set[str]] = {}
        self._targets: dict[str, set[str]] = {}
        self._into = _Known()
        self._out = _Known()
        self.follow(lineage)
        with _undisturbed():
            for one in ports:
                self.put(one)

    def follow(self, lineage: Flows | None) -> None:
        """Take what is known now of where values went, in the place of what was."""
        self._lineage = lineage
        self._sources.clear()
        self._targets.clear()
        for source, _, target, _ in lineage.counts if lineage is not None else ():
            self._sources.setdefault(target, set()).add(source)
            self._targets.setdefault(source, set()).add(target)
        self._into.forget_all()
        self._out.forget_all()

    @property
    def tools(self) -> Mapping[str, Ports]:
        """The tools, by their names."""
        return MappingProxyType(self._ports)

    def put(self, ports: Ports) -> None:
        """Enter a tool that is new or was changed."""
        old = self._nodes.get(ports.tool)
        if old is not None:
            self._leave(old)
            self.named.leave(old.tool, old.place_keys)
            number = old.number
        else:
            number = self._free.pop() if self._free else len(self._by_number)
        if number == len(self._by_number):
            self._by_number.append(None)
        node = node_of(ports, number)
        changed = self._index.change(old, node)
        self._by_number[number] = node
        self._nodes[ports.tool] = node
        self._ports[ports.tool] = ports
        self.named.enter(node.tool, node.place_keys)
        self._servers.setdefault(ports.server, {})[node.name] = number
        if node.mentions:
            self._telling.setdefault(ports.server, set()).add(number)
        self._forget_keys(changed)
        self._forget(node)

    def remove(self, tool: str) -> None:
        """Take a tool out; one that is not there is no matter."""
        node = self._nodes.get(tool)
        if node is None:
            return
        self._leave(node)
        self.named.leave(node.tool, node.place_keys)
        changed = self._index.change(node, None)
        del self._nodes[tool], self._ports[tool]
        self._by_number[node.number] = None
        self._free.append(node.number)
        self._forget_keys(changed)

    def _leave(self, node: Node) -> None:
        # Who may have an edge with it is known only while it is there.
        self._forget(node)
        names = self._servers[node.server]
        if names.get(node.name) == node.number:
            del names[node.name]
        if not names:
            del self._servers[node.server]
        self._telling.get(node.server, set()).discard(node.number)

    def _forget(self, node: Node) -> None:
        """Forget what was worked out with a tool."""
        self._into.forget(node.number)
        self._out.forget(node.number)
        if self._into:
            for target in self._targets_of(node):
                self._into.forget(target.number)
        if self._out:
            for source in self._sources_of(node):
                self._out.forget(source.number)

    def _forget_keys(self, changed: frozenset[str] | None) -> None:
        """Forget what was worked out with names that weigh another thing since; None stands for all."""
        if changed is None:
            self._into.forget_all()
            self._out.forget_all()
            return
        givers = takers = 0
        for key in changed:
            givers |= self._index.gives.get(key, 0)
            takers |= self._index.takes.get(key, 0)
        for number in bits(givers):
            self._out.forget(number)
        for number in bits(takers):
            self._into.forget(number)

    def into(self, tool: str) -> Sequence[Edge]:
        """Give the edges to a tool, the surest first."""
        node = self._nodes.get(tool)
        if node is None:
            return ()
        found = self._into.get(node.number)
        if found is None:
            edges = (self._edge(source, node) for source in self._sources_of(node))
            found = _sorted(edge for edge in edges if edge is not None)
            self._into.keep(node.number, found)
        return found

    def out_of(self, tool: str) -> Sequence[Edge]:
        """Give the edges from a tool, the surest first."""
        node = self._nodes.get(tool)
        if node is None:
            return ()
        found = self._out.get(node.number)
        if found is None:
            edges = (self._edge(node, target) for target in self._targets_of(node))
            found = _sorted(edge for edge in edges if edge is not None)
            self._out.keep(node.number, found)
        return found

    def edge(self, source: str, target: str) -> Edge | None:
        """Give the edge from one tool to another, if there is one."""
        if source not in self._nodes or target not in self._nodes:
            return None
        return self._edge(self._nodes[source], self._nodes[target])

    def edges(self) -> Iterator[Edge]:
        """Give all edges."""
        tools = list(self._nodes)
        for start in range(0, len(tools), _AT_ONCE):
            with _undisturbed():
                found = [self.into(tool) for tool in tools[start : start + _AT_ONCE]]
            yield from chain.from_iterable(found)

    def explain(self, source: str, target: str) -> Explanation:
        """Say why there is an edge, or what comes nearest to one and why that is none."""
        return explain(
            self._nodes.get(source), self._nodes.get(target), self.edge(source, target), self._index.weight, self._lineage,
            names=(source, target),
        )  # fmt: skip

    def _edge(self, source: Node, target: Node) -> Edge | None:
        return edge_between(source, target, self._index.weight, self._lineage)

    def _sources_of(self, node: Node) -> Iterator[Node]:
        """Give the tools from which there may be an edge to this one, itself too."""
        found = self._sharing(node, node.takes, self._index.gives)
        for name, thing in node.asked:
            if not thing:
                found |= self._index.gives.get(vague_key(node.server, name, ANY_THING), 0)
                continue
            giving = self._index.gives.get(vague_key(node.server, name), 0)
            found |= giving & self._index.tells.get(vague_key(node.server, "", thing), 0)
        return self._nodes_of(found, node, self._sources)

    def _targets_of(self, node: Node) -> Iterator[Node]:
        """Give the tools to which there may be an edge from this one, itself too."""
        found = self._sharing(node, node.gives, self._index.takes)
        for name in node.vague:
            for word in node.texts:
                found |= self._index.takes.get(vague_key(node.server, name, word), 0)
        for name in node.offered:
            found |= self._index.takes.get(vague_key(node.server, name), 0)
        return self._nodes_of(found, node, self._targets)

    def _sharing(self, node: Node, keys: Mapping[str, tuple[Held, ...]], others: Mapping[str, int]) -> int:
        """Give the tools that have a key in common with this one that can make an edge."""
        siblings = anywhere = 0
        for key, held in keys.items():
            sharing = others.get(key)
            if sharing is not None:
                here, elsewhere = may_lead(key, held, self._index.weight(key))
                if elsewhere:
                    anywhere |= sharing
                elif here:
                    siblings |= sharing
        return anywhere | (siblings & self._index.servers[node.server])

    def _nodes_of(self, found: int, node: Node, flows: Mapping[str, set[str]]) -> Iterator[Node]:
        found |= 1 << node.number
        for name in flows.get(node.tool, ()):
            if name in self._nodes:
                found |= 1 << self._nodes[name].number
        for number in self._mentioned(node):
            found |= 1 << number
        for number in bits(found):
            other = self._by_number[number]
            if other is not None:
                yield other

    def _mentioned(self, node: Node) -> Iterator[int]:
        """Give the tools of the same server whose descriptions name this one, or that this one's names."""
        siblings = self._servers[node.server]
        for mention in node.mentions:
            if mention.name in siblings:
                yield siblings[mention.name]
            elif mention.name.endswith("*"):
                yield from (number for name, number in siblings.items() if mention.means(name))
        for number in self._telling.get(node.server, ()):
            other = self._by_number[number]
            if other is not None and any(one.means(node.name) for one in other.mentions):
                yield number


class _Known:
    """What was worked out of tools, by their numbers.

    What is forgotten is only marked: to give back thousands of edges at once would take longer than the change did.
    """

    def __init__(self) -> None:
        self._edges: dict[int, tuple[Edge, ...]] = {}
        self._valid: set[int] = set()

    def __bool__(self) -> bool:
        return bool(self._valid)

    def get(self, number: int) -> tuple[Edge, ...] | None:
        return self._edges[number] if number in self._valid else None

    def keep(self, number: int, edges: tuple[Edge, ...]) -> None:
        self._edges[number] = edges
        self._valid.add(number)

    def forget(self, number: int) -> None:
        self._valid.discard(number)

    def forget_all(self) -> None:
        self._valid.clear()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep the collector of garbage away: all that is made here stays, and to look through it takes as long as to make it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _sorted(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    return tuple(sorted(edges, key=lambda edge: (-edge.confidence, edge.source, edge.target)))
