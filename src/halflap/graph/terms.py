"""What a tool needs, what calling it costs, and what others offer it: the terms that plans are made on, for one question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from halflap.graph.effects import seems_to_change, seems_to_destroy
from halflap.graph.supply import need_of, offers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.graph.edge import Edge, Ports
    from halflap.graph.have import Have
    from halflap.graph.supply import Need, Offer

__all__ = ["AIMLESS", "CHANGING", "TOOL", "Flows", "Terms"]

TOOL = 1.0
"""What a call costs at least."""
SECOND = 0.2
"""What a second of waiting costs; no more than a tool does, however slow one is."""
AIMLESS = 0.5
"""What it costs to begin with a call that uses nothing of what is at hand, where something is."""
CHANGING = 2.0
"""What it costs to change something on the way: two more calls that only read are preferred."""


class Flows(Protocol):
    """What is asked of a graph."""

    @property
    def tools(self) -> Mapping[str, Ports]:
        """All tools, by name."""
        ...

    def into(self, tool: str) -> Sequence[Edge]:
        """Give the edges to a tool."""
        ...


class Terms:
    """What holds for each tool, worked out once, when it is asked for."""

    def __init__(self, graph: Flows, have: Have, wanted: frozenset[str] = frozenset()) -> None:
        """`wanted`: tools that are to be called, whatever they do."""
        self.graph = graph
        self.have = have
        self.wanted = wanted
        self._needs: dict[str, Need | None] = {}
        self._costs: dict[str, float] = {}
        self._offers: dict[str, Mapping[str, Sequence[tuple[int, Offer]]]] = {}

    def need(self, tool: str) -> Need | None:
        """Say what a tool needs; None of one that may not be called."""
        if tool not in self._needs:
            ports = self.graph.tools.get(tool)
            refused = ports is None or (tool not in self.wanted and seems_to_destroy(ports))
            self._needs[tool] = None if ports is None or refused else need_of(ports, self.have)
        return self._needs[tool]

    def cost(self, tool: str) -> float:
        """Say what a call costs itself."""
        if tool not in self._costs:
            need = self.need(tool)
            assert need is not None, "only what may be called has a cost"
            cost = TOOL + min(TOOL, SECOND * (need.ports.latency_ms or 0.0) / 1_000)
            if self.have and not need.open and not need.uses_have:
                cost += AIMLESS
            if tool not in self.wanted and seems_to_change(need.ports):
                cost += CHANGING
            self._costs[tool] = cost
        return self._costs[tool]

    def offers(self, tool: str) -> Mapping[str, Sequence[tuple[int, Offer]]]:
        """Give what each other tool that may be called offers for what a tool needs, by the number of the unit."""
        if tool not in self._offers:
            found: dict[str, list[tuple[int, Offer]]] = {}
            need = self.need(tool)
            assert need is not None, "only what may be called is supplied"
            for edge in self.graph.into(tool):
                if edge.source != tool and self.need(edge.source) is not None:
                    made = list(offers(need, edge, self.graph.tools[edge.source], self.have))
                    if made:
                        found[edge.source] = made
            self._offers[tool] = found
        return self._offers[tool]
