"""`halflap graph` and `halflap suggest`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import pytest

from cli.program import configure, definitions, halflap

if TYPE_CHECKING:
    from pathlib import Path

    from cli.program import Done


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
FIND = {
    "name": "find_customer",
    "description": "Find a customer by phone.",
    "inputSchema": _object(phone=TEXT),
    "outputSchema": _object(customer_id=WHOLE, name=TEXT),
}
ORDERS = {
    "name": "list_customer_orders",
    "description": "The orders of a customer.",
    "inputSchema": _object(customer_id=WHOLE),
    "outputSchema": _object(order_ids={"type": "array", "items": TEXT}),
}
ORDER = {
    "name": "get_order",
    "description": "One order \u202e<script>alert(1)</script>\x1b[31m",
    "inputSchema": _object(order_id=TEXT),
    "outputSchema": _object(total={"type": "number"}),
}
SHOP = "halflap-test.json"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("graph")
    configure(home, definitions(home, FIND, ORDERS, ORDER, name="shop"))
    return home


@pytest.fixture(scope="module")
def done(place: Path) -> dict[str, Done]:
    wanted = ("suggest", "--want", "get_order")
    asked: dict[str, tuple[str, ...]] = {
        "graph": ("graph",),
        "json": ("graph", "--json"),
        "mermaid": ("graph", "--format", "mermaid"),
        "file": ("graph", "--format", "dot", "--output", "graph.dot"),
        "unwritable": ("graph", "--format", "dot", "--output", "no/such/folder.dot"),
        "explain unknown": ("graph", "explain", "get_order", "mcp__shop__fnd_customer"),
        "suggest": (*wanted, "--have", "phone=555"),
        "suggest --json": (*wanted, "--have", "phone=555", "--json"),
        "program": (*wanted, "--have", "customer_id=7", "--program"),
        "placeholder": (*wanted, "--have", "customer_id", "--json"),
        "nothing --program": ("suggest", "--want", "zyzzyva", "--program"),
        "twice": (*wanted, "--have", "a=1", "--have", "a=2"),
        "no name": (*wanted, "--have", "=1"),
        "program --json": (*wanted, "--program", "--json"),
    }
    return {name: halflap(*words, "-c", SHOP, home=place) for name, words in asked.items()}


def test_the_table_lists_edges_with_their_mappings(done: dict[str, Done]) -> None:
    rows = [" ".join(line.split()) for line in done["graph"].out.splitlines()]
    (row,) = (
        one for one in rows if one.startswith("mcp__shop__find_customer mcp__shop__list_customer_orders")
    )
    assert " strict 0." in row
    assert row.endswith("customer_id → customer_id")


def test_the_json_has_nodes_and_edges(done: dict[str, Done]) -> None:
    data = done["json"].json
    assert sorted(node["name"] for node in data["nodes"]) == [
        "mcp__shop__find_customer",
        "mcp__shop__get_order",
        "mcp__shop__list_customer_orders",
    ]
    assert {"from", "to", "coverage", "confidence", "mappings", "evidence"} <= data["edges"][0].keys()
    pairs = {(edge["from"], edge["to"]) for edge in data["edges"]}
    assert ("mcp__shop__find_customer", "mcp__shop__list_customer_orders") in pairs
    assert ("mcp__shop__list_customer_orders", "mcp__shop__get_order") in pairs


def test_pictures_are_written_to_stdout_or_a_file(done: dict[str, Done], place: Path) -> None:
    assert done["mermaid"].out.startswith("flowchart LR")
    assert done["file"].out == ""
    assert (place / "graph.dot").read_text().startswith("digraph")


def test_a_suggestion_lists_its_steps_and_where_values_come_from(done: dict[str, Done]) -> None:
    (first, *_) = done["suggest --json"].json["suggestions"]
    assert [one.rpartition("__")[2] for one in first["tools"]] == [
        "find_customer",
        "list_customer_orders",
        "get_order",
    ]
    assert first["steps"][0]["arguments"]["phone"]["value"] == "555"
    assert done["suggest"].code == 0
    assert "mcp__shop__list_customer_orders" in done["suggest"].out


def test_the_program_alone_is_a_program(done: dict[str, Done]) -> None:
    ast.parse(done["program"].out)
    assert "customer_id = 7\n" in done["program"].out


def test_a_placeholder_is_left_to_be_filled_in(done: dict[str, Done]) -> None:
    best = done["placeholder"].json["suggestions"][0]
    assert best["steps"][0]["arguments"]["customer_id"]["value"] is None
    assert "customer_id = None" in best["program"]


def test_no_suggestion_exits_with_1(done: dict[str, Done]) -> None:
    assert (done["nothing --program"].code, "zyzzyva" in done["nothing --program"].err) == (1, True)


@pytest.mark.parametrize("name", ["unwritable", "explain unknown", "twice", "no name", "program --json"])
def test_a_mistake_exits_with_2(done: dict[str, Done], name: str) -> None:
    assert done[name].code == 2


def test_control_characters_of_a_server_are_removed(done: dict[str, Done]) -> None:
    for name in ("graph", "suggest", "mermaid"):
        assert not set(done[name].out) & {"\x1b", "\u202e"}


def test_a_server_that_is_down_is_named(tmp_path: Path) -> None:
    configure(tmp_path, {"name": "bad", "command": "false"})
    found = halflap("suggest", "--want", "email", "-c", SHOP, home=tmp_path)
    assert (found.code, "'bad'" in found.err) == (1, True)
