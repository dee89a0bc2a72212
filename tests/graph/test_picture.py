"""Mermaid and DOT pictures of workflows and edges."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from graph.made import graph_of, ports
from halflap.graph.draw import edges_dot, edges_mermaid, workflow_mermaid
from halflap.graph.plan import plan, target_of

if TYPE_CHECKING:
    from halflap.graph.workflow import Workflow

ORDERS = ports("list_orders", "customer_id cursor?", "orders[].order_id next_cursor?")
ORDER = ports("get_order", "order_id", "sku")
STOCK = ports("stock", "sku warehouse_code", "available", server="store")
GRAPH = graph_of(ORDERS, ORDER, STOCK)


def workflow() -> Workflow:
    return plan(GRAPH, want=[target_of(GRAPH, "available")], have={"customer_id": "c"}).suggestions[0]


def test_mermaid_shows_inputs_steps_and_targets() -> None:
    lines = [one.strip() for one in workflow_mermaid(workflow()).split("\n")]
    assert lines[0] == "flowchart LR"
    assert 's1["list_orders<br/>shop #183; page by page"]' in lines
    assert 's2["get_order<br/>shop #183; for each"]' in lines
    assert 'v1(["customer_id"])' in lines
    assert 'v2(["warehouse_code#63;"])' in lines
    assert 'w1{{"available"}}' in lines
    assert 's1 -->|"orders#91;#93;.order_id #8594; order_id"| s2' in lines


def test_missing_values_are_dashed_and_data_to_another_server_is_bold() -> None:
    mermaid = workflow_mermaid(workflow())
    assert re.search(r"v2 -\.->", mermaid)
    assert re.search(r"s2 ==>", mermaid)


def test_edges_show_mappings_and_optional_ones_are_dashed() -> None:
    edges = list(GRAPH.edges())
    mermaid, dot = edges_mermaid(edges, GRAPH.tools), edges_dot(edges, GRAPH.tools)
    assert '-.->|"next_cursor #8594; cursor"|' in mermaid
    assert '[label="orders[].order_id → order_id"]' in dot
