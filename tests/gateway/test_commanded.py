"""What a goal tells to do, and to which: from the words to the calls, with nothing done that nobody said."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cli.program import definitions
from halflap.config import Config
from halflap.gateway import Gateway


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


def _delete(thing: str) -> dict[str, Any]:
    return {
        "name": f"delete_{thing}",
        "description": f"Delete a {thing}.",
        "inputSchema": _object(f"{thing}_id"),
        "outputSchema": _object("done"),
    }


TOOLS = (
    _list("list_users", "users", "user_id name", "All users, newest first."),
    _delete("user"),
    _list("top_customers", "customers", "customer_id", "The customers with the highest revenue."),
    _delete("customer"),
    _list("list_devices", "devices", "device_id", "List devices."),
    _list("list_inactive_devices", "devices", "device_id", "List inactive devices."),
    _delete("device"),
)
GOALS: dict[str, dict[str, Any]] = {
    "delete all users": {},
    "delete all inactive users": {},
    "delete all users named B": {"name": "B"},
    "delete all users of ward W1": {"ward_id": "W1"},
    "delete all customers": {},
    "delete all devices": {},
    "delete all inactive devices": {},
    "delete user u1": {"user_id": "u1"},
    "delete the photo of user u1": {"user_id": "u1"},
    "delete user u7": {},
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Ask for each goal; gives what was suggested."""
    folder = tmp_path_factory.mktemp("commanded")
    config = Config.from_mapping(
        {"servers": [definitions(folder, *TOOLS, name="ops")], "store": {"path": str(folder / "store.db")}}
    )

    async def main() -> dict[str, dict[str, Any]]:
        async with Gateway.open(config) as gateway:
            return {
                goal: await gateway.suggest_workflow(goal=goal, have=have) for goal, have in GOALS.items()
            }

    return asyncio.run(main())


def first(found: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The tools of the first suggestion, and what it lacks."""
    best = found["suggestions"][0]
    return [one.rpartition("__")[2] for one in best["tools"]], [one["parameter"] for one in best["missing"]]


@pytest.mark.parametrize(
    ("goal", "tools"),
    [
        ("delete all users", ["list_users", "delete_user"]),
        ("delete all users named B", ["list_users", "delete_user"]),
        ("delete all devices", ["list_devices", "delete_device"]),
        ("delete all inactive devices", ["list_inactive_devices", "delete_device"]),
        ("delete user u1", ["delete_user"]),
    ],
)
def test_what_is_plainly_said_is_done(told: dict[str, dict[str, Any]], goal: str, tools: list[str]) -> None:
    assert first(told[goal]) == (tools, [])
    assert told[goal]["missing"] == []


def test_of_all_those_are_taken_that_have_what_is_at_hand(told: dict[str, dict[str, Any]]) -> None:
    assert " == name" in told["delete all users named B"]["suggestions"][0]["program"]


@pytest.mark.parametrize(
    ("goal", "tool", "parameter"),
    [
        ("delete all inactive users", "delete_user", "user_id"),
        ("delete all users of ward W1", "delete_user", "user_id"),
        ("delete all customers", "delete_customer", "customer_id"),
        ("delete user u7", "delete_user", "user_id"),
    ],
)
def test_where_nothing_finds_just_those_that_are_meant_one_has_to_say_which(
    told: dict[str, dict[str, Any]], goal: str, tool: str, parameter: str
) -> None:
    found = told[goal]
    changing = [
        one for one in found["suggestions"] if any(step["may_change_something"] for step in one["steps"])
    ]
    assert [first({"suggestions": [one]}) for one in changing] == [([tool], [parameter])]
    assert all(step["fan_out"] is None for one in changing for step in one["steps"])


def test_the_word_that_left_it_open_is_named(told: dict[str, dict[str, Any]]) -> None:
    (lack,) = told["delete all inactive users"]["missing"]
    assert "'inactive' says to which" in lack["note"]
    assert [one["tool"] for one in lack["could_provide"]] == ["mcp__ops__list_users"]


def test_a_change_that_is_near_and_not_told_is_named_with_the_word_and_with_the_way_to_have_it(
    told: dict[str, dict[str, Any]],
) -> None:
    found = told["delete the photo of user u1"]
    assert not any(step["may_change_something"] for one in found["suggestions"] for step in one["steps"])
    note = next(one["note"] for one in found["missing"] if one["parameter"] == "mcp__ops__delete_user")
    assert "'photo'" in note
    assert "`want`" in note
