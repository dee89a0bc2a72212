"""What a goal tells to do, and to which: from the words to the calls, with nothing done that nobody said."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from cli.program import definitions
from graph.made import ports
from halflap.config import Config
from halflap.gateway import Gateway
from halflap.gateway.goals import asked_for
from halflap.graph.clauses import read_goal


def _object(names: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names.split()},
        "required": names.split(),
    }


def _list(name: str, many: str, has: str, description: str) -> dict[str, Any]:
    items = {"type": "array", "items": _object(has)}
    gives = {"type": "object", "properties": {many: items}, "required": [many]}
    return {"name": name, "description": description, "inputSchema": _object(""), "outputSchema": gives}


def _does(name: str, takes: str, description: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "inputSchema": _object(takes),
        "outputSchema": _object("done"),
    }


TOOLS = (
    _list("list_users", "users", "user_id name", "All users, newest first."),
    _does("delete_user", "user_id", "Delete a user."),
    _list("list_tickets", "tickets", "ticket_id status", "List tickets."),
    _does("close_ticket", "ticket_id", "Close a ticket."),
    _does("call_user", "user_id", "Call a user by phone."),
    _does("get_user", "user_id", "Get a user."),
    _does("wind_up_club", "club_id", "Wind up a club.") | {"annotations": {"destructiveHint": True}},
    _does("open_club", "club_id", "Open a club."),
    _does("send_letter", "user_id", "Send a letter to a user."),
)
USER, TICKET = {"user_id": "u1"}, {"ticket_id": "t1"}
ASKED: dict[str, dict[str, Any]] = {
    "delete user u1": {"have": USER},
    "delete all users": {},
    "delete all other users": {"have": USER},
    "delete the photo of user u1": {"have": USER},
    "delete user u1 and close ticket t1": {"have": USER | TICKET},
    "wind up club c1": {"have": {"club_id": "c1"}},
    "open club c1": {"have": {"club_id": "c1"}},
    "close ticket t1": {"have": TICKET},
    "close tickets t1 and t2": {"have": {"ticket_id": ["t1", "t2"]}},
    "close all tickets": {},
    "close all tickets with status open": {"have": {"status": "open"}},
    "close ticket t7": {},
    "call get_user for u1": {"have": USER},
    "use call_user for u1": {"have": USER},
    "call user u1": {"have": USER},
    "wanted: one": {"want": "delete_user", "have": USER},
    "wanted: all": {"want": "close_ticket", "goal": "close all tickets"},
    "wanted: all that are destroyed": {"want": "delete_user", "goal": "delete all users"},
    "wanted: others": {"want": "delete_user", "goal": "delete all other users"},
    "wanted: nothing said": {"want": "close_ticket"},
}
"""By their goals, or by names of their own where a tool is wanted."""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Ask for each; gives what was suggested."""
    folder = tmp_path_factory.mktemp("commanded")
    config = Config.from_mapping(
        {
            "servers": [definitions(folder, *TOOLS, name="ops")],
            "store": {"path": str(folder / "store.db")},
            "tools": {"destructive": ["mcp__ops__open_club"]},
        }
    )

    async def main() -> dict[str, dict[str, Any]]:
        async with Gateway.open(config) as gateway:
            return {
                goal: await gateway.suggest_workflow(
                    **({"goal": goal} | more if "want" not in more else more)
                )
                for goal, more in ASKED.items()
            }

    return asyncio.run(main())


def changing(found: dict[str, Any]) -> list[list[str]]:
    """The tools of each suggestion that changes something."""
    made = [one for one in found["suggestions"] if any(step["may_change_something"] for step in one["steps"])]
    return [[tool.rpartition("__")[2] for tool in one["tools"]] for one in made]


def note(found: dict[str, Any], name: str) -> str:
    """What is said of a tool that is not planned, or of a parameter that is missing."""
    (said,) = [str(one["note"]) for one in found["missing"] if one["parameter"] == name]
    return said


@pytest.mark.parametrize(
    ("goal", "tool"),
    [
        ("delete user u1", "delete_user"),
        ("delete all users", "delete_user"),
        ("delete all other users", "delete_user"),
        ("delete the photo of user u1", "delete_user"),
        ("wind up club c1", "wind_up_club"),
        ("open club c1", "open_club"),
    ],
)
def test_no_words_lead_to_what_destroys_but_it_is_named_with_the_way_to_have_it(
    told: dict[str, dict[str, Any]], goal: str, tool: str
) -> None:
    """It destroys by its name, by its server's word, or by the user's."""
    assert changing(told[goal]) == []
    said = note(told[goal], f"mcp__ops__{tool}")
    assert said.startswith("It may destroy something")
    assert f'`want="mcp__ops__{tool}"`' in said
    assert "`have`" in said


def test_what_destroys_is_named_also_beside_another_change_that_is_planned(
    told: dict[str, dict[str, Any]],
) -> None:
    found = told["delete user u1 and close ticket t1"]
    assert changing(found) == [["close_ticket"]]
    assert note(found, "mcp__ops__delete_user").startswith("It may destroy something")


@pytest.mark.parametrize(
    ("goal", "tool"), [("close ticket t1", "close_ticket"), ("call user u1", "call_user")]
)
def test_one_thing_that_is_plainly_said_is_done(
    told: dict[str, dict[str, Any]], goal: str, tool: str
) -> None:
    assert changing(told[goal]) == [[tool]]
    assert told[goal]["missing"] == []


def test_a_list_at_hand_is_a_call_for_each(told: dict[str, dict[str, Any]]) -> None:
    found = told["close tickets t1 and t2"]
    assert changing(found) == [["close_ticket"]]
    assert found["suggestions"][0]["steps"][0]["fan_out"]


@pytest.mark.parametrize("goal", ["close all tickets", "close all tickets with status open"])
def test_words_alone_do_nothing_to_each_of_what_is_found_and_the_reason_is_said(
    told: dict[str, dict[str, Any]], goal: str
) -> None:
    found = told[goal]
    assert changing(found) == [["close_ticket"]]
    assert [one["parameter"] for one in found["suggestions"][0]["missing"]] == ["ticket_id"]
    said = note(found, "ticket_id")
    assert said.startswith("By a goal alone it is done to one")
    assert "`want`" in said
    assert [one["tool"] for one in found["missing"][0]["could_provide"]] == ["mcp__ops__list_tickets"]


def test_one_that_is_named_and_not_at_hand_is_missing_with_the_word(told: dict[str, dict[str, Any]]) -> None:
    assert "'t7' says to which" in note(told["close ticket t7"], "ticket_id")


def test_the_word_because_of_which_it_is_not_meant_is_named(told: dict[str, dict[str, Any]]) -> None:
    assert "'photo'" in note(told["delete the photo of user u1"], "mcp__ops__delete_user")
    assert "'other'" in note(told["delete all other users"], "mcp__ops__delete_user")


def test_who_names_a_tool_by_its_name_means_no_other_that_changes_something(
    told: dict[str, dict[str, Any]],
) -> None:
    found = told["call get_user for u1"]
    assert changing(found) == []
    assert found["suggestions"][0]["tools"] == ["mcp__ops__get_user"]
    assert found["missing"] == []


def test_a_tool_that_changes_something_is_not_called_for_its_name_alone(
    told: dict[str, dict[str, Any]],
) -> None:
    found = told["use call_user for u1"]
    assert changing(found) == []
    assert '`want="mcp__ops__call_user"`' in note(found, "mcp__ops__call_user")


@pytest.mark.parametrize(
    ("wanted", "tools"),
    [
        ("wanted: one", ["delete_user"]),
        ("wanted: all", ["list_tickets", "close_ticket"]),
        ("wanted: all that are destroyed", ["list_users", "delete_user"]),
    ],
)
def test_what_is_wanted_by_its_name_is_planned_and_to_all_where_the_goal_says_so(
    told: dict[str, dict[str, Any]], wanted: str, tools: list[str]
) -> None:
    assert changing(told[wanted]) == [tools]
    assert told[wanted]["missing"] == []


@pytest.mark.parametrize("wanted", ["wanted: others", "wanted: nothing said"])
def test_what_is_wanted_is_done_to_one_where_the_goal_does_not_plainly_say_all(
    told: dict[str, dict[str, Any]], wanted: str
) -> None:
    (one,) = told[wanted]["suggestions"]
    assert len(one["tools"]) == len(one["missing"]) == 1


@pytest.mark.parametrize(
    "verb", ["format", "burn", "dissolve", "slaughter", "replace", "disband", "squash", "sink"]
)
def test_a_verb_that_may_destroy_is_led_to_by_its_name_alone(verb: str) -> None:
    tool = replace(ports(f"{verb}_disk", "disk!"), description=f"{verb.capitalize()} a disk.")
    way = asked_for(read_goal(f"{verb} disk sda", {"disk": "sda"}), [tool])[tool.tool]
    assert (way.is_meant, bool(way.danger)) == (False, True)


@pytest.mark.parametrize("verb", ["rename", "restart", "send", "update", "approve"])
def test_what_is_ordinary_is_led_to_by_words(verb: str) -> None:
    tool = replace(ports(f"{verb}_disk", "disk!"), description=f"{verb.capitalize()} a disk.")
    assert asked_for(read_goal(f"{verb} disk sda", {"disk": "sda"}), [tool])[tool.tool].is_meant
