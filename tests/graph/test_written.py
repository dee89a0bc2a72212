"""A change writes a new value: what is there is not written back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.made import Made, ports
from graph.making import graph_of, tool
from halflap.graph.plan import plan
from halflap.graph.want import target_of

if TYPE_CHECKING:
    from halflap.graph.edge import Ports

Asked = tuple[list[list[str]], list[str]]


def asked(want: str, have: dict[str, Any], *tools: Any) -> Asked:
    graph = Made.of(*tools)
    planned = plan(graph, want=[target_of(graph, want)], have=have)
    found = [[task.ports.original_name for task in one.tasks] for one in planned.suggestions]
    return found, [one.name for one in planned.missing]


@pytest.mark.parametrize(
    ("change", "takes", "reads"),
    [
        ("update_customer_segment", "customer_id segment", ("customer_details", "customer_id", "name segment")),
        ("set_brightness", "light_id brightness", ("get_light", "light_id", "brightness power")),
        ("switch_power", "device_id power", ("device_status", "device_id", "power")),
        ("rename_user", "user_id name", ("get_user", "user_id", "user.user_id user.name")),
        ("edit_note", "id text", ("read_note", "id", "text title")),
        ("update_order_status", "order_id status", ("order_history", "customer_id?", "orders[].order_id orders[].status")),
        ("frobnicate_user", "user_id level", ("get_user", "user_id", "level")),
    ],
)  # fmt: skip
def test_the_new_value_is_not_read_from_what_is_changed(
    change: str, takes: str, reads: tuple[str, str, str]
) -> None:
    identity, value = takes.split()
    found = asked(change, {identity: "x"}, ports(change, takes, "done"), ports(*reads))
    assert found == ([[change]], [value])


def test_of_what_there_is_one_of_nothing_says_which() -> None:
    found = asked("set_volume", {}, ports("get_volume", "", "volume"), ports("set_volume", "volume"))
    assert found == ([["set_volume"]], ["volume"])


def test_that_it_is_the_new_value_is_said() -> None:
    graph = Made.of(ports("get_volume", "", "volume"), ports("set_volume", "volume"))
    (lack,) = plan(graph, want=[target_of(graph, "set_volume")], have={}).missing
    assert lack.note.startswith("It is the new value")
    assert not lack.near


def test_what_says_which_one_may_be_read() -> None:
    found = asked(
        "set_phone",
        {"email": "a@b", "phone": "1"},
        ports("find_user", "email", "user_id phone"),
        ports("set_phone", "user_id phone", "done"),
    )
    assert found == ([["find_user", "set_phone"]], [])


def test_what_comes_from_elsewhere_is_taken_and_so_is_what_stays_as_it_was() -> None:
    """As with a reservation: the flights are new, the cabin stays."""
    found = asked(
        "update_reservation_flights",
        {"reservation_id": "r", "origin": "ZRH"},
        ports("get_reservation", "reservation_id", "cabin flights[].flight_number user_id"),
        ports("search_flights", "origin", "[].flight_number"),
        ports("get_user", "user_id", "payment_id"),
        ports(
            "update_reservation_flights", "reservation_id cabin payment_id flights[].flight_number", "done"
        ),
    )
    assert found == (
        [["get_reservation", "search_flights", "get_user", "update_reservation_flights"]],
        [],
    )


def test_what_is_made_is_made_of_what_is_there() -> None:
    found = asked(
        "send_letter",
        {"user_id": "u"},
        ports("get_user", "user_id", "address"),
        ports("send_letter", "user_id address", "done"),
    )
    assert found == ([["get_user", "send_letter"]], [])


def put(want: str, have: dict[str, Any], *tools: Any) -> Asked:
    graph = graph_of(*tools)
    planned = plan(graph, want=[target_of(graph, want)], have=have)
    found = [[task.ports.original_name for task in one.tasks] for one in planned.suggestions]
    return found, [str(one["why"]) for lack in planned.missing for one in lack.could]


class TestWhatIsPutIntoSomething:
    GIVES: Any = {"tracks": [{"track_id": str}]}  # noqa: RUF012 -- a template
    INSIDE = tool("m", "playlist_tracks", "playlist_id!", GIVES)
    ALBUM = tool("m", "album_tracks", "album_id!", GIVES)

    @pytest.mark.parametrize("change", ["add_to_playlist", "add_tracks_to_playlist", "add_playlist_tracks"])
    def test_is_not_taken_from_there(self, change: str) -> None:
        add = tool("m", change, "playlist_id! track_ids:string[]!", {"done": bool})
        have = {"playlist_id": "p", "album_id": "a"}
        assert put(change, have, add, self.INSIDE, self.ALBUM) == ([["album_tracks", change]], [])

    def test_it_is_said_why(self) -> None:
        add = tool("m", "add_to_playlist", "playlist_id! track_ids:string[]!", {"done": bool})
        _, why = put("add_to_playlist", {"playlist_id": "p"}, add, self.INSIDE)
        assert why == ["what it gives is in there already"]

    @pytest.mark.parametrize(
        ("change", "takes", "reads"),
        [
            ("remove_from_playlist", "playlist_id! track_ids:string[]!", INSIDE),
            (
                "add_label",
                "repo_id! issue_ids:string[]! label_id!",
                tool("m", "list_issues", "repo_id!", {"issues": [{"issue_id": str}]}),
            ),
            (
                "send_message",
                "channel_id! user_ids:string[]!",
                tool("m", "channel_users", "channel_id!", {"users": [{"user_id": str}]}),
            ),
        ],
    )
    def test_what_is_not_put_into_it_may_be(self, change: str, takes: str, reads: Ports) -> None:
        have = {"playlist_id": "p", "repo_id": "r", "label_id": "l", "channel_id": "c"}
        graph = graph_of(tool("m", change, takes, {"done": bool}), reads)
        found = plan(graph, want=[target_of(graph, change)], have=have, every=True).suggestions
        assert [one.ports.tool for one in found[0].tasks] == [reads.tool, f"mcp__m__{change}"]

    def test_what_is_moved_is_not_taken_from_where_it_goes(self) -> None:
        move = tool("m", "move_file", "file_id! folder_id!", {"done": bool})
        inside = tool("m", "get_newest_file", "folder_id!", {"file_id": str})
        other = tool("m", "get_chosen_file", "", {"file_id": str})
        found, _ = put("move_file", {"folder_id": "f"}, move, inside, other)
        assert found == [["get_chosen_file", "move_file"]]
