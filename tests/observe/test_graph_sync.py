"""The graph is kept up to date with the catalogue, with what is learned, and in the store."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest

from halflap.calls import Answered
from halflap.catalog import Snapshot
from halflap.core.values import Tool
from halflap.graph.lineage import Count, Flow, Lineage
from halflap.learn import Learned, infer
from halflap.observe import Edges, Knowledge, Learning, key_of
from halflap.observe import graph_sync as module
from halflap.store import ToolKey, open_store
from observe.answers import structured
from store.rows import call

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
        self.edges = Edges(
            store, lambda: self.snapshot, self.knowledge, is_destructive=lambda _: False, **options
        )

    async def pairs(self) -> set[tuple[str, str]]:
        return pairs(await self.edges.graph())

    async def kept(self) -> set[tuple[str, str]]:
        await self.settled()
        return {(edge.source.tool, edge.target.tool) for edge in await self.store.edges()}

    async def settled(self) -> None:
        while tasks := [one for one in self.edges._tasks.values() if not one.done()]:
            await asyncio.wait(tasks)


def pairs(graph: Graph) -> set[tuple[str, str]]:
    return {(edge.source.rpartition("__")[2], edge.target.rpartition("__")[2]) for edge in graph.edges()}


@asynccontextmanager
async def world(*tools: Tool, **options: Any) -> AsyncIterator[World]:
    store = await open_store(None)
    made = World(store, *tools, **options)
    try:
        yield made
    finally:
        await made.edges.close()
        await store.close()


FED = ("find_customer", "list_orders")
THEN = ("list_orders", "get_order")


def test_edges_that_values_followed_are_stored_and_others_are_computed(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_REST_SECONDS", 0.01)

    async def main() -> None:
        async with world(FIND, ORDERS, UNTOLD) as one:
            assert await one.pairs() == {FED, THEN}
            assert await one.kept() == set()
            flow = Flow(key_of(FIND), "customer_id", key_of(ORDERS), "customer_id")
            one.edges.flowed(Lineage({flow: Count(2, 1)}))
            assert await one.kept() == {FED}
            (edge,) = await one.store.edges()
            assert (edge.source, edge.target, edge.coverage) == (key_of(FIND), key_of(ORDERS), "strict")
            assert edge.mappings[0]["from"] == "customer_id"
            assert "lineage" in edge.kinds

    run(main())


def test_tools_that_come_go_and_change_are_followed(run: Run) -> None:
    async def main() -> None:
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

    run(main())


@pytest.mark.parametrize("how", ["blocked", "held"])
def test_what_may_not_be_called_is_not_in_it(run: Run, how: str) -> None:
    async def main() -> None:
        async with world(FIND, ORDERS, UNTOLD) as one:
            assert len(await one.pairs()) == 2
            kept: Any = {FIND.name: "a rule"} if how == "blocked" else frozenset({FIND.name})
            one.snapshot = snapshot(FIND, ORDERS, UNTOLD, **{how: kept})
            assert await one.pairs() == {THEN}
            assert FIND.name not in (await one.edges.graph()).tools

    run(main())


def learned(*values: Any) -> Learned:
    return Learned(structured=infer(values, range(len(values))))


PAYING = [{"payment_id": f"P{number}", "amount": number} for number in range(30)]


def test_what_a_result_shows_is_in_the_graph_when_it_is_asked_for_next(run: Run) -> None:
    async def main() -> None:
        async with world(FIND, UNTOLD, LATER) as one:
            learning = Learning(
                one.store, one.knowledge, on_changed=one.edges.changed, on_flows=one.edges.flowed
            )
            assert await one.pairs() == set()
            for number, value in enumerate(PAYING):
                arguments = f'{{"order_id": "{number}"}}'
                learning.take(Answered(f"c{number}", UNTOLD, arguments, structured(value), float(number)))
            await learning.flush()
            assert await one.pairs() == {("get_order", "refund_payment")}
            await learning.close()

    run(main())


def test_where_values_were_seen_to_go_is_evidence_at_once(run: Run) -> None:
    source = tool("make", "", "thing")
    target = tool("use", "stuff")
    flow = Lineage({Flow(key_of(source), "thing", key_of(target), "stuff"): Count(20, 9)})

    async def main() -> None:
        async with world(source, target) as one:
            assert await one.pairs() == set()
            one.edges.flowed(flow)
            assert await one.pairs() == {("make", "use")}
            graph = await one.edges.graph()
            edge = graph.edge(source.name, target.name)
            assert edge is not None
            assert edge.kinds == {"lineage"}
        async with world(source, target, lineage=False) as one:
            one.edges.flowed(flow)
            await one.store.add_learned("live", {}, lineage=flow)
            assert await one.pairs() == set()

    run(main())


@pytest.mark.parametrize(("definition", "counts"), [("", True), ("another", False)])
def test_lineage_of_another_definition_does_not_count_and_of_an_unknown_one_does(
    run: Run,
    definition: str,
    counts: bool,
) -> None:
    source, target = tool("make", "", "thing"), tool("use", "stuff")
    flow = Flow(ToolKey("shop", "make", definition), "thing", ToolKey("shop", "use", definition), "stuff")

    async def main() -> None:
        async with world(source, target) as one:
            await one.store.add_learned("backfill", {}, lineage=Lineage({flow: Count(20, 9)}))
            assert bool(await one.pairs()) is counts

    run(main())


def test_what_another_process_added_is_read_after_a_while(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        async with world(UNTOLD, LATER) as one:
            assert await one.pairs() == set()
            flow = Flow(key_of(UNTOLD), "payment_id", key_of(LATER), "payment_id")
            await one.store.add_learned(
                "backfill", {key_of(UNTOLD): learned(*PAYING)}, lineage=Lineage({flow: Count(3, 3)})
            )
            assert await one.pairs() == set()
            monkeypatch.setattr(module, "_FRESH_SECONDS", -1.0)
            monkeypatch.setattr("halflap.observe.knowledge._FRESH_SECONDS", -1.0)
            await one.edges.graph()
            await one.settled()
            assert await one.pairs() == {("get_order", "refund_payment")}
            graph = await one.edges.graph()
            edge = graph.edge(UNTOLD.name, LATER.name)
            assert edge is not None
            assert "lineage" in edge.kinds

    run(main())


def test_how_long_calls_take_and_what_is_destructive_is_in_it(run: Run) -> None:
    async def main() -> None:
        store = await open_store(None)
        await store.record(
            calls=[
                call(number, server="shop", tool="list_orders", duration_ms=40.0 + number)
                for number in range(3)
            ]
        )
        edges = Edges(
            store,
            lambda: snapshot(FIND, ORDERS),
            None,
            is_destructive=lambda one: one.original_name == "find_customer",
        )
        tools = (await edges.graph()).tools
        assert (tools[ORDERS.name].latency_ms, tools[FIND.name].latency_ms) == (41.0, None)
        assert (tools[ORDERS.name].is_destructive, tools[FIND.name].is_destructive) == (False, True)
        await edges.close()
        await store.close()

    run(main())


def test_a_rebuild_stores_the_edges_again(run: Run) -> None:
    flow = Flow(key_of(FIND), "customer_id", key_of(ORDERS), "customer_id")

    async def main() -> None:
        async with world(FIND, ORDERS) as one:
            await one.store.add_learned("backfill", {}, lineage=Lineage({flow: Count(20, 9)}))
            assert pairs(await one.edges.rebuild()) == {FED}
            assert await one.kept() == {FED}

    run(main())


def test_work_on_the_graph_runs_while_nothing_changes_it(run: Run) -> None:
    async def main() -> None:
        async with world(FIND, ORDERS) as one:
            assert await one.edges.run(lambda graph: len(graph.tools)) == 2

    run(main())
