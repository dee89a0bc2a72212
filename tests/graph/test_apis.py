"""Links and plans over invented tools in the styles of well-known APIs; see `apis`."""

from __future__ import annotations

from typing import Any

from graph.apis import ALL, FLOWS, NEVER, ROUTES
from halflap.graph.edges import Graph
from halflap.graph.plan import plan, target_of

FEWEST_FLOWS = 70
FEWEST_ROUTES = 20
GRAPH = Graph(ALL)


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


def full(name: str) -> str:
    return "mcp__" + name.replace(".", "__", 1)


def wrong_links(line: str) -> list[str]:
    """Return the parameters of a flow whose best link does not start at the right field."""
    source, target, *links = line.split(" ")
    edge = GRAPH.edge(full(source), full(target))
    made = [] if edge is None else edge.to_json()["mappings"]
    wrong = []
    for link in links:
        parameter, _, places = link.partition("=")
        best = next((one["from"] for one in made if one["to"] == parameter), None)
        if best not in places.split("|"):
            wrong.append(f"{source} {target} {parameter} <- {best}")
    return wrong


def wrong_plan(line: str) -> str:
    """Return the tools of the best plan, unless they are the right ones."""
    asked, _, route = line.partition(" : ")
    want, *known = asked.split(" ")
    have: dict[str, Any] = {}
    for one in known:
        name, _, value = one.partition("=")
        have[name] = int(value) if value.isdigit() else value
    found = plan(GRAPH, want=[target_of(GRAPH, full(want))], have=have).suggestions
    tools = " ".join(one.ports.original_name for one in found[0].tasks) if found else ""
    return "" if tools in route.split(" | ") else f"{line} -- {tools}"


def test_the_best_links_start_at_the_right_fields() -> None:
    wrong = [one for line in lines(FLOWS) if (one := wrong_links(line))]
    assert len(lines(FLOWS)) - len(wrong) >= FEWEST_FLOWS, wrong


def test_there_is_no_edge_where_nothing_can_be_carried() -> None:
    edges = [GRAPH.edge(*map(full, line.split())) for line in lines(NEVER)]
    assert not any(edges), edges


def test_the_best_plans_are_right() -> None:
    wrong = [one for line in lines(ROUTES) if (one := wrong_plan(line))]
    assert len(lines(ROUTES)) - len(wrong) >= FEWEST_ROUTES, "\n".join(wrong)
