"""What a command says beside what is done to what: a change that would leave it out is not meant."""

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
        open_sluice | sluice_id | Open a sluice.
        start_pump | pump_id speed? | Start a pump.
        backup_ledger | ledger | Back up a ledger.
        book_berth | berth_id night | Book a berth for a night.
        create_directory | path | Create a directory.
        send_notice | email | Send a notice.
        add_buoy | colour? | Add a buoy to the map.
        plan_voyage | harbour | Plan a voyage.
        update_log | log_id text | Update a log.
        reset_meter | meter_id | Reset the meter of a berth.
        cancel_voyage | voyage_id | Cancel a voyage.
        restart_buoy | name | Restart a buoy.
        send_money | account_id | Send money to an account.
        """
    )
}


def way(tool: str, goal: str, have: dict[str, Any]) -> Asked:
    return asked(read_goal(goal, have), TOOLS[tool])


@pytest.mark.parametrize(
    ("tool", "goal", "have", "word"),
    [
        ("open_sluice", "open sluice s1 at noon", {"sluice_id": "s1"}, "noon"),
        ("open_sluice", "open sluice s1 on Friday", {"sluice_id": "s1"}, "Friday"),
        ("open_sluice", "open sluice s1 as a test", {"sluice_id": "s1"}, "test"),
        ("open_sluice", "open sluices s1 and s2", {"sluice_id": "s1"}, "s2"),
        ("open_sluice", "open it for ten minutes", {"sluice_id": "s1"}, "ten"),
        ("start_pump", "start pump p1 at half speed", {"pump_id": "p1"}, "half"),
        ("start_pump", "start pump p1 in 5 minutes", {"pump_id": "p1"}, "5"),
        ("backup_ledger", "make a backup of ledger l1 to tape", {"ledger": "l1"}, "tape"),
        ("add_buoy", "add 2 and 3", {}, "2"),
        ("add_buoy", "add a buoy near Dover", {}, "Dover"),
        ("send_notice", "send a notice to everyone", {"email": "a@b.org"}, "everyone"),
        ("open_sluice", "open sluices", {"sluice_id": "s1"}, "sluices"),
        ("open_sluice", "open sluices near s1", {"sluice_id": "s1"}, "sluices"),
        ("open_sluice", "open each sluice", {"sluice_id": "s1"}, "each"),
        ("open_sluice", "open every sluice", {"sluice_id": "s1"}, "every"),
        ("send_money", "send 5 euros to account 5", {"account_id": "5"}, "5"),
    ],
)
def test_a_change_that_would_leave_something_out_is_not_meant(
    tool: str, goal: str, have: dict[str, Any], word: str
) -> None:
    found = way(tool, goal, have)
    assert not found.is_meant
    assert found.doubt == word


@pytest.mark.parametrize(
    ("tool", "goal", "have"),
    [
        ("open_sluice", "open sluice s1 now, please", {"sluice_id": "s1"}),
        ("open_sluice", "open sluices s1 and s2", {"sluice_id": ["s1", "s2"]}),
        ("open_sluice", "open sluice number 7", {"sluice_id": "7"}),
        ("open_sluice", "open the sluice", {"sluice_id": "s1"}),
        ("start_pump", "start pump p1 at half speed", {"pump_id": "p1", "speed": "50 %"}),
        ("backup_ledger", "make a backup of ledger l1", {"ledger": "l1"}),
        ("backup_ledger", "do a backup of ledger l1", {"ledger": "l1"}),
        ("backup_ledger", "take a backup of the ledger l1", {"ledger": "l1"}),
        ("book_berth", "book berth b1 for tonight", {"berth_id": "b1", "night": "2026-05-01"}),
        ("book_berth", "book berth b1 for Saturday", {"berth_id": "b1"}),
        ("create_directory", "create directory new", {"path": "/x/new"}),
        ("create_directory", "create a folder new", {"path": "/x/new"}),
        ("create_directory", "create directory a", {"path": "/x/a"}),
        ("send_notice", "send a notice to a@b.org", {"email": "a@b.org"}),
        ("update_log", "update log l1 with today's catch", {"log_id": "l1", "text": "9 herrings"}),
        ("reset_meter", "reset meter of berth b1", {"meter_id": "b1"}),
        ("cancel_voyage", "cancel voyage number 7", {"voyage_id": "7"}),
        ("restart_buoy", "reboot buoy test", {"name": "test"}),
        ("open_sluice", "open the sluice of the old harbour", {}),
    ],
)
def test_a_clear_command_is_meant(tool: str, goal: str, have: dict[str, Any]) -> None:
    assert way(tool, goal, have).is_meant


@pytest.mark.parametrize("verb", ["kill", "terminate"])
def test_whoever_says_to_destroy_does_not_mean_what_only_stops(verb: str) -> None:
    (tool,) = catalogue("stop_pump | pump_id | Stop a pump.")
    assert not asked(read_goal(f"{verb} pump p1", {"pump_id": "p1"}), tool).is_meant
    assert asked(read_goal("stop pump p1", {"pump_id": "p1"}), tool).is_meant
