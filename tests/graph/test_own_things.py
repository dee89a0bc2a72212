"""What names the very thing that two tools are about leads from one to the other, and before what only mentions it."""

from __future__ import annotations

import pytest

from graph.making import graph_of, pair, tool
from halflap.graph.plan import plan
from halflap.graph.want import target_of

THINGS = [
    "status",
    "resolution",
    "type",
    "option",
    "source",
    "title",
    "number",
    "unit",
    "level",
    "state",
    "region",
]


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("is_short", [False, True])
def test_its_id_says_enough_whatever_the_word_is(thing: str, is_short: bool) -> None:
    many = "statuses" if thing == "status" else f"{thing}s"
    found = tool("x", f"list_{many}", "", {many: [{"id" if is_short else f"{thing}_id": str, "note": str}]})
    assert pair(found, tool("x", f"get_{thing}", f"{thing}_id!", {"text": str})) is not None


@pytest.mark.parametrize("target", ["x.get_gizmo", "x.create_status", "y.get_status"])
def test_what_only_one_of_them_is_about_says_as_little_as_before(target: str) -> None:
    server, name = target.split(".")
    found = tool("x", "list_statuses", "", {"statuses": [{"status_id": str}]})
    assert pair(found, tool(server, name, "status_id!", {"text": str})) is None


@pytest.mark.parametrize(
    ("named", "other"), [("port_code", "pilots"), ("port_id", "pilots"), ("port_id", "agents")]
)
def test_who_lists_the_things_comes_before_who_mentions_them(named: str, other: str) -> None:
    graph = graph_of(
        tool("x", f"list_{other}", "", {"results": [{"name": str, named: str}]}),
        tool("x", "list_ports", "", {"results": [{named: str}]}),
        tool("x", "get_port", f"{named}!", {"depth": float}),
    )
    first, second = plan(graph, want=[target_of(graph, "get_port")], have={}).suggestions
    assert "mcp__x__list_ports" in first.tools
    assert first.cost < second.cost
