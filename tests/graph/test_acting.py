"""What a description does by verbs that are on no list: only what plainly reads lets a tool be one that reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graph.made import ports
from halflap.gateway.goals import asked_for, told
from halflap.graph.clauses import read_goal
from halflap.graph.effects import seems_to_change

ACTING = """
note_nudge | note_id | Look up a note and nudge its author.
cow_cull | cow_id | Find a cow and cull it.
note_unlist | note_id | Search a note and unlist it.
note_redact | note_id | Retrieves a note and redacts names.
rerun_sample | sample_id | Run the analysis of a sample again.
get_note | note_id | Get a note. Reading it marks it as read.
view_bin | bin_id | View a bin. Viewing marks it as handled.
station_jam | station_id | Look up the station and jam it.
station_overview | station_id | Shows an overview after muting the station.
query_station_fee | station_id | Query which debits the fee of the station.
query_bin | bin_id | Query a bin; debits one credit.
plant_repot | plant_id | Look up a plant and repot it
get_plant | plant_id | Get a plant, then quickly repots it. Repots it.
get_hive | hive_id | Find a beehive and smoke bees.
list_sheep | | Lists sheep and shears them.
meter | meter_id | Reads the meter and zeroes it
garden_view | plant_id | Finds a plant and sprays poison.
find_driver | driver_id | Find a driver and call the owner.
get_guest | guest_id | Shows a guest. Each call rings the bell of the house.
get_guest | guest_id | Shows a guest, ringing their bell.
get_guest | guest_id | Shows a guest by waking them.
get_guest | guest_id | Find a guest. Evict them.
show_plant | plant_id | Returns the plant, which repots it.
get_tree | tree_id | Get the tree and fell it.
resend_letter | letter_id | Get the letter out again.
get_note | note_id | Get a note (and marks it as read).
get_note | note_id | Get a note, marking the note as read.
get_note | note_id | Get a note & mark it as read
get_note | note_id | Get a note - marks it as read
get_note | note_id | Get a note. Side effect: nudges the author.
get_note | note_id | Get a note. It will nudge the author.
get_note | note_id | Get a note. The author is notified.
get_note | note_id | Get a note as well as nudging its author
get_note | note_id | Retrieve and nudge a note.
get_tree | tree_id | Look up a tree and chop down the branches.
check_bin | bin_id | Check a bin off the list.
get_bin_collected | bin_id | Get a bin collected by a lorry.
get_coil | coil_id | Reads a coil and de-energizes it.
"""

READING = """
get_flight | flight_id | Get the flight and its crew.
list_rooms | | List the rooms and their guests
find_users | query | Find users and email addresses
get_item | item_id | Get the price and weight of the item
show_plant | plant_id | Look up a plant and show its leaves.
find_word | word | Find a word and count the letters.
get_weather | city | Get the weather and the forecast of a city.
find_places | city | Find restaurants, bars and cafes.
list_rules | | Lists rules that block the page.
get_note | note_id | Get the note; requires the id of a user.
get_note | note_id | Returns the title and tags sorted by name
get_guest | guest_id | Shows a guest. This includes the name, and takes the id of one.
search_files | pattern | Find files by a pattern; gives their paths.
get_moves | issue_id | Which moves an issue can make.
look_around | area_id | Discover an area. This tool creates a detailed overview of it.
recheck_station | station_id | Check the antenna of a station again.
milk_yield | cow_id | Milk yield of a cow in litres.
bin_fill | bin_id | Fill level of a bin in percent.
fill_level | bin_id | Fill level of a bin.
charge_level | car_id | Charge level of a car.
calibration_report | calibration_id | Report on a calibration.
paint_color | bin_id | Paint colour of a bin.
soil_moisture | field_id | Soil moisture of a field.
tyre_pressure | car_id | Tyre pressure of a car in bar.
wax_thickness | ski_id | Wax thickness on a ski.
"""

DONE_TO_A_MEASURE = """
fill_bin | bin_id | Fill level of a bin.
halve_speed | motor_id | Halve speed of a motor in steps.
vent_tank | tank_id | Vent pressure of a tank in bar.
release_pressure | tank_id | Release pressure of a tank in bar.
set_price | product_id | Set price of a product in euros.
record_temperature | patient_id | Record temperature of a patient in degrees.
redact_names | document_id | Redact names of persons.
skim_balance | account_id | Skim balance of an account.
paint_color | bin_id | Paint colour of a bin, and repaint it. Repaints it.
report_driver | driver_id | Report on a driver to the police.
"""


def made(lines: str) -> list[tuple[str, str, str]]:
    rows = [[one.strip() for one in line.split("|")] for line in lines.strip().splitlines()]
    return [(row[0], row[1], row[2]) for row in rows]


@pytest.mark.parametrize(("name", "takes", "description"), [*made(ACTING), *made(DONE_TO_A_MEASURE)])
def test_what_is_done_by_a_verb_that_is_not_known_to_read_changes_something(
    name: str, takes: str, description: str
) -> None:
    assert seems_to_change(replace(ports(name, takes), description=description))


@pytest.mark.parametrize(("name", "takes", "description"), made(READING))
def test_what_plainly_reads_or_is_told_reads(name: str, takes: str, description: str) -> None:
    assert not seems_to_change(replace(ports(name, takes), description=description))


@pytest.mark.parametrize(
    ("goal", "name", "description", "begins"),
    [
        ("frobnicate cow c1", "frobnicate_cow", "", "It is not known whether 'frobnicate' changes something"),
        ("vaccinate cow c1", "vaccinate_cow", "Vaccinate a cow.", "It changes something that may not be had"),
        ("delete cow c1", "delete_cow", "Delete a cow.", "It may destroy something"),
    ],
)
def test_only_of_what_is_known_to_destroy_it_is_said_that_it_may(
    goal: str, name: str, description: str, begins: str
) -> None:
    tool = replace(ports(name, "cow_id"), description=description)
    asking = asked_for(read_goal(goal, {"cow_id": "c1"}), [tool])
    (lack,) = told(asking, [tool.tool])
    assert lack.note.startswith(begins)
    assert f'`want="{tool.tool}"`' in lack.note
