"""Two are named and one is at hand: doing it to the one is not what was told."""

from __future__ import annotations

from typing import Any

import pytest

from graph.commanding import catalogue
from halflap.graph.asking import Asked, asked
from halflap.graph.clauses import read_goal

TOOLS = {
    one.original_name: one
    for one in catalogue(
        """
        move_cow | cow_id barn_id | Move a cow to a barn.
        update_cow | cow_id barn_id? | Update a cow.
        create_barn | name | Create a barn.
        start_milking | cow_id | Start milking a cow.
        close_ticket | ticket_id | Close a ticket.
        assign_engineer | station_id engineer_id | Assign an engineer to a station.
        send_letter | to subject? body? | Send a letter.
        book_berth | berth_id night | Book a berth for a night.
        rename_boat | boat_id name | Rename a boat.
        """
    )
}
COW: dict[str, Any] = {"cow_id": "COW-001", "barn_id": "BRN-1"}


def way(tool: str, goal: str, have: dict[str, Any]) -> Asked:
    return asked(read_goal(goal, have), TOOLS[tool])


@pytest.mark.parametrize(
    ("tool", "goal", "have", "word"),
    [
        ("move_cow", "move cow COW-001 and COW-002 to barn BRN-1", COW, "COW-002"),
        ("move_cow", "move cows COW-001 and COW-002 to barn BRN-1", COW, "COW-002"),
        ("move_cow", "move cow COW-001, COW-002 to barn BRN-1", COW, "COW-002"),
        ("move_cow", "move cow COW-001, COW-002 and COW-003 to barn BRN-1", COW, "COW-002"),
        ("move_cow", "move cow COW-001 as well as COW-002 to barn BRN-1", COW, "COW-002"),
        ("move_cow", "move cow COW-001 together with COW-002 to barn BRN-1", COW, "COW-002"),
        ("move_cow", "move cow COW-001 and cow COW-002 to barn BRN-1", COW, "COW-002"),
        ("move_cow", "move cow COW-001 and also COW-002 to barn BRN-1", COW, "COW-002"),
        ("move_cow", "move both COW-001 and COW-002 to barn BRN-1", COW, "COW-002"),
        ("move_cow", "move cow COW-001 to barn BRN-1 and BRN-2", COW, "BRN-2"),
        ("move_cow", "move cow COW-001 to barn BRN-1 and COW-002 to barn BRN-2", COW, "COW-002"),
        ("update_cow", "update cow COW-001 and COW-002", COW, "COW-002"),
        ("update_cow", "update cows COW-001 to COW-003", COW, "COW-003"),
        ("start_milking", "start milking cow COW-001 and then COW-002", {"cow_id": "COW-001"}, "COW-002"),
        ("move_cow", "move cow bella and lotta to barn b1", {"cow_id": "bella", "barn_id": "b1"}, "lotta"),
        ("create_barn", "create barns North and South", {"name": "North"}, "South"),
        ("create_barn", "create barn North and South", {"name": "North"}, "South"),
        ("create_barn", "create barns North, South and West", {"name": "North"}, "South"),
        ("close_ticket", "find tickets t1 and t2 and close them", {"ticket_id": "t1"}, "close"),
        ("close_ticket", "close ticket 7, 8", {"ticket_id": 7}, "8"),
        (
            "assign_engineer", "assign engineer E1 to station S1 and S2", {"station_id": "S1", "engineer_id": "E1"}, "S2",
        ),
        ("send_letter", "send a letter to Ann and Bob", {"to": "Ann", "subject": "x", "body": "y"}, "Bob"),
    ],
)  # fmt: skip
def test_a_second_one_that_is_not_at_hand_leaves_the_command_undone(
    tool: str, goal: str, have: dict[str, Any], word: str
) -> None:
    found = way(tool, goal, have)
    assert not found.is_meant
    assert found.doubt == word


@pytest.mark.parametrize(
    ("tool", "goal", "have"),
    [
        ("move_cow", "move cow COW-001 to barn BRN-1", COW),
        ("move_cow", "move cows COW-001 and COW-002 to barn BRN-1", COW | {"cow_id": ["COW-001", "COW-002"]}),
        ("start_milking", "start milking cow COW-001 and wash her", {"cow_id": "COW-001"}),
        ("close_ticket", "close ticket t1 and list users", {"ticket_id": "t1"}),
        ("close_ticket", "close ticket t1, please", {"ticket_id": "t1"}),
        ("close_ticket", "find ticket t1 and close it", {"ticket_id": "t1"}),
        ("send_letter", "send a letter to Ann, subject x", {"to": "Ann", "subject": "x", "body": "y"}),
        ("create_barn", "create barn North and show all barns", {"name": "North"}),
        ("rename_boat", "rename boat B1, Wanda", {"boat_id": "B1", "name": "Wanda"}),
    ],
)
def test_one_that_is_told_alone_is_done(tool: str, goal: str, have: dict[str, Any]) -> None:
    assert way(tool, goal, have).is_meant
