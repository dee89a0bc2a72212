"""What only reads is called once for the same arguments, and each item has its result."""

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

ARTIFACTS = [
    {"artifact_id": f"A{at}", "room_id": f"R{at % 3}", "shelf": {"room_no": at % 2}} for at in range(7)
]
ITEMS = {"artifact_id": str, "room_id": str, "shelf": {"room_no": int}}
LIST = tool("m", "list_artifacts", "", {"artifacts": [ITEMS]})
ROOM = tool("m", "room_climate", "room_id!", {"floor_no": int, "temperature": str})
FLOOR = tool("m", "get_floor", "floor_no:integer!", {"height": str})
DAMPNESS = tool("m", "dampness", "artifact_id! room_id!", {"percent": str})


def text(want: str, *tools: Ports, every: bool = False, **have: Any) -> str:
    graph = graph_of(*tools)
    return program(plan(graph, want=[target_of(graph, want)], have=have, every=every).suggestions[0])


def played(want: str, *tools: Ports, every: bool = False, **answers: Any) -> Play:
    known: dict[str, Any] = {
        "list_artifacts": lambda: {"artifacts": ARTIFACTS},
        "room_climate": lambda room_id: {
            "floor_no": int(room_id[1]) // 2,
            "temperature": f"{room_id} is warm",
        },
        "get_floor": lambda floor_no: {"height": f"{floor_no} m"},
        "dampness": lambda **given: {"percent": given},
    }
    return play(text(want, *tools, every=every), tools, known | answers)


def test_the_same_is_asked_for_once_and_each_item_has_its_result_in_its_order() -> None:
    made = played("room_climate", LIST, ROOM)
    assert [one["room_id"] for one in made.of("room_climate")] == ["R0", "R1", "R2"]
    assert [one["temperature"][:2] for one in made.value] == [one["room_id"] for one in ARTIFACTS]


def test_so_it_is_further_on() -> None:
    made = played("get_floor", LIST, ROOM, FLOOR)
    assert [one["floor_no"] for one in made.of("get_floor")] == [0, 1]
    assert [one["height"] for one in made.value] == ["0 m", "0 m", "1 m", "0 m", "0 m", "1 m", "0 m"]


def test_steps_that_wait_together_are_each_asked_once() -> None:
    tools = [
        tool("m", "room_climate", "room_id!", {"climate_id": str}),
        tool("m", "get_floor", "room_id!", {"floor_id": str}),
        tool("m", "get_comfort", "climate_id! floor_id!", {"percent": str}),
    ]
    made = played(
        "get_comfort",
        LIST,
        *tools,
        room_climate=lambda room_id: {"climate_id": f"c{room_id}"},
        get_floor=lambda room_id: {"floor_id": f"l{room_id}"},
        get_comfort=lambda **given: given,
    )
    assert [len(made.of(one.original_name)) for one in tools] == [3, 3, 3]
    rooms = [one["room_id"] for one in ARTIFACTS]
    assert made.value == [{"climate_id": f"c{one}", "floor_id": f"l{one}"} for one in rooms]


def test_calls_that_differ_in_anything_are_all_made() -> None:
    made = played("dampness", LIST, DAMPNESS)
    assert made.of("dampness") == [
        {"artifact_id": one["artifact_id"], "room_id": one["room_id"]} for one in ARTIFACTS
    ]
    assert "json.dumps([" not in text("dampness", LIST, DAMPNESS)


@pytest.mark.parametrize(
    ("gives", "want"),
    [
        ({"artifacts": [{"artifact_id": str}]}, tool("m", "get_artifact", "artifact_id!", {"title": str})),
        ({"artifacts": [{"id": str}]}, tool("m", "get_artifact", "artifact_id!", {"title": str})),
        ({"artifact_ids": [str]}, tool("m", "get_artifact", "artifact_id!", {"title": str})),
    ],
)
def test_where_each_names_itself_the_program_does_not_look(gives: Any, want: Ports) -> None:
    assert "json.dumps([" not in text(want.original_name, tool("m", "list_artifacts", "", gives), want)


def test_what_changes_something_is_done_as_often_as_it_is_told() -> None:
    warm = tool("m", "heat_room", "room_id!", {"done": str})
    made = played("heat_room", LIST, warm, every=True, heat_room=lambda **_: {"done": "yes"})
    assert len(made.of("heat_room")) == 7


def test_so_many_calls_as_there_are_are_counted() -> None:
    many = [{**ARTIFACTS[0], "room_id": f"R{at % 150}"} for at in range(500)]
    made = played(
        "room_climate",
        LIST,
        ROOM,
        list_artifacts=lambda: {"artifacts": many},
        room_climate=lambda room_id: room_id,
    )
    assert len(made.of("room_climate")) == 150
    assert len(made.value) == 500
    more = [{**ARTIFACTS[0], "room_id": f"R{at}"} for at in range(201)]
    with pytest.raises(
        ValueError, match="room_climate would be called more often than most_calls allows: 201 times"
    ):
        played("room_climate", LIST, ROOM, list_artifacts=lambda: {"artifacts": more})


def test_objects_may_be_the_same_as_well() -> None:
    shelf = tool("m", "shelf_view", {"shelf!": {"room_no": int}}, {"title": str})
    made = played("shelf_view", LIST, shelf, shelf_view=lambda shelf: shelf["room_no"])
    assert made.of("shelf_view") == [{"shelf": {"room_no": 0}}, {"shelf": {"room_no": 1}}]
    assert made.value == [at % 2 for at in range(7)]
