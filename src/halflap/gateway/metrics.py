"""Metrics: tools by how their output is known, edges by coverage and evidence, and the cost of learning."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halflap.core.errors import StoreError
from halflap.observe import METERS

if TYPE_CHECKING:
    from halflap.catalog import Catalog
    from halflap.gateway.learned import LearnedSchemas
    from halflap.graph.edges import Edge
    from halflap.observe import GraphSync
    from halflap.store import Store


@dataclass(frozen=True)
class Metrics:
    """Counts the present state."""

    store: Store
    catalog: Catalog
    sync: GraphSync
    learned: LearnedSchemas

    async def current(self) -> dict[str, Any]:
        """Return all metrics, after listing servers and learning from every result so far.

        `learning` is summed over all gateways that use the store; `meanings` explains each of its numbers.
        """
        await self.catalog.ensure_listed()
        await self.learned.catch_up()
        return await self.counts()

    async def counts(
        self, tools: Collection[str] | None = None, *, seconds: float = math.inf
    ) -> dict[str, Any]:
        """Return the same without asking any server; with `tools`, only edges from or to one of them.

        `edges` is None if counting them takes longer than `seconds`.
        """
        edges = await self.sync.run(
            lambda graph: _counted(
                (
                    one
                    for one in graph.edges()
                    if tools is None or not {one.source, one.target}.isdisjoint(tools)
                ),
                time.monotonic() + seconds,
            )
        )
        try:
            meters = await self.store.counters()
        except StoreError:
            meters = {}
        snapshot = self.catalog.snapshot
        outputs = Counter((await self.learned.output_kinds()).values())
        return {
            "tools": len(snapshot.tools),
            "callable": len(snapshot.callable),
            "servers": {name: len(tools) for name, tools in sorted(snapshot.by_server.items())},
            "outputs": {kind: outputs[kind] for kind in ("declared", "learned", "unknown")},
            "edges": edges,
            "learning": {name: meters.get(f"learning_{name}", 0.0) for name in METERS},
            "meanings": METERS,
        }


def _counted(edges: Iterable[Edge], until: float) -> dict[str, Any] | None:
    coverage = {"strict": 0, "partial": 0, "optional": 0}
    evidence: dict[str, dict[str, int]] = {}
    total = pagination = 0
    for edge in edges:
        if time.monotonic() > until:
            return None
        total += 1
        pagination += edge.is_pagination
        coverage[edge.coverage] += 1
        for kind in edge.kinds:
            by_coverage = evidence.setdefault(kind, dict.fromkeys(coverage, 0))
            by_coverage[edge.coverage] += 1
    return {
        "total": total,
        "pagination": pagination,
        "coverage": coverage,
        "evidence": dict(sorted(evidence.items())),
    }
