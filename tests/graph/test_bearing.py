"""What a change gives to all does not choose among them; what says which are meant does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.making import graph_of, tool
from graph.playing import play
from halflap.graph.emit import program
from halflap.graph.plan import plan
from halflap.graph.want import target_of

if TYPE_CHECKING:
    from graph.playing import Play
    from halflap.graph.edge import Ports
    from halflap.graph.plan import Planned

COWS = [{"cow_id": f"C{at}", "barn_id": f"B{at % 2}", "herd_id": "H1"} for at in range(4)]
LIST = tool("f", "list_cows", "", {"cows": [{"cow_id": str, "barn_id": str, "herd_id": str}]})


def planned(change: Ports, have: dict[str, Any], *others: Ports) -> Planned:
    graph = graph_of(*(others or (LIST,)), change)
    return plan(graph, want=[target_of(graph, change.tool)], have=have, every=True)


def played(change: Ports, have: dict[str, Any], *others: Ports, **answers: Any) -> Play:
    (first, *_) = planned(change, have, *others).suggestions
    known = {"list_cows": lambda **_: {"cows": COWS}, change.original_name: lambda **_: "ok", **answers}
    return play(program(first), [*(others or (LIST,)), change], known)


@pytest.mark.parametrize(
    ("name", "takes", "said", "have"),
    [
        ("move_cow", "cow_id! barn_id!", "Move a cow to a barn.", {"barn_id": "B1"}),
        ("move_cow", "barn_id! cow_id!", "", {"barn_id": "B1"}),
        ("send_cow", "cow_id! barn_id!", "Send a cow to a barn.", {"barn_id": "B1"}),
        ("transfer_cow", "cow_id! herd_id!", "Transfer a cow to another herd.", {"herd_id": "H1"}),
        ("copy_cow_record", "cow_id! barn_id!", "Copy the record of a cow to a barn.", {"barn_id": "B1"}),
        ("update_cow", "cow_id! barn_id herd_id", "Update a cow.", {"barn_id": "B1"}),
        ("update_cow", "cow_id! barn_id herd_id", "", {"barn_id": "B1", "herd_id": "H1"}),
        ("set_cow_barn", "cow_id! barn_id!", "", {"barn_id": "B1"}),
        ("assign_barn", "cow_id! barn_id!", "", {"barn_id": "B1"}),
        ("vaccinate_cow", "cow_id! new_barn_id!", "", {"new_barn_id": "B1"}),
    ],
)
def test_what_all_are_to_get_is_given_to_all(name: str, takes: str, said: str, have: dict[str, Any]) -> None:
    calls = played(tool("f", name, takes, str, said), have).of(name)
    assert calls == [{"cow_id": one["cow_id"], **have} for one in COWS]


def test_who_lists_them_is_not_told_it_either() -> None:
    """Else those would be listed that have it already."""
    cows = tool("f", "list_cows", "barn_id", {"cows": [{"cow_id": str, "barn_id": str}]})
    made = played(tool("f", "move_cow", "cow_id! barn_id!", str), {"barn_id": "B1"}, cows)
    assert made.of("list_cows") == [{}]
    assert len(made.of("move_cow")) == 4


def test_those_that_are_within_something_else_come_to_it_as_well() -> None:
    barns = tool("f", "list_barns", "", {"barns": [{"barn_id": str, "cows": [{"cow_id": str}]}]})
    made = played(
        tool("f", "move_cow", "cow_id! barn_id!", str),
        {"barn_id": "B1"},
        barns,
        list_barns=lambda: {
            "barns": [{"barn_id": f"B{at}", "cows": [{"cow_id": f"C{at}"}]} for at in (0, 1)]
        },
    )
    assert made.of("move_cow") == [{"cow_id": f"C{at}", "barn_id": "B1"} for at in (0, 1)]


@pytest.mark.parametrize(
    ("name", "takes", "said"),
    [
        ("delete_cow", "cow_id! barn_id!", ""),
        ("remove_cow", "cow_id! barn_id!", "Remove a cow from a barn."),
        ("vaccinate_cow", "cow_id! barn_id!", "Vaccinate a cow of a barn."),
        ("move_cow", "cow_id! barn_id! stall!", "Move a cow of a barn to another stall."),
    ],
)
def test_what_says_which_are_meant_chooses(name: str, takes: str, said: str) -> None:
    have = {"barn_id": "B1"} | ({"stall": "S1"} if "stall" in takes else {})
    calls = played(tool("f", name, takes, str, said), have).of(name)
    assert calls == [{"cow_id": one["cow_id"], **have} for one in COWS if one["barn_id"] == "B1"]


def test_what_no_parameter_takes_chooses() -> None:
    assert len(played(tool("f", "vaccinate_cow", "cow_id!", str), {"barn_id": "B1"}).of("vaccinate_cow")) == 2


@pytest.mark.parametrize("verb", ["delete", "update", "approve"])
def test_of_a_key_of_two_parts_the_one_that_finds_the_thing_chooses(verb: str) -> None:
    posts = tool("b", "list_posts", "", {"posts": [{"post_id": str, "comments": [{"comment_id": str}]}]})
    comments = [{"post_id": f"P{at}", "comments": [{"comment_id": f"C{at}"}]} for at in range(2)]
    change = tool(
        "b", f"{verb}_comment", "post_id! comment_id!" + (" text!" if verb == "update" else ""), str
    )
    have = {"post_id": "P1"} | ({"text": "x"} if verb == "update" else {})
    made = played(change, have, posts, list_posts=lambda: {"posts": comments})
    assert made.of(change.original_name) == [{**have, "comment_id": "C1"}]
    of_post = tool("b", "list_comments", "post_id!", {"comments": [{"comment_id": str, "post_id": str}]})
    found = [{"comment_id": "C7", "post_id": "P1"}]
    made = played(change, have, of_post, list_comments=lambda **_: {"comments": found})
    assert made.of(change.original_name) == [{**have, "comment_id": "C7"}]


@pytest.mark.parametrize(
    ("name", "takes", "have"),
    [
        ("vaccinate_cow", "cow_id! barn_id!", {"barn_id": "B1"}),
        ("update_cow", "cow_id! barn_id! weight!", {"barn_id": "B1", "weight": "9"}),
        ("move_cow", "cow_id! barn_id! herd_id!", {"barn_id": "B1", "herd_id": "H1"}),
        ("create_tag", "cow_id! barn_id!", {"barn_id": "B1"}),
    ],
)
def test_where_nobody_can_tell_nothing_is_done_to_all(name: str, takes: str, have: dict[str, Any]) -> None:
    found = planned(tool("f", name, takes, str), have)
    assert [task.ports.original_name for one in found.suggestions for task in one.tasks] == [name]
    (lack,) = found.missing
    assert lack.name == "cow_id"
    assert "nothing tells whether 'barn_id' says which are meant, or is what they get" in lack.note
    assert [one["tool"] for one in lack.could] == ["mcp__f__list_cows"]


def test_nor_where_those_alone_can_be_listed_that_have_it_already() -> None:
    cows = tool("f", "list_cows", "barn_id!", {"cows": [{"cow_id": str}]})
    found = planned(
        tool("f", "send_cow", "cow_id! barn_id!", str, "Send a cow to a barn."), {"barn_id": "B1"}, cows
    )
    assert [one.name for one in found.missing] == ["cow_id"]


def test_of_what_is_at_hand_itself_the_one_is_taken() -> None:
    calls = played(tool("f", "move_cow", "cow_id! barn_id!", str), {"cow_id": "C2", "barn_id": "B1"}).of(
        "move_cow"
    )
    assert calls == [{"cow_id": "C2", "barn_id": "B1"}]
