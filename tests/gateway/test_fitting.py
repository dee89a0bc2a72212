"""How well a suggestion fits a goal: what is about something else is not suggested, and a half fit is half as sure."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cli.program import definitions
from gateway.plain_tools import plain_tool
from halflap.config import Config
from halflap.gateway import Gateway

TOOLS = (
    plain_tool("list_barges", "", "barges:barge_id skipper", "List the barges in the harbour."),
    plain_tool("barge_tonnage", "barge_id", "weight", "Tonnage of a barge."),
    plain_tool("get_lock", "lock_id", "depth width opened_at", "A lock on the canal, with its sizes."),
    plain_tool("list_tolls", "lock_id", "tolls:toll_id amount", "Tolls that were taken at a lock."),
    plain_tool("harbour_news", "", "news:title", "What is new in the harbour."),
    plain_tool(
        "get_record",
        "path",
        "text",
        "Retrieve what is known of a paper. Tells its size, its author and when it was signed.",
    ),
    plain_tool("read_record", "path", "text", "Read the words of a paper."),
    plain_tool("open_lock", "lock_id", "done", "Open a lock."),
    plain_tool("pilot_schedule", "pilot_id", "done", "Schedules a pilot."),
    plain_tool("whois_vessel", "vessel", "registrant", "Looks up whose vessel it is."),
)
LOCK = {"lock_id": "L1"}
UNFIT = ["order a taxi", "rotate the picture", "what is 12 factorial", "book a hotel", "close the deal", "start", "stop it",
         "paint the bridge red", "which doctor is on duty", "take a break"]  # fmt: skip
FIT: list[tuple[str, dict[str, Any], list[str]]] = [
    ("how heavy are the barges", {}, ["list_barges", "barge_tonnage"]),
    ("how deep is lock L1", LOCK, ["get_lock"]),
    ("how big is the paper p.txt", {"path": "/x/p.txt"}, ["get_record"]),
    ("read the paper p.txt", {"path": "/x/p.txt"}, ["read_record"]),
    ("when was the paper p.txt signed", {"path": "/x/p.txt"}, ["get_record"]),
    ("who owns the vessel Mary", {"vessel": "Mary"}, ["whois_vessel"]),
    ("tolls of lock L1", LOCK, ["list_tolls"]),
]  # fmt: skip
MORE: dict[str, dict[str, Any]] = {
    "repaint lock L1": LOCK,
    "tolls of lock L9": {},
    "open lock L1 and notify the skippers": LOCK,
    "open lock L1": LOCK,
    "barges": {},
    "barges and their cargo": {},
    "how warm are the barges": {},
    "barge schedule": {},
    "schedules of the pilots": {},
    "opening": {},
    "barjes": {},
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Ask for each goal."""
    folder = tmp_path_factory.mktemp("fitting")
    config = Config.from_mapping(
        {"servers": [definitions(folder, *TOOLS, name="port")], "store": {"path": str(folder / "store.db")}}
    )

    async def main() -> dict[str, dict[str, Any]]:
        async with Gateway.open(config) as gateway:
            goals: dict[str, dict[str, Any]] = (
                {one: {} for one in UNFIT} | {goal: have for goal, have, _ in FIT} | MORE
            )
            return {goal: await gateway.suggest_workflow(goal, have) for goal, have in goals.items()}

    return asyncio.run(main())


@pytest.mark.parametrize("goal", UNFIT)
def test_nothing_is_suggested_for_what_no_tool_is_about(told: dict[str, dict[str, Any]], goal: str) -> None:
    assert told[goal]["suggestions"] == []
    (lack,) = told[goal]["missing"]
    assert lack["parameter"] == goal
    assert lack["note"].startswith("No tool")


@pytest.mark.parametrize(("goal", "tools"), [(goal, tools) for goal, _, tools in FIT])
def test_what_a_question_asks_for_is_found_though_it_is_not_named(
    told: dict[str, dict[str, Any]], goal: str, tools: list[str]
) -> None:
    assert [one.rpartition("__")[2] for one in told[goal]["suggestions"][0]["tools"]] == tools


def test_a_half_fit_is_half_as_sure(told: dict[str, dict[str, Any]]) -> None:
    assert told["barges"]["suggestions"][0]["confidence"] == 1.0
    assert told["barges and their cargo"]["suggestions"][0]["confidence"] < 0.8
    assert all(one["confidence"] < 0.8 for one in told["repaint lock L1"]["suggestions"])


def test_a_value_that_is_not_at_hand_is_said_in_a_note(told: dict[str, dict[str, Any]]) -> None:
    best = told["tolls of lock L9"]["suggestions"][0]
    assert best["notes"] == [
        "'L9' of the goal is not at hand, so no step takes it: if a parameter does, say it in `have`"
    ]
    assert told["tolls of lock L1"]["suggestions"][0]["notes"] == []


def test_what_no_tool_speaks_of_is_said_in_a_note(told: dict[str, dict[str, Any]]) -> None:
    best = told["barges and their cargo"]["suggestions"][0]
    assert best["notes"] == ["'cargo' of the goal is nothing that these tools speak of: it is left out"]


def test_a_command_that_no_step_does_is_said_in_a_note(told: dict[str, dict[str, Any]]) -> None:
    best = told["open lock L1 and notify the skippers"]["suggestions"][0]
    assert [one.rpartition("__")[2] for one in best["tools"]] == ["open_lock"]
    assert best["notes"] == ["'notify' of the goal is done by no step"]
    assert told["open lock L1"]["suggestions"][0]["notes"] == []


def test_notes_have_the_goals_own_words(told: dict[str, dict[str, Any]]) -> None:
    notes = [note for one in told["how warm are the barges"]["suggestions"] for note in one["notes"]]
    assert set(notes) == {"'warm' of the goal is nothing that these tools speak of: it is left out"}


def test_where_nothing_fits_what_comes_nearest_is_named(told: dict[str, dict[str, Any]]) -> None:
    assert told["barjes"]["suggestions"] == []
    (lack,) = told["barjes"]["missing"]
    assert any("barge" in one["tool"] for one in lack["near"])
    (lack,) = told["which doctor is on duty"]["missing"]
    assert lack["note"].startswith("No tool fits") is (lack["near"] == [])


def test_a_tool_that_changes_something_and_is_named_by_the_goals_words_is_told(
    told: dict[str, dict[str, Any]],
) -> None:
    named = [one["parameter"] for one in told["schedules of the pilots"]["missing"]]
    assert named == ["mcp__port__pilot_schedule"]
    assert "mcp__port__pilot_schedule" not in [one["parameter"] for one in told["barge schedule"]["missing"]]
