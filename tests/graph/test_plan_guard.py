"""What changes something is not done to all that is found, unless that is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.made import Made, edge, link, ports
from halflap.graph.plan import plan
from halflap.graph.want import target_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.graph.plan import Planned

MEMBERS = ports("list_members", "", "members[].member_id")
MEMBER = ports("get_member", "member_id", "wallet_id")
WALLETS = ports("list_wallets", "", "wallets[].wallet_id")
DELETE = ports("delete_wallet", "wallet_id", "done")
READ = ports("read_wallet", "wallet_id", "balance")
TOP_UP = ports("update_wallet", "wallet_id", "done")


def asked(graph: Made, want: str, have: Mapping[str, Any] | None = None, **more: Any) -> Planned:
    return plan(graph, want=[target_of(graph, want)], have=have or {}, **more)


def tools(planned: Planned) -> list[list[str]]:
    return [[task.ports.original_name for task in one.tasks] for one in planned.suggestions]


@pytest.mark.parametrize("change", [DELETE, TOP_UP])
@pytest.mark.parametrize("sources", [(WALLETS,), (MEMBERS, MEMBER), (WALLETS, MEMBERS, MEMBER)])
def test_a_loop_that_any_step_began_asks_for_one_value(change: Any, sources: tuple[Any, ...]) -> None:
    planned = asked(Made.of(*sources, change), change.original_name)
    assert all(one.missing and not any(task.axes for task in one.tasks) for one in planned.suggestions)
    (lack,) = planned.missing
    assert lack.name == "wallet_id"
    assert "to all that are found" in lack.note
    assert {one["tool"].rpartition("__")[2] for one in lack.could} == {
        one.original_name for one in sources if one is not MEMBERS
    }


@pytest.mark.parametrize("sources", [(WALLETS,), (MEMBERS, MEMBER)])
def test_where_all_are_meant_it_is_done_to_all(sources: tuple[Any, ...]) -> None:
    planned = asked(Made.of(*sources, DELETE), "delete_wallet", every=True)
    assert tools(planned)[0] == [*(one.original_name for one in sources), "delete_wallet"]


def test_what_reads_is_called_for_each() -> None:
    planned = asked(Made.of(MEMBERS, MEMBER, READ), "read_wallet")
    assert tools(planned) == [["list_members", "get_member", "read_wallet"]]
    steps = planned.to_json()["suggestions"][0]["steps"]
    loop = [{"step": "s1", "path": "members[]"}]
    assert [one["fan_out"] for one in steps] == [None, loop, loop]


def test_one_value_leads_to_one_change_over_the_same_steps() -> None:
    planned = asked(Made.of(MEMBERS, MEMBER, DELETE), "delete_wallet", {"member_id": "m"})
    assert tools(planned) == [["get_member", "delete_wallet"]]
    assert not planned.missing


def test_an_array_of_all_that_is_found_is_not_destroyed_at_once() -> None:
    planned = asked(Made.of(WALLETS, ports("delete_wallets", "wallet_ids[]", "done")), "delete_wallets")
    assert tools(planned) == [["delete_wallets"]]
    assert planned.missing[0].name == "wallet_ids"


def test_nothing_on_the_way_is_changed_for_each() -> None:
    makes = ports("create_card", "wallet_id", "card_id")
    planned = asked(Made.of(WALLETS, makes, ports("get_card", "card_id", "state")), "get_card")
    assert all(not task.axes for one in planned.suggestions for task in one.tasks)


class TestRoles:
    TRANSFER = ports("compare_wallets", "from_wallet_id to_wallet_id", "difference")

    def graph(self, source: Any, *links: Any) -> Made:
        return Made.of(source, self.TRANSFER, edges=[edge(source, self.TRANSFER, *links)], by_name=False)

    def test_one_place_of_one_item_goes_into_one_of_two_roles(self) -> None:
        same = "wallets[].wallet_id"
        graph = self.graph(WALLETS, link(same, "from_wallet_id"), link(same, "to_wallet_id"))
        planned = asked(graph, "compare_wallets")
        assert [one.name for one in planned.missing] == ["to_wallet_id"]

    def test_another_place_of_the_same_item_goes_into_the_other(self) -> None:
        pair = ports("get_pair", "", "wallet_id other_wallet_id")
        links = [
            link("wallet_id", "from_wallet_id"),
            link("wallet_id", "to_wallet_id"),
            link("other_wallet_id", "to_wallet_id", 0.6),
        ]
        planned = asked(self.graph(pair, *links), "compare_wallets")
        assert not planned.missing
        step = planned.to_json()["suggestions"][0]["steps"][1]
        assert {name: one["path"] for name, one in step["arguments"].items()} == {
            "from_wallet_id": "wallet_id",
            "to_wallet_id": "other_wallet_id",
        }
