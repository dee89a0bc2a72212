"""Guards of a change: not to everything found, and no new value read from the thing that is changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.made import graph_of, ports, shown
from halflap.graph.plan import plan, target_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.graph.edges import Graph
    from halflap.graph.plan import Planned

MEMBERS = ports("list_members", "", "members[].member_id")
MEMBER = ports("get_member", "member_id", "wallet_id")
WALLETS = ports("list_wallets", "", "wallets[].wallet_id")
DELETE = ports("delete_wallet", "wallet_id", "done")
READ = ports("read_wallet", "wallet_id", "balance")
TOP_UP = ports("update_wallet", "wallet_id", "done")


def asked(graph: Graph, want: str, have: Mapping[str, Any] | None = None, **more: Any) -> Planned:
    return plan(graph, want=[target_of(graph, want)], have=have or {}, **more)


def tools(planned: Planned) -> list[list[str]]:
    return [[task.ports.original_name for task in one.tasks] for one in planned.suggestions]


@pytest.mark.parametrize("change", [DELETE, TOP_UP])
@pytest.mark.parametrize("sources", [(WALLETS,), (MEMBERS, MEMBER), (WALLETS, MEMBERS, MEMBER)])
def test_a_change_is_not_applied_to_every_item_found(change: Any, sources: tuple[Any, ...]) -> None:
    planned = asked(graph_of(*sources, change), change.original_name)
    assert all(one.missing and not any(task.axes for task in one.tasks) for one in planned.suggestions)
    (lack,) = planned.missing
    assert lack.parameter == "wallet_id"
    assert {one["tool"].rpartition("__")[2] for one in lack.could_provide} == {
        one.original_name for one in sources if one is not MEMBERS
    }


def test_reading_fans_out() -> None:
    planned = asked(graph_of(MEMBERS, MEMBER, READ), "read_wallet")
    assert tools(planned) == [["list_members", "get_member", "read_wallet"]]
    steps = shown(planned)["suggestions"][0]["steps"]
    loop = [{"step": "s1", "path": "members[]"}]
    assert [one["fan_out"] for one in steps] == [None, loop, loop]


def test_one_value_leads_to_one_change() -> None:
    planned = asked(graph_of(MEMBERS, MEMBER, DELETE), "delete_wallet", {"member_id": "m"})
    assert tools(planned) == [["get_member", "delete_wallet"]]
    assert not planned.missing


def test_an_array_of_everything_found_is_not_passed_to_a_change() -> None:
    planned = asked(graph_of(WALLETS, ports("delete_wallets", "wallet_ids[]", "done")), "delete_wallets")
    assert tools(planned) == [["delete_wallets"]]
    assert planned.missing[0].parameter == "wallet_ids"


def test_an_intermediate_change_does_not_fan_out_either() -> None:
    makes = ports("create_card", "wallet_id", "card_id")
    planned = asked(graph_of(WALLETS, makes, ports("get_card", "card_id", "state")), "get_card")
    assert all(not task.axes for one in planned.suggestions for task in one.tasks)


@pytest.mark.parametrize(
    ("change", "takes", "reads"),
    [
        ("set_brightness", "light_id brightness", ("get_light", "light_id", "brightness power")),
        ("rename_user", "user_id name", ("get_user", "user_id", "user.user_id user.name")),
        ("update_order_state", "order_id state", ("order_log", "", "orders[].order_id orders[].state")),
    ],
)
def test_a_new_value_is_not_read_from_the_thing_that_is_changed(
    change: str, takes: str, reads: tuple[str, str, str]
) -> None:
    identity, value = takes.split()
    planned = asked(graph_of(ports(change, takes, "done"), ports(*reads)), change, {identity: "x"})
    assert tools(planned) == [[change]]
    assert [one.parameter for one in planned.missing] == [value]


def test_the_identity_of_the_thing_may_be_read() -> None:
    find = ports("find_user", "email", "user_id phone")
    graph = graph_of(find, ports("set_phone", "user_id phone", "done"))
    planned = asked(graph, "set_phone", {"email": "a@b", "phone": "1"})
    assert tools(planned) == [["find_user", "set_phone"]]
    assert not planned.missing


def test_a_new_thing_is_made_from_existing_values() -> None:
    graph = graph_of(ports("get_user", "user_id", "address"), ports("send_letter", "user_id address", "done"))
    assert tools(asked(graph, "send_letter", {"user_id": "u"})) == [["get_user", "send_letter"]]
