"""What a goal beside `want` says of to how many it is done, and to which of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graph.made import Made, ports
from halflap.gateway.wanted import plan_for_want
from halflap.graph.clauses import read_goal
from halflap.graph.workflow import Target

TOOLS = {
    "list_cows": ("", "cows[].cow_id cows[].barn_id", "List the cows."),
    "vaccinate_cow": ("cow_id", "", "Vaccinate a cow."),
    "update_cow": ("cow_id barn_id?", "", "Update a cow."),
    "list_stations": ("", "stations[].station_id stations[].band", "List the stations."),
    "list_engineers": ("", "engineers[].engineer_id", "List the engineers."),
    "assign_engineer": ("station_id engineer_id", "", "Assign an engineer to a station."),
    "mute_channel": ("station_id", "", "Mute the channel of a station."),
}
GRAPH = Made.of(
    *(replace(ports(name, takes, gives), description=said) for name, (takes, gives, said) in TOOLS.items())
)


def planned(goal: str, want: str, have: dict[str, Any]) -> tuple[list[str], str]:
    """Give the tools of the first suggestion that lacks nothing, and what is said of what is missing."""
    found = plan_for_want(read_goal(goal, have), GRAPH, Target("tool", f"mcp__shop__{want}"), have, 3)
    whole = [one for one in found.suggestions if not one.missing]
    return [one.ports.original_name for one in whole[0].tasks] if whole else [], " ".join(
        one.note for one in found.missing
    )


@pytest.mark.parametrize(
    ("goal", "want", "have", "tools"),
    [
        ("vaccinate all cows", "vaccinate_cow", {}, "list_cows vaccinate_cow"),
        ("vaccinate all cows of barn B1", "vaccinate_cow", {"barn_id": "B1"}, "list_cows vaccinate_cow"),
        ("vaccinate every cow in barn B1", "vaccinate_cow", {"barn_id": "B1"}, "list_cows vaccinate_cow"),
        ("assign engineer E1 to all stations", "assign_engineer", {"engineer_id": "E1"}, "list_stations assign_engineer"),
        ("mute the channel of all stations", "mute_channel", {}, "list_stations mute_channel"),
        ("mute the channel of each station", "mute_channel", {"band": "FM"}, "list_stations mute_channel"),
    ],
)  # fmt: skip
def test_all_is_understood_wherever_it_stands(goal: str, want: str, have: dict[str, Any], tools: str) -> None:
    assert planned(goal, want, have) == (tools.split(), "")


def test_of_all_those_are_chosen_that_have_what_is_at_hand() -> None:
    have = {"barn_id": "B1"}
    found = plan_for_want(
        read_goal("vaccinate all cows of barn B1", have),
        GRAPH,
        Target("tool", "mcp__shop__vaccinate_cow"),
        have,
        1,
    )
    (step, _) = found.to_json()["suggestions"][0]["steps"]
    assert [one["name"] for one in step["only_where"]] == ["barn_id"]


@pytest.mark.parametrize(
    ("goal", "want", "have", "why"),
    [
        ("vaccinate all sick cows", "vaccinate_cow", {}, "'sick' says to which, and nothing at hand does"),
        (
            "vaccinate all cows of farm F1",
            "vaccinate_cow",
            {"farm_id": "F1"},
            "'farm_id' says to which of them",
        ),
        ("vaccinate all cows near barn B1", "vaccinate_cow", {"barn_id": "B1"}, "'near' says to which"),
        # The barn may be the new one, or the one that they are in.
        ("update all cows of barn B1", "update_cow", {"barn_id": "B1"}, "'B1' says to which"),
        ("feed all cows", "vaccinate_cow", {}, "the goal does not plainly tell to do"),
        ("vaccinate all cows except the old ones", "vaccinate_cow", {}, "'except'"),
    ],
)
def test_where_all_does_not_count_it_is_said_why(
    goal: str, want: str, have: dict[str, Any], why: str
) -> None:
    tools, note = planned(goal, want, have)
    assert tools == []
    assert "which does not count here" in note
    assert why in note


def test_one_of_two_that_are_open_is_not_done_to_each_of_the_other() -> None:
    tools, note = planned("assign an engineer to all stations", "assign_engineer", {})
    assert tools == []
    assert "does not count here" in note


def test_who_says_no_all_is_told_how_to() -> None:
    tools, note = planned("vaccinate a cow", "vaccinate_cow", {})
    assert tools == []
    assert "`want` with a goal that says `all`" in note
