"""Commands that words turn round or bind, and plain ones that look like them; the marks are those of `test_commands`."""

from __future__ import annotations

import json

import pytest

from graph.commanding import catalogue, meant

DEPOT = catalogue("""
    water_planter | planter_id | Water a planter.
    uproot_planter | planter_id | Uproot a planter, for good.
    move_planter | planter_id greenhouse_id | Move a planter to another greenhouse.
    notify_grower | grower_id message | Send a grower a message.
    approve_request | request_id | Approve a request.
    set_price | product_id price | Set a product's price.
    start_job | job_id | Start a job.
    order_pizza | pizza_name | Order a pizza.
    close_ticket | ticket_id | Close a ticket.
    assign_ticket | ticket_id agent_id | Assign a ticket to an agent.
    reply_ticket | ticket_id text | Reply to a ticket.
    wire_money | from_account_id to_account_id amount | Wire money from one account to another.
    send_email | address | Send an email.
    block_user | user_id | Block a user.
    delete_customer | customer_id | Delete a customer.
    close_account | account_id | Close an account.
""")
TURNED = """
uproot all planters outside greenhouse gh0 | {"greenhouse_id": "gh0"} |
uproot all the other planters | {"planter_id": "pl1"} |
water all planters; pl1 stays dry | {"planter_id": "pl1"} |
water all planters, pl1 excluded | {"planter_id": "pl1"} |
water the remaining planters | {} |
water all planters | {"planter_id": "pl1"} |
water all planters | {"planter_id": ["pl1", "pl2"]} | water_planter*
water planter pl1 | {"planter_id": "pl1"} | water_planter
delete all other customers | {"customer_id": "CUST-001"} |
move planter pl1 out of greenhouse gh0 | {"planter_id": "pl1", "greenhouse_id": "gh0"} |
move planter pl1 from greenhouse gh0 | {"planter_id": "pl1", "greenhouse_id": "gh0"} |
move planter pl1 away | {"planter_id": "pl1", "greenhouse_id": "gh0"} |
move planter pl1, away from gh0 | {"planter_id": "pl1", "greenhouse_id": "gh0"} |
move planter pl1 to greenhouse gh0 | {"planter_id": "pl1", "greenhouse_id": "gh0"} | move_planter
approve all requests with amount over 5 | {"amount": 5} |
approve request r1 over 5 euros | {"request_id": "r1"} |
approve request r1, off the record | {"request_id": "r1"} |
approve request r1 | {"request_id": "r1"} | approve_request
close all tickets with priority above low | {"priority": "low"} |
close all tickets with status open | {"status": "open"} | close_ticket!
close all tickets assigned to agent a1 | {"agent_id": "a1"} |
assign ticket t1 away from agent a1 | {"ticket_id": "t1", "agent_id": "a1"} |
assign ticket t1 from agent a1 | {"ticket_id": "t1", "agent_id": "a1"} |
assign ticket t1 to agent a1 | {"ticket_id": "t1", "agent_id": "a1"} | assign_ticket
block the users following user u1 | {"user_id": "u1"} |
block the user that user u1 invited | {"user_id": "u1"} |
block user u1 | {"user_id": "u1"} | block_user
send an email about bob@x.y | {"address": "bob@x.y"} |
send an email from bob@x.y | {"address": "bob@x.y"} |
send an email on behalf of bob@x.y | {"address": "bob@x.y"} |
send an email to bob@x.y | {"address": "bob@x.y"} | send_email
wire 5 euros from account ac1 to account ac2 | {"from_account_id": "ac1", "to_account_id": "ac2", "amount": 5} | wire_money
wire 5 euros from account ac2 to account ac1 | {"from_account_id": "ac1", "to_account_id": "ac2", "amount": 5} |
wire 7 euros from account ac1 to account ac2 | {"from_account_id": "ac1", "to_account_id": "ac2", "amount": 5} |
wire 5 photos from account ac1 to account ac2 | {"from_account_id": "ac1", "to_account_id": "ac2", "amount": 5} |
set price of product 5 to 10 | {"product_id": "5", "price": "10"} | set_price
set price history of product 5 | {"product_id": "5", "price": "10"} |
set prices of product 5 | {"product_id": "5", "price": "10"} |
reply to ticket t1 | {"ticket_id": "t1", "text": "hi"} | reply_ticket
reply to ticket t2 | {"ticket_id": "t1", "text": "hi"} |
reply to all tickets | {"text": "hi"} | reply_ticket*
reply to the agent of ticket t1 | {"ticket_id": "t1", "text": "hi"} |
notify grower g1 that the water is off | {"grower_id": "g1", "message": "m"} | notify_grower
notify the grower that owns planter pl1 | {"grower_id": "g1", "planter_id": "pl1"} |
notify grower g1 that we close and water planter pl1 | {"grower_id": "g1", "planter_id": "pl1"} | notify_grower
start job 5 | {"job_id": "5"} | start_job
start time job 5 | {"job_id": "5"} |
order a pizza | {"pizza_name": "m"} | order_pizza
order pizzas by price | {"pizza_name": "m"} |
"""


@pytest.mark.parametrize("line", TURNED.strip().splitlines())
def test_what_turns_a_command_round_or_sets_a_bound_leaves_nothing_of_it(line: str) -> None:
    goal, have, names = line.split("|")
    assert meant(goal.strip(), DEPOT, json.loads(have)) == names.split()
