"""Available values that no parameter takes select among the items that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.making import graph_of, tool
from graph.playing import play
from halflap.graph.emit import program
from halflap.graph.plan import plan, target_of

if TYPE_CHECKING:
    from graph.playing import Play


SCHOOLS = tool("s", "list_schools", "", {"schools": [{"school_id": str, "name": str, "kind": str}]})
PUPILS = tool(
    "s",
    "list_pupils",
    "school_id!",
    {"pupils": [{"pupil_id": str, "name": str, "age": int, "guardian_ids": [str], "home": {"city": str}}]},
)
GUARDIAN = tool("s", "get_guardian", "guardian_id!", {"guardian_id": str, "phone": str})
COMPARE = tool("s", "compare_schools", "school_ids:string[]!", {"same": bool})


def called(want: str, have: dict[str, Any]) -> Play:
    graph = graph_of(SCHOOLS, PUPILS, GUARDIAN, COMPARE)
    (first, *_) = plan(graph, want=[target_of(graph, want)], have=have).suggestions
    assert not first.unused
    answers: dict[str, Any] = {
        "list_schools": lambda: {
            "schools": [{"school_id": f"S{at}", "name": f"n{at}", "kind": "ab"[at % 2]} for at in range(3)]
        },
        "list_pupils": lambda school_id: {
            "pupils": [
                {
                    "pupil_id": f"P{at}{school_id}",
                    "name": f"kid{at}",
                    "age": 10 + at,
                    "guardian_ids": [f"G{at}{school_id}"],
                    "home": {"city": "X" if at else "Y"},
                }
                for at in range(2)
            ]
        },
        "get_guardian": lambda guardian_id: {"guardian_id": guardian_id, "phone": f"5{guardian_id}"},
        "compare_schools": lambda school_ids: school_ids,
    }
    return play(program(first), graph.tools.values(), answers)


class TestWhatNoParameterTakes:
    @pytest.mark.parametrize(
        ("have", "taken"),
        [
            ({"pupil_id": "P1S2"}, ["1S2"]),
            ({"pupilId": ["P1S2", "P0S0"]}, ["0S0", "1S2"]),
            ({"kind": "b", "age": 11}, ["1S1"]),
            ({"city": "X", "kind": "b"}, ["1S1"]),
        ],
    )
    def test_a_value_filters_items_at_any_step(self, have: Any, taken: list[str]) -> None:
        assert called("phone", have).value == [f"5G{one}" for one in taken]

    def test_a_requested_list_is_filtered(self) -> None:
        (schools,) = called("list_schools", {"kind": "b"}).value.values()
        assert [one["name"] for one in schools] == ["n1"]
        several = called("list_pupils", {"age": 11, "school_name": "n2", "city": "X"}).value
        assert [[one["pupil_id"] for one in part["pupils"]] for part in several] == [["P1S2"]]
        some = called("list_pupils", {"pupil_id": ["P1S2", "P0S0"]}).value
        assert [[one["pupil_id"] for one in part["pupils"]] for part in some] == [["P0S0"], [], ["P1S2"]]

    def test_an_incomplete_list_is_not_filtered(self) -> None:
        rows = tool("s", "list_rows", "", {"rows": [{"kind": str}], "has_more": bool})
        graph = graph_of(rows)
        (first, *_) = plan(graph, want=[target_of(graph, "list_rows")], have={"kind": "b"}).suggestions
        part = {"rows": [{"kind": "b"}], "has_more": True}
        with pytest.raises(ValueError, match="there is more than it returned"):
            play(program(first), graph.tools.values(), {"list_rows": lambda: part})
