"""What the description of a tool says that it does, beside its name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graph.made import ports
from halflap.graph.effects import seems_to_change, seems_to_destroy

CHANGING = """
uproot_planters | greenhouse_id | Uproot planters of a greenhouse.
redact_names | document_id | Redact names of persons.
accounts | name | Opening an account.
feed_animal | animal_id | Feeding of an animal.
memory_pages | process_id | Free the memory pages of a process.
account_sweep | account_id | Moves the whole balance to the savings account.
card_replacement | account_id | Orders a new card; the old one stops working.
patient_discharge | patient_id | Ends the stay of a patient and frees the bed.
order_cancellation | order_id | Cancels an order.
user_impersonate | user_id | Logs in as a user.
collect_payment | invoice_id | Charges the customer's card for an invoice.
collect_payment | invoice_id | Takes the money for an invoice.
solve_ticket | ticket_id | Closes a ticket as solved.
get_rid_of_user | user_id | Deletes a user.
check_off_task | task_id | Marks a task as done.
check_off_task | task_id |
list_house_for_sale | house_id | Puts a house on the market.
resolve_incident_by_id | incident_id | Closes an incident.
email_report | invoice_id | Sends the report on an invoice to the customer.
payment | amount card_id | Makes a payment.
booking | room_id | Books a room.
reservation | table_id | Reserves a table.
sms | phone body | Sends a text message.
task_creator | title | Creates a task.
canvas | title folder | Create an Obsidian canvas file to visualize notes.
pdf_merger | paths | Merge several PDFs.
settlement | account_id | Settles all debts of an account.
account_deletion | account_id | Closes an account for good.
ticket_driver | driver_id | Fines a driver.
validate_ticket | ticket_id | Stamps a ticket, which cannot be used again.
invoice_writeoff | invoice_id | Marks as lost.
order_expedite | order_id | Makes an order faster, at a cost.
recall_message | message_id | Takes a sent message back.
ping_user | user_id | Sends a reminder.
door_opener | door_id | Opens a door.
door_opener | door_id | Opens
delete_x | x_id | Gets rid of an x.
cancel_order | order_id | Returns the order that was cancelled.
get_note | note_id | This tool deletes a note.
get_note | note_id | Use this to permanently delete a note.
sql | statement | Run a statement.
playwright_post | url value | Perform an HTTP POST request
mailbox | mailbox_id | Empties a mailbox.
transfers | from to amount | Transfers money.
get_password_reset | user_id | Resets the password.
fetch_item | item_id | Removes the item from the shelf and brings it.
"""

NAMED = """
account_deletion | account_id
order_cancellation | order_id
card_replacement | account_id
user_removal | user_id
patient_discharge | patient_id
request_approval | request_id
deletion | user_id
task_creator | title
pdf_merger | paths
garage_opener |
account_closer | account_id
user_remover | user_id
find_delete_duplicates | path
scan_delete_files | path
search_replace_in_file | path
find_replace_text | path
vm_hibernate | vm_id
order_expedite | order_id
invoice_writeoff | invoice_id
pet_euthanize | pet_id
employee_furlough | employee_id
account_zap | account_id
recall_message | message_id
ping_user | user_id
select_winner | raffle_id
track_event | event
solve_ticket | ticket_id
collect_payment | invoice_id
get_rid_of_user | user_id
list_for_sale | item_id
file_report | title
email_summary | to
post_status | text
"""

READING = """
delivery_slots | postcode | Free delivery slots.
branch_hours | branch_code | Opening hours of a branch.
feed_plan | diet | Feeding plan by diet.
hot_deals | | Deals that are hot today.
pupil_grades | pupil_id | Grades of a pupil.
homework | class_id | Homework of a class.
attendance | pupil_id | Attendance of a pupil.
parent_evenings | | Evenings for parents.
port_fees | port_code | Fees of a port.
berth_depth | berth_id | Depth at a berth.
open_tickets | customer_id | Tickets that are open.
open_tickets | customer_id | Tickets of a customer that are open.
departures | station | Departures from a station.
orders_by_customer | customer_id | Orders of one customer.
returns_for_order | order_id | What was sent back of an order.
quote | symbol | Latest quote.
distance | from to | Distance between two places.
define_word | word | Definition of a word.
ask_wiki | question | Answers from the wiki.
pull_requests | repo | Pull requests of a repository.
access_log | | The log of accesses.
audit_trail | | Who did what.
free_slots | calendar_id | Free slots of a calendar.
transcribe_audio | url | Transcribes a recording.
nslookup | host | IP address of a host.
currency_convert | amount | Converts an amount.
scrape_page | url | Scrapes a page.
build_context | url | Build context from a memory:// URI to continue conversations.
valorant-meta-maps | | Valorant map meta data
new_releases | | Albums that came out this week.
cancellation_fee | cancellation_id | The fee for a cancellation.
order_cancellation | order_id | Shows when and why an order was cancelled.
repo_creator | repo_id | Who made a repository.
recall_message | message_id | Returns a message that was kept.
track_event | event | Shows where an event is.
html_cleaner | html | Clean HTML by removing unnecessary tags.
ship_cost | zip | What it costs to ship a parcel.
exchange_rate | from to | The rate of a currency.
gauge_by_level | level | Gauges at a level
list_orders | | Orders.
get_receipt | receipt_id | A receipt.
get_cancel_reason | order_id | Cancel reason of an order.
get_kills | player | Kill count of a player.
list_bans | | Ban list of the server.
get_order_book | symbol | Buy and sell orders.
get_archive | archive_id | Archive contents.
fetch_url | url | Send an HTTP GET request.
query_db | sql | Submit a query.
list_orders | | Run a search over all orders.
get_summary | text | Create a summary of a text.
transfers | account_id | Transfers of an account.
list_posts | user_id | Posts of a user.
list_reports | | Reports a user may see.
get_update | update_id | Updates of a package.
species_guide | species | Care guide of a species.
harvest_dates | planter_id | Harvest dates of a planter.
"""

IN_DOUBT = """
rebrand_dog | dog_id | Give the dog a new brand
rebrand_dog | dog_id | Let the dog have another name.
dog_checkout | dog_id | Check out: charges the card
dog_checkout | dog_id | Check out a dog; charges the card.
requeen_hive | hive_id queen_id | Give a hive another queen.
page_owner_of_dog | dog_id | Page the dog's owner.
page_patient | patient_id | Page a patient.
page_patient | patient_id |
guest_arrival | guest_id | Check in a guest.
room_key | room_id | Provides a room and charges the card on file.
room_upgrade_offer | booking_id | Get the upgraded room. The card is charged.
premium_lookup | vin | Looks up a car. Each call sends a letter to its owner.
seat_guest | guest_id | Seat a guest at a table.
park_car | car_id | Park the car.
house_dog | dog_id | House a dog.
neuter_dog | dog_id | Provide the dog with an operation.
lamp_glow | lamp_id | Let it glow.
dog_medicine | dog_id | Give a dog its medicine.
ticket_scan | ticket_id | Scan a ticket, which cannot be used again.
get_next_job |  | Get the next job and mark it as taken.
fetch_mail | box | Fetches the mail and deletes it from the server.
read_message | id | Read a message; removes it from the queue.
lead_conversion | lead_id | Convert a lead to a customer.
score_card | card_id | Capture a payment.
patient_transfusion | patient_id | Receive blood.
dog_spa | dog_id | Offer the dog a bath.
player_signing | player_id | Present the player with a contract.
invoice_run | month | Tells the customers and bills the cards.
voucher | code | Show a voucher; it is deleted afterwards.
lottery_ticket | draw_id | View a ticket and buy it.
kennel_key | dog_id | Hand over the key.
account_tour | account_id | Explore an account. Automatically subscribes you to the newsletter.
fish_tank | tank_id | Test the tank by draining it.
"""

PLAINLY_READING = """
dog_names |  | Gives the names of all dogs.
current_weather | city | Gives the current weather.
patient_vitals | patient_id | Vital signs of a patient.
dog_owner | dog_id | The owner of a dog.
kennel_prices |  | Prices of the kennels.
stock_level | sku | How much is left in stock.
sun_times | city | Return the times of sunrise and sunset.
exchange_rate | from to | The rate of a currency. It is updated daily.
invoice_state | invoice_id | Check whether an invoice is paid.
orders_due |  | Orders that ship this week.
ship_cost | zip | What it costs to ship a parcel.
get_jobs |  | Get jobs and their owners.
list_files | path | List files and folders in a folder.
charge_status | charge_id | Shows a charge: whether it was sent and paid.
booking_details | booking_id | Details of a booking, with what was charged.
mite_counts | hive_id | Counts of mites, newest first.
"""

NAMED_READING = """
orders_by_customer | customer_id
pull_requests | repo
access_log |
audit_trail |
free_slots | calendar_id
open_tickets | customer_id
define_word | word
ask_wiki | question
scrape_page | url
transcribe_audio | url
nslookup | host
currency_convert | amount
hot_deals |
pupil_grades | pupil_id
departures | station
distance | from to
subscription | user_id
ping | host
ping_host | host
track_shipment | shipment_id
find_cancel_policy |
search_deleted_files | path
get_cancellation | order_id
cancellation_policy |
"""


def _rows(table: str) -> list[tuple[str, str, str]]:
    rows = [[part.strip() for part in line.split("|")] for line in table.strip().splitlines()]
    return [(row[0], row[1] if len(row) > 1 else "", row[2] if len(row) > 2 else "") for row in rows]


@pytest.mark.parametrize(("name", "takes", "description"), _rows(CHANGING))
def test_a_tool_whose_description_begins_with_a_change_changes_something(
    name: str, takes: str, description: str
) -> None:
    assert seems_to_change(replace(ports(name, takes), description=description))


@pytest.mark.parametrize(("name", "takes", "description"), _rows(NAMED))
def test_a_noun_for_an_act_and_a_verb_behind_a_thing_change_something(
    name: str, takes: str, description: str
) -> None:
    assert not description
    assert seems_to_change(ports(name, takes))


@pytest.mark.parametrize(("name", "takes", "description"), _rows(READING) + _rows(NAMED_READING))
def test_what_is_described_by_what_it_tells_changes_nothing(name: str, takes: str, description: str) -> None:
    assert not seems_to_change(replace(ports(name, takes), description=description))


@pytest.mark.parametrize(("name", "takes", "description"), _rows(IN_DOUBT))
def test_what_says_only_half_that_it_reads_or_does_something_beside_that_changes_something(
    name: str, takes: str, description: str
) -> None:
    assert seems_to_change(replace(ports(name, takes), description=description))


@pytest.mark.parametrize(("name", "takes", "description"), _rows(PLAINLY_READING))
def test_what_tells_of_charges_and_orders_changes_nothing(name: str, takes: str, description: str) -> None:
    assert not seems_to_change(replace(ports(name, takes), description=description))


@pytest.mark.parametrize(
    ("name", "description", "destroys"),
    [
        ("order_cancellation", "Cancels an order.", True),
        ("account_deletion", "", True),
        ("get_rid_of_user", "Deletes a user.", True),
        ("find_delete_duplicates", "", True),
        ("close_account", "Permanently deletes an account.", True),
        ("close_account", "Closes an account.", False),
        ("close_account", "Closes an account. This cannot be undone.", True),
        ("get_account", "Get an account. Closing one cannot be undone.", False),
        ("get_account", "Delete reasons of an account.", False),
        ("card_replacement", "Orders a new card.", False),
        ("payment", "Makes a payment.", False),
    ],
)
def test_what_destroys_is_seen_in_nouns_and_descriptions_as_well(
    name: str, description: str, destroys: bool
) -> None:
    assert seems_to_destroy(replace(ports(name, "order_id"), description=description)) is destroys
