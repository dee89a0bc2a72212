"""Which changes a goal tells to make: only those that it commands, and to which.

Behind each goal stand the tools that change something and are meant by its words; that what destroys is not planned for
that, the gateway's tests say. `*`: it says all, and nothing of which; `!`: it says which, or all of some, so that no other
tool may choose; nothing: none at all.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.commanding import catalogue, meant
from halflap.gateway.goals import asked_for
from halflap.graph.asking import asked
from halflap.graph.clauses import read_goal
from halflap.graph.effects import seems_to_destroy

OPS = catalogue("""
    refund_order | order_id | Refund an order.
    cancel_order | order_id | Cancel an order.
    deploy_service | service | Deploy a service.
    backup_database | database | Back up a database.
    commit_changes | repo | Commit changes.
    git_commit | repo_path message | Records changes to the repository.
    merge_branch | branch | Merge a branch.
    send_email | address | Send an email.
    transfer_money | account | Transfer money.
    archive_project | project | Archive a project.
    restart_server | server | Restart a server.
    delete_file | file | Delete a file.
    delete_user | user_id | Delete a user.
    publish_post | post_id | Publish a post.
    reset_password | user_id | Reset the password of a user.
    update_profile | user_id | Update a profile.
    block_user | user_id | Block a user.
    release_build | build | Release a build.
    schedule_meeting | topic | Schedule a meeting.
    purchase | sku | Purchase an item.
    play_track | track_id | Play a track.
    follow_user | user_id | Follow a user.
    list_users | | List users.
""")
HAVE = {
    "user_id": "u1", "order_id": "7", "service": "api", "database": "main", "repo": "x", "branch": "x", "account": "x",
    "project": "p", "server": "s", "file": "a", "post_id": "5", "build": "3", "topic": "t", "sku": "SK-002",
    "track_id": "t1", "address": "a@b",
}  # fmt: skip

PARTS = """
delete the photo of user u1
delete the comments of user u1
delete the notes of user u1
remove the tag from user u1
block the ads for user u1
cancel the shipment of order 7
cancel the refund of order 7
delete user u1's photo
delete the user's photos
delete user photos
Delete User Photo
delete user 2fa
delete user u2
delete user: u1 photos
"""
NOUNS = """
refund status of order 7
refund policy
refund amount for order 7
refund eligibility
cancel fee for order 7
cancel history
deploy status
deploy log
deploy status of api
backup schedule of the main database
merge conflicts in branch x
transfer history of my account
transfer fees
archive contents
restart count of server s
delete permissions of user u1
reset password instructions for user u1
publish date of post 5
block list
block reason of user u1
update history of profile u1
release notes of build 3
schedule for today
schedule of meetings
email address of user u1
send date of the email
purchase history
play count of track t1
follow requests
commit history of the repo
commit changes of yesterday
order 7 status, cancel info
"""
NOT_SAID = """
delete nothing, list users
delete neither user
please avoid: delete user u1
prevent delete of file a
whether to delete user u1
dry run: delete user u1
user u1: show; delete later
list the files in /tmp and delete nothing
don't delete user u1
never delete user u1
get user u1 without deleting
delete not all users
delete user u1 is what he said
he said delete user u1
tell Bob, delete user u1
ask Bob, delete user u1
delete user u1?
cancel order 7 when it ships
cancel order 7 once refunded
cancel order 7 after the delivery
the words are "delete user u1"
undo the block of user u1
stop the deploy of api
"""


@pytest.mark.parametrize(
    "goal", [*PARTS.strip().splitlines(), *NOUNS.strip().splitlines(), *NOT_SAID.strip().splitlines()]
)
def test_what_is_done_to_a_part_or_asked_about_or_not_to_be_done_changes_nothing(goal: str) -> None:
    assert meant(goal, OPS, HAVE) == []


ALL = """
delete all users | delete_user*
delete every user | delete_user*
delete all users? |
can you delete all users? | delete_user*
commit the changes | commit_changes git_commit
delete each of the users | delete_user*
list all users and delete them | delete_user*
delete all users except u1 |
delete all users but Bob |
delete all users, keep u1 |
delete all users; leave the admins | delete_user!
delete all inactive users | delete_user!
remove every duplicate user | delete_user!
block each user who logged in from Russia | block_user!
all right, delete the user |
once and for all, delete the user |
above all, do delete the user |
for all I care delete the user |
first of all block the user |
every morning block the user |
delete the user after all |
delete the user who annoys all of us | delete_user!
delete the user with all permissions | delete_user!
delete a user with all their files | delete_user!
Delete the user. All is lost | delete_user!
delete not all users |
not all users should be deleted; delete the user |
delete almost all users |
delete most users | delete_user!
delete half of the users |
delete 5 users | delete_user!
delete all users of the team | delete_user!
refund all orders over 100 euros |
show all users and delete the oldest | delete_user!
email all |
reset all |
delete everything |
"""


@pytest.mark.parametrize("line", ALL.strip().splitlines())
def test_all_are_meant_only_where_the_command_says_so_of_just_these(line: str) -> None:
    goal, names = line.split("|")
    assert meant(goal.strip(), OPS) == names.split()


CLINIC = catalogue("""
    cancel_appointment | appointment_id | Cancels an appointment.
    discharge_patient | patient_id | Discharges a patient from the ward.
    book_appointment | patient_id date | Books an appointment for a patient.
    send_letter | patient_id body | Sends a letter to a patient.
    prescribe | patient_id drug | Prescribes a drug.
    add_item_to_cart | item_id cart_id | Adds an item to the cart.
    remove_item_from_cart | item_id cart_id | Removes an item from the cart.
    empty_cart | | Removes all items from the cart.
    void_credit_note | credit_note_id | Void a credit note.
    cancel_flight_booking | booking_id | Cancels the booking of a flight.
    switch_light_off | light_id | Switches a light off.
    move_file | source destination | Move or rename files and directories.
    update_ward_name | ward_id name | Changes the name of a ward.
    create_ward | name | Creates a ward.
    purge_ward_archive | | Deletes all records.
    wards_close | ward_id | Closes a ward.
    deploy | version | Puts a version into production.
    restart | | Restarts.
""")
OWN = """
cancel my appointment | {} | cancel_appointment
could you please cancel appointment A-1? | {"appointment_id": "A-1"} | cancel_appointment
cancel A-1 | {"appointment_id": "A-1"} | cancel_appointment
cancel it | {"appointment_id": "A-1"} | cancel_appointment! void_credit_note! cancel_flight_booking!
find the appointment of patient p1 and cancel it | {"patient_id": "p1"} | cancel_appointment
find the bill of patient p1 and cancel it | {"patient_id": "p1", "appointment_id": "A-1"} |
cancel the bill of the appointment | {"appointment_id": "A-1"} |
appointments that patients cancel | {} |
list patients who come and cancel the appointment | {"appointment_id": "A-1"} |
cancel appointment reminders | {"appointment_id": "A-1"} |
discharge patient p1 | {"patient_id": "p1"} | discharge_patient
discharge patient p1 from the ward | {"patient_id": "p1"} | discharge_patient
discharge summary of patient p1 | {"patient_id": "p1"} |
if patient p1 is well, discharge her | {"patient_id": "p1"} |
discharge all patients | {} | discharge_patient*
discharge all patients of ward W1 | {"ward_id": "W1"} | discharge_patient!
discharge all patients | {"patient_id": "p1"} |
discharge all patients | {"patient_id": ["p1", "p2"]} | discharge_patient*
discharge the patients of ward W1 | {} | discharge_patient!
discharge all patients other than p1 | {"patient_id": "p1"} |
discharge everyone | {} |
send a letter to every patient | {"body": "Hi"} | send_letter*
send a letter to every patient who is late | {"body": "Hi"} | send_letter!
send the letters of all patients | {"body": "Hi"} | send_letter
prescribe the drug | {} | prescribe
prescribe data | {"patient_id": "p1", "drug": "x"} |
add the item to the cart | {} | add_item_to_cart
add the item to the wishlist | {"item_id": "i1", "cart_id": "c1"} |
remove item i1 from the cart | {"item_id": "i1"} | remove_item_from_cart
remove the price from item i1 | {"item_id": "i1", "cart_id": "c1"} |
empty the cart | {} | empty_cart
empty the cart of patient p1 | {"patient_id": "p1"} |
empty cart message | {} |
void the credit note | {} | void_credit_note
void the customer note | {"credit_note_id": "n1"} |
cancel the hotel booking | {"booking_id": "b1"} |
cancel the flight booking | {"booking_id": "b1"} | cancel_flight_booking
switch off the light | {"light_id": "l1"} | switch_light_off
switch the light off | {"light_id": "l1"} | switch_light_off
switch on the light | {"light_id": "l1"} |
rename a.txt to c.txt | {"source": "/x/a.txt", "destination": "/x/c.txt"} | move_file
rename the file | {} | move_file
change the name of ward W1 | {"ward_id": "W1", "name": "East"} | update_ward_name
change ward W1 | {"ward_id": "W1", "name": "East"} |
add patient p1 to the ward | {"patient_id": "p1", "name": "East"} |
create a ward named East | {"name": "East"} | create_ward
purge the ward archive | {} | purge_ward_archive
purge the old ward archive | {} |
delete the records | {} |
close ward W1 and list the wards | {"ward_id": "W1"} | wards_close
list the wards and close W1 | {"ward_id": "W1"} | wards_close
list the wards, close to the river | {"ward_id": "W1"} |
deploy the version | {} | deploy
deploy version notes | {"version": "3"} |
restart | {} | restart
how to restart | {} |
"""


@pytest.mark.parametrize("line", OWN.strip().splitlines())
def test_a_command_is_understood_however_it_is_put_and_nothing_else_is(line: str) -> None:
    goal, have, names = line.split("|")
    assert meant(goal.strip(), CLINIC, json.loads(have)) == names.split()


# A law: whatever is said against it, or to say which, a change that was not meant before is not meant afterwards.

_VERBS = st.sampled_from(
    [
        "delete",
        "remove",
        "cancel",
        "refund",
        "block",
        "show",
        "list",
        "deploy",
        "the",
        "find users and delete",
        "send",
    ]
)
_SMALL = st.sampled_from(["", "the", "all", "every", "my", "a", "each of the"])
_NOUNS = st.sampled_from(
    [
        "user",
        "users",
        "order 7",
        "user u1",
        "them",
        "it",
        "orders",
        "file",
        "status",
        "photo",
        "email",
        "user's photo",
    ]
)
_TAILS = st.sampled_from(["", "of user u1", "from the team", "now", "and list users", ", then block user u1"])
GOALS = st.tuples(_VERBS, _SMALL, _NOUNS, _TAILS).map(lambda parts: " ".join(one for one in parts if one))
AGAINST = st.sampled_from(
    ["other", "another", "the rest", "excluded", "u1 stays", "outside u1", "beyond", "above", "under", "below", "past",
     "against", "more than 5", "at least", "at most", "up to", "older than u1", "newer", "greater", "simulation",
     "pretend", "test run", "can I", "may I", "should I", "is it", "not", "never", "nothing", "none", "neither", "without", "except u1", "but u2", "besides", "unless", "if", "whether",
     "avoid", "prevent", "instead", "later", "dry run", "don't", "other than u1", "apart from", "only", "no", "excluding u1"]
)  # fmt: skip
WHICH = st.sampled_from(
    ["who left", "that are late", "with a beard", "of the team", "over 100 euros", "from last year", "in Berlin", "like that",
     "which nobody wants"]
)  # fmt: skip
LIKE = st.sampled_from(["inactive", "duplicate", "late", "most", "broken", "12"])


def changes(goal: str, have: dict[str, str]) -> dict[str, tuple[bool, bool]]:
    """The tools that are meant; of each whether it is done to all, and whether it is open to which."""
    said = read_goal(goal, have)
    found = {one.original_name: asked(said, one) for one in OPS if one.original_name != "list_users"}
    return {name: (one.every, one.is_open) for name, one in found.items() if one.is_meant}


@given(goal=GOALS, against=AGAINST, at=st.integers(0, 12), have=st.sampled_from([{}, HAVE]))
def test_a_goal_with_a_word_against_it_changes_nothing(
    goal: str, against: str, at: int, have: dict[str, str]
) -> None:
    words = goal.split()
    words.insert(min(at, len(words)), against)
    assert changes(" ".join(words), have) == {}


@given(goal=GOALS, have=st.sampled_from([{}, HAVE]))
def test_no_goal_leads_to_what_destroys(goal: str, have: dict[str, str]) -> None:
    found = asked_for(read_goal(goal, have), OPS)
    assert not any(found[one.tool].is_meant for one in OPS if seems_to_destroy(one))


@given(goal=GOALS, which=WHICH, have=st.sampled_from([{}, HAVE]))
def test_to_say_which_makes_no_change_appear_and_none_of_all(
    goal: str, which: str, have: dict[str, str]
) -> None:
    before, after = changes(goal, have), changes(f"{goal} {which}", have)
    assert after.keys() <= before.keys()
    for name, (every, is_open) in after.items():
        assert not (every and not before[name][0])
        assert not (is_open and not before[name][1])


@given(verb=_VERBS, small=_SMALL, like=LIKE, noun=_NOUNS, have=st.sampled_from([{}, HAVE]))
def test_to_say_what_it_is_like_makes_no_change_appear_and_none_of_all(
    verb: str, small: str, like: str, noun: str, have: dict[str, str]
) -> None:
    before, after = changes(f"{verb} {small} {noun}", have), changes(f"{verb} {small} {like} {noun}", have)
    assert after.keys() <= before.keys()
    assert not any(every or is_open for every, is_open in after.values())
