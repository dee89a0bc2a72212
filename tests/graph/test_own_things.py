"""What names the very thing that two tools are about leads from one to the other, and before what only mentions it."""

from __future__ import annotations

import pytest

from graph.making import graph_of, pair, tool
from halflap.graph.plan import plan
from halflap.graph.supply import MENTIONED
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


class TestWhereThingsAreListed:
    SITES = tool("x", "list_sites", "", {"sites": [{"id": str, "city": str}]})
    GUARDS = tool("x", "list_guards", "", {"guards": [{"guard_id": str, "shift": str, "site_id": str}]})
    FIND = tool("x", "find_guards", "query!", {"guards": [{"guard_id": str, "site_id": str}]})
    DOORS = tool("x", "list_doors", "site_id!", {"doors": [{"door_id": str}]})
    LOCK = tool("x", "lock_door", "door_id!", {"done": bool})

    def costs(self, want: str, have: dict[str, str], *, every: bool = False) -> dict[str, float]:
        graph = graph_of(self.SITES, self.GUARDS, self.FIND, self.DOORS, self.LOCK)
        found = plan(graph, want=[target_of(graph, want)], have=have, every=every).suggestions
        return {one.tasks[0].ports.original_name: one.cost for one in found}

    def test_going_through_all_that_mention_them_costs_more(self) -> None:
        costs = self.costs("list_doors", {})
        assert costs["list_guards"] == pytest.approx(costs["list_sites"] + MENTIONED)

    def test_what_is_done_to_all_is_not_done_to_those_that_something_mentions(self) -> None:
        assert self.costs("lock_door", {}, every=True).keys() == {"list_sites"}

    @pytest.mark.parametrize("have", [{"query": "Ann"}, {"shift": "night"}])
    def test_what_mentions_them_and_is_chosen_by_what_is_at_hand_costs_no_more(
        self, have: dict[str, str]
    ) -> None:
        costs = self.costs("list_doors", have)
        first = "find_guards" if "query" in have else "list_guards"
        assert costs[first] <= costs["list_sites"]
