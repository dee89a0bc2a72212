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
TOOLS = [
    {
        "name": "find_customer",
        "description": "Find a customer by phone.",
        "inputSchema": _object(phone=TEXT),
        "outputSchema": _object(customer_id=WHOLE, name=TEXT),
    },
    {
        "name": "list_orders",
        "description": "The orders of a customer. \u202e<script>alert(1)</script>\x1b[31m",
        "inputSchema": _object(customer_id=WHOLE),
        "outputSchema": _object(order_ids={"type": "array", "items": TEXT}),
    },
]
FIND, LIST = (f"mcp__shop__{tool['name']}" for tool in TOOLS)
WANTED = ("suggest", "--want", "list_orders")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("graph")
    configure(home, definitions(home, *TOOLS, name="shop"))
    run(home, "list")
    return home


def run(place: Path, *words: str) -> Done:
    return halflap(*words, "-c", "halflap-test.json", home=place)


def test_links_are_shown_with_their_fields(place: Path) -> None:
    shown = run(place, "graph").out.splitlines()
    (at,) = (at for at, line in enumerate(shown) if line.startswith(f"{FIND} → {LIST} "))
    assert ("strict" in shown[at], shown[at + 1].strip()) == (True, "customer_id → customer_id")


def test_a_suggestion_is_safe_to_print(place: Path) -> None:
    out = run(place, *WANTED, "--have", "phone=555").out
    assert (FIND in out, set(out) & {"\x1b", "\u202e"}) == (True, set())


def test_the_program_alone_is_a_program(place: Path) -> None:
    out = run(place, *WANTED, "--have", "customer_id=7", "--program").out
    ast.parse(out)
    assert "customer_id = 7\n" in out
    later = run(place, *WANTED, "--have", "customer_id", "--program").out
    assert "customer_id = None" in later
