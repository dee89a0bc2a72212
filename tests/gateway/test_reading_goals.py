"""Goals that ask to be told something: the first suggestion speaks of all that is asked, also by what tools return."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cli.program import definitions
from gateway.plain_tools import plain_tool
from halflap.config import Config
from halflap.gateway import Gateway

TOOLS = (
    plain_tool("ward_patients", "ward_id", "patients:patient_id full_name", "List the patients of a ward."),
    plain_tool(
        "list_prescriptions", "patient_id", "prescriptions:drug_code dose", "Prescriptions of a patient."
    ),
    plain_tool("get_drug", "drug_code", "label", "Facts about a drug."),
    plain_tool("playlists", "", "playlists:playlist_id title", "Playlists of the user."),
    plain_tool("playlist_tracks", "playlist_id", "tracks:track_id title", "Tracks in a playlist."),
    plain_tool("fare", "origin destination", "amount currency", "Fare between two stations."),
    plain_tool("connection", "from_code to_code", "minutes changes", "A connection between two stations."),
    plain_tool("list_stations", "", "stations:station_code", "List stations."),
    plain_tool("list_departures", "station_code", "departures:train_no platform", "Departures of a station."),
    plain_tool("get_train", "train_no", "driver_id", "Details of a train."),
    plain_tool("search_items", "", "items:sku price", "Search the catalogue."),
    plain_tool("item_reviews", "sku", "reviews:stars", "Reviews of an item."),
    plain_tool("purchase", "sku", "receipt_id", "Purchase an item."),
    plain_tool("move_file", "source destination", "done", "Move or rename files and directories."),
    plain_tool("read_file", "path", "content", "Read the complete contents of a file as text."),
    plain_tool(
        "search_files",
        "path pattern",
        "content",
        "Recursively search for files and directories matching a pattern.",
    ),
    plain_tool("list_kilns", "", "kilns:kiln_id potter_id street", "List the kilns."),
    plain_tool("kiln_photo", "kiln_id", "content", "A photo of a kiln, from the street."),
    plain_tool("list_potters", "", "potters:potter_id phone", "List the potters."),
    plain_tool("get_loom", "loom_id", "loom_id spool_ids", "Get a loom."),
    plain_tool("spool_colour", "spool_ids", "colour", "Colour of spools."),
    plain_tool(
        "list_allowed_directories", "", "content", "Returns the directories that this server may access."
    ),
)
GOALS: list[tuple[str, dict[str, Any], list[str]]] = [
    ("which drugs do the patients of ward W1 take", {"ward_id": "W1"}, ["ward_patients", "list_prescriptions", "get_drug"]),
    ("patients of ward W1", {"ward_id": "W1"}, ["ward_patients"]),
    ("what is on my playlists", {}, ["playlists", "playlist_tracks"]),
    ("my playlists", {}, ["playlists"]),
    ("price of a ticket from Ghent to Brussels", {"origin": "GNT", "destination": "BRU"}, ["fare"]),
    ("how long does it take from Ghent to Brussels", {"from_code": "GNT", "to_code": "BRU"}, ["connection"]),
    ("what would it cost to purchase SK-002", {"sku": "SK-002"}, ["search_items"]),
    ("rename a.txt to c.txt", {"source": "/a.txt", "destination": "/c.txt"}, ["move_file"]),
    ("which directories may I read", {}, ["list_allowed_directories"]),
    ("all kilns of the street", {}, ["list_kilns"]),
    ("photos of all kilns", {}, ["list_kilns", "kiln_photo"]),
    ("which spools does loom L1 have", {"loom_id": "L1"}, ["get_loom"]),
    ("colour of the spools of loom L1", {"loom_id": "L1"}, ["get_loom", "spool_colour"]),
    ("find all json files and read them", {"path": "/"}, ["search_files"]),
]  # fmt: skip
PHONE = "phone of the potter of kiln K1"
PLATFORM = "which platform does train 101 leave from"


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[list[str]]]:
    """Ask for each goal; gives the tools of each suggestion."""
    folder = tmp_path_factory.mktemp("reading")
    config = Config.from_mapping(
        {"servers": [definitions(folder, *TOOLS, name="all")], "store": {"path": str(folder / "store.db")}}
    )

    async def main() -> dict[str, list[list[str]]]:
        found = {}
        async with Gateway.open(config) as gateway:
            for goal, have, _ in [
                *GOALS,
                (PLATFORM, {"train_no": "101"}, []),
                (PHONE, {"kiln_id": "K1"}, []),
            ]:
                made = await gateway.suggest_workflow(goal=goal, have=have)
                found[goal] = [
                    [tool.rpartition("__")[2] for tool in one["tools"]] for one in made["suggestions"]
                ]
        return found

    return asyncio.run(main())


@pytest.mark.parametrize(("goal", "tools"), [(goal, tools) for goal, _, tools in GOALS])
def test_the_first_suggestion_speaks_of_all_that_is_asked(
    told: dict[str, list[list[str]]], goal: str, tools: list[str]
) -> None:
    assert told[goal][0] == tools


def test_what_only_the_name_of_a_field_says_is_offered(told: dict[str, list[list[str]]]) -> None:
    assert ["list_stations", "list_departures"] in told[PLATFORM]


def test_what_alone_returns_what_is_asked_for_is_offered_though_it_takes_nothing_of_what_is_at_hand(
    told: dict[str, list[list[str]]],
) -> None:
    assert ["list_potters"] in told[PHONE]
