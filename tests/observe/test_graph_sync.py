"""The graph is kept up to date with the catalogue and with what is learned."""

from __future__ import annotations

from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from halflap.catalog import Snapshot
from halflap.core.values import Tool
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.learn import Learned, infer
from halflap.observe import GraphSync, Knowledge, Learner, key_of
from halflap.observe import graph_sync as module
from halflap.store import ToolKey, open_store
from observe.answers import record, structured

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from halflap.graph.edges import Graph
    from halflap.store import Store

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


def tool(name: str, takes: str = "", gives: str = "") -> Tool:
    """Return a tool that takes and returns texts of these names."""
    properties = {one: {"type": "string"} for one in takes.split()}
    returns = {"type": "object", "properties": {one: {"type": "string"} for one in gives.split()}}
    return Tool(
        f"mcp__shop__{name}",
        "shop",
        name,
        "A tool.",
        {"type": "object", "properties": properties, "required": takes.split()},
        {**returns, "required": gives.split()} if gives else None,
        hash=f"{name} {takes} {gives}",
    )


FIND = tool("find_customer", "phone", "customer_id")
ORDERS = tool("list_orders", "customer_id", "order_id")
UNTOLD = tool("get_order", "order_id")
LATER = tool("refund_payment", "payment_id")


def snapshot(*tools: Tool, **more: Any) -> Snapshot:
    return Snapshot(tools=MappingProxyType({one.name: one for one in tools}), **more)


class World:
    """A catalogue that can be changed, and a graph over it."""

    def __init__(self, store: Store, *tools: Tool, **options: Any) -> None:
        self.store = store
        self.snapshot = snapshot(*tools)
        self.knowledge = Knowledge(store)
        self.sync = GraphSync(
            store, lambda: self.snapshot, self.knowledge, is_destructive=lambda _: False, **options
        )

    async def pairs(self) -> set[tuple[str, str]]:
        return pairs(await self.sync.graph())


def pairs(graph: Graph) -> set[tuple[str, str]]:
    return {(edge.source.rpartition("__")[2], edge.target.rpartition("__")[2]) for edge in graph.edges()}


@asynccontextmanager
async def world(*tools: Tool, **options: Any) -> AsyncIterator[World]:
    store = await open_store(None)
    made = World(store, *tools, **options)
    try:
        yield made
    finally:
        await store.close()


FED = ("find_customer", "list_orders")
THEN = ("list_orders", "get_order")


async def test_tools_that_come_go_and_change_are_followed() -> None:
    async with world(FIND, ORDERS) as one:
        assert await one.pairs() == {FED}
        one.snapshot = snapshot(FIND, ORDERS, UNTOLD)
        assert await one.pairs() == {FED, THEN}
        one.snapshot = snapshot(FIND, tool("list_orders", "customer_id", "receipt"), UNTOLD)
        assert await one.pairs() == {FED}
        one.snapshot = snapshot(FIND, ORDERS, UNTOLD)
        assert await one.pairs() == {FED, THEN}
        one.snapshot = snapshot(ORDERS, UNTOLD)
        assert await one.pairs() == {THEN}


@pytest.mark.parametrize("how", ["blocked", "held"])
async def test_what_may_not_be_called_is_not_in_it(how: str) -> None:
    async with world(FIND, ORDERS, UNTOLD) as one:
        assert len(await one.pairs()) == 2
        assert await one.sync.run(lambda graph: len(graph.tools)) == 3
        kept: Any = {FIND.name: "a rule"} if how == "blocked" else frozenset({FIND.name})
        one.snapshot = snapshot(FIND, ORDERS, UNTOLD, **{how: kept})
        assert await one.pairs() == {THEN}
        assert FIND.name not in (await one.sync.graph()).tools


def learned(*values: Any) -> Learned:
    return Learned(infer(values, range(len(values))))


PAYING = [{"payment_id": f"P{number}", "amount": number} for number in range(30)]


async def test_what_a_result_shows_is_in_the_graph_when_it_is_asked_for_next() -> None:
    async with world(FIND, UNTOLD, LATER) as one:
        learner = Learner(one.store, one.knowledge, on_learned=one.sync.learned)
        assert await one.pairs() == set()
        for number, value in enumerate(PAYING):
            learner.take(UNTOLD, record(UNTOLD, structured(value), number, {"order_id": str(number)}))
        await learner.flush()
        assert await one.pairs() == {("get_order", "refund_payment")}
        await learner.close()


async def test_where_values_were_seen_to_go_is_evidence_at_once() -> None:
    source = tool("make", "", "thing")
    target = tool("use", "stuff")
    flow = Lineage({Flow(key_of(source), "thing", key_of(target), "stuff"): Count(20, 9)})

    async with world(source, target) as one:
        assert await one.pairs() == set()
        await one.store.add_learned("live", {}, lineage=flow)
        assert await one.pairs() == set()
        one.sync.learned()
        assert await one.pairs() == {("make", "use")}
        graph = await one.sync.graph()
        edge = graph.edge(source.name, target.name)
        assert edge is not None
        assert edge.kinds == {"lineage"}
    async with world(source, target, lineage=False) as one:
        await one.store.add_learned("live", {}, lineage=flow)
        assert await one.pairs() == set()


@pytest.mark.parametrize(("definition", "counts"), [("", True), ("another", False)])
async def test_lineage_of_another_definition_does_not_count_and_of_an_unknown_one_does(
    definition: str,
    counts: bool,
) -> None:
    source, target = tool("make", "", "thing"), tool("use", "stuff")
    flow = Flow(ToolKey("shop", "make", definition), "thing", ToolKey("shop", "use", definition), "stuff")

    async with world(source, target) as one:
        await one.store.add_learned("backfill", {}, lineage=Lineage({flow: Count(20, 9)}))
        assert bool(await one.pairs()) is counts


async def test_what_another_process_added_is_read_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    async with world(UNTOLD, LATER) as one:
        assert await one.pairs() == set()
        flow = Flow(key_of(UNTOLD), "payment_id", key_of(LATER), "payment_id")
        await one.store.add_learned(
            "backfill", {key_of(UNTOLD): learned(*PAYING)}, lineage=Lineage({flow: Count(3, 3)})
        )
        assert await one.pairs() == set()
        monkeypatch.setattr(module, "_FRESH_SECONDS", -1.0)
        monkeypatch.setattr("halflap.observe.knowledge._FRESH_SECONDS", -1.0)
        assert await one.pairs() == {("get_order", "refund_payment")}
        graph = await one.sync.graph()
        edge = graph.edge(UNTOLD.name, LATER.name)
        assert edge is not None
        assert "lineage" in edge.kinds
