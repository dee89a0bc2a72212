"""The graph of what feeds what: tools come and go, and their edges are worked out when somebody asks."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

from halflap.graph.explain import Explanation, explain
from halflap.graph.index import Index, bits
from halflap.graph.match import edge_between, may_lead
from halflap.graph.node import node_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from halflap.graph.edge import Edge, Ports
    from halflap.graph.node import Node

__all__ = ["Explanation", "Flows", "Graph"]


class Flows(Protocol):
    """What the graph asks of a lineage."""

    @property
    def counts(self) -> Mapping[tuple[str, str, str, str], tuple[int, int]]:
        """How often, and in how many runs, a value went from a tool's path to another's."""
        ...

    def between(self, source: str, target: str) -> Sequence[tuple[str, str, int]]:
        """Give the paths from which and to which values went, and how often."""
        ...


class Graph:
    """Tools, and the edges between them."""

    def __init__(self, ports: Iterable[Ports] = (), lineage: Flows | None = None) -> None:
        self._lineage = lineage
        self._index = Index()
        self._nodes: dict[str, Node] = {}
        self._ports: dict[str, Ports] = {}
        self._by_number: list[Node | None] = []
        self._free: list[int] = []
        self._servers: dict[str, dict[str, int]] = {}
        """The numbers of each server's tools, by their names there."""
        self._sources: dict[str, set[str]] = {}
        self._targets: dict[str, set[str]] = {}
        self._edges: dict[tuple[int, int], Edge | None] = {}
        self._into: dict[int, tuple[Edge, ...]] = {}
        self._out: dict[int, tuple[Edge, ...]] = {}
        self.follow(lineage)
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
        self._forget()

    @property
    def tools(self) -> Mapping[str, Ports]:
        """The tools, by their names."""
        return MappingProxyType(self._ports)

    def put(self, ports: Ports) -> None:
        """Enter a tool that is new or was changed."""
        self.remove(ports.tool)
        number = self._free.pop() if self._free else len(self._by_number)
        node = node_of(ports, number)
        if number == len(self._by_number):
            self._by_number.append(node)
        else:
            self._by_number[number] = node
        self._nodes[ports.tool] = node
        self._ports[ports.tool] = ports
        self._servers.setdefault(ports.server, {})[node.name] = number
        self._index.add(number, ports.server, node.gives.keys(), node.takes.keys())
        self._forget()

    def remove(self, tool: str) -> None:
        """Take a tool out; one that is not there is no matter."""
        node = self._nodes.pop(tool, None)
        if node is None:
            return
        del self._ports[tool]
        names = self._servers[node.server]
        if names.get(node.name) == node.number:
            del names[node.name]
        if not names:
            del self._servers[node.server]
        self._index.drop(node.number, node.server, node.gives.keys(), node.takes.keys())
        self._by_number[node.number] = None
        self._free.append(node.number)
        self._forget()

    def _forget(self) -> None:
        self._edges.clear()
        self._into.clear()
        self._out.clear()

    def into(self, tool: str) -> Sequence[Edge]:
        """Give the edges to a tool, the surest first."""
        node = self._nodes.get(tool)
        if node is None:
            return ()
        found = self._into.get(node.number)
        if found is None:
            edges = [
                self._edge(source, node)
                for source in self._around(node, self._index.gives, node.takes, self._sources)
            ]
            found = _sorted(edge for edge in edges if edge is not None)
            self._into[node.number] = found
        return found

    def out_of(self, tool: str) -> Sequence[Edge]:
        """Give the edges from a tool, the surest first."""
        node = self._nodes.get(tool)
        if node is None:
            return ()
        found = self._out.get(node.number)
        if found is None:
            edges = [
                self._edge(node, target)
                for target in self._around(node, self._index.takes, node.gives, self._targets)
            ]
            found = _sorted(edge for edge in edges if edge is not None)
            self._out[node.number] = found
        return found

    def edge(self, source: str, target: str) -> Edge | None:
        """Give the edge from one tool to another, if there is one."""
        if source not in self._nodes or target not in self._nodes:
            return None
        return self._edge(self._nodes[source], self._nodes[target])

    def edges(self) -> Iterator[Edge]:
        """Give all edges."""
        for tool in list(self._nodes):
            yield from self.into(tool)

    def explain(self, source: str, target: str) -> Explanation:
        """Say why there is an edge, or what comes nearest to one and why that is none."""
        return explain(
            self._nodes.get(source), self._nodes.get(target), self.edge(source, target), self._index.weight, self._lineage,
            names=(source, target),
        )  # fmt: skip

    def _edge(self, source: Node, target: Node) -> Edge | None:
        at = (source.number, target.number)
        if at not in self._edges:
            self._edges[at] = edge_between(source, target, self._index.weight, self._lineage)
        return self._edges[at]

    def _around(
        self, node: Node, others: Mapping[str, int], keys: Iterable[str], flows: Mapping[str, set[str]]
    ) -> Iterator[Node]:
        """Give the tools that may have an edge with this one, itself too."""
        found = 1 << node.number
        for key in keys:
            if key in others and may_lead(key, self._index.weight(key)):
                found |= others[key]
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
        for number in siblings.values():
            other = self._by_number[number]
            if other is not None and any(one.means(node.name) for one in other.mentions):
                yield number


def _sorted(edges: Iterable[Edge]) -> tuple[Edge, ...]:
    return tuple(sorted(edges, key=lambda edge: (-edge.confidence, edge.source, edge.target)))
