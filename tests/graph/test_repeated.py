"""Programs call a reading tool once for equal arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.making import graph_of, tool
from graph.playing import play
from halflap.graph.emit import program
from halflap.graph.plan import plan, target_of

if TYPE_CHECKING:
    from graph.playing import Play
    from halflap.graph.ports import Ports

ARTIFACTS = [
    {"artifact_id": f"A{at}", "room_id": f"R{at % 3}", "shelf": {"room_no": at % 2}} for at in range(7)
]
ITEMS = {"artifact_id": str, "room_id": str, "shelf": {"room_no": int}}
LIST = tool("m", "list_artifacts", "", {"artifacts": [ITEMS]})
ROOM = tool("m", "get_room_climate", "room_id!", {"floor_no": int, "temperature": str})


def text(want: str, *tools: Ports, **have: Any) -> str:
    graph = graph_of(*tools)
    return program(plan(graph, want=[target_of(graph, want)], have=have).suggestions[0])


def played(want: str, *tools: Ports, **answers: Any) -> Play:
    known: dict[str, Any] = {
        "list_artifacts": lambda: {"artifacts": ARTIFACTS},
        "get_room_climate": lambda room_id: {
            "floor_no": int(room_id[1]) // 2,
            "temperature": f"{room_id} is warm",
        },
        "get_floor": lambda floor_no: {"height": f"{floor_no} m"},
        "dampness": lambda **given: {"percent": given},
    }
    return play(text(want, *tools), tools, known | answers)


def test_equal_reads_are_made_once_and_results_keep_their_order() -> None:
    made = played("get_room_climate", LIST, ROOM)
    assert [one["room_id"] for one in made.of("get_room_climate")] == ["R0", "R1", "R2"]
    assert [one["temperature"][:2] for one in made.value] == [one["room_id"] for one in ARTIFACTS]


def test_the_call_limit_counts_distinct_calls() -> None:
    many = [{**ARTIFACTS[0], "room_id": f"R{at % 150}"} for at in range(500)]
    made = played(
        "get_room_climate",
        LIST,
        ROOM,
        list_artifacts=lambda: {"artifacts": many},
        get_room_climate=lambda room_id: room_id,
    )
    assert len(made.of("get_room_climate")) == 150
    assert len(made.value) == 500
    more = [{**ARTIFACTS[0], "room_id": f"R{at}"} for at in range(201)]
    with pytest.raises(
        ValueError, match="get_room_climate would be called more often than max_calls allows: 201 times"
    ):
        played("get_room_climate", LIST, ROOM, list_artifacts=lambda: {"artifacts": more})
