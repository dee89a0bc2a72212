"""What is at hand goes with the items that have it, and with no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from graph.making import graph_of, tool
from graph.playing import play
from halflap.graph.emit import program
from halflap.graph.plan import plan
from halflap.graph.want import target_of

if TYPE_CHECKING:
    from graph.playing import Play
    from halflap.graph.edge import Ports

FLOORS = tool("m", "list_floors", "", {"floors": [{"floor_no": int, "rooms": [{"room_ref": str}]}]})
EXHIBITS = tool("m", "list_exhibits", "floor_no:integer! room_ref!", {"exhibit_refs": [str]})
HOUSE = {
    "floors": [
        {"floor_no": 1, "rooms": [{"room_ref": "R1"}, {"room_ref": "R2"}]},
        {"floor_no": 2, "rooms": []},
        {"floor_no": 3, "rooms": [{"room_ref": "R3"}]},
    ]
}


def played(**have: Any) -> Play:
    graph = graph_of(FLOORS, EXHIBITS)
    planned = plan(graph, want=[target_of(graph, "list_exhibits")], have=have)
    answers: dict[str, Any] = {
        "list_floors": lambda: HOUSE,
        "list_exhibits": lambda floor_no, room_ref: {"exhibit_refs": [f"{floor_no}{room_ref}"]},
    }
    return play(program(planned.suggestions[0]), graph.tools.values(), answers)


def test_only_the_items_inside_of_which_it_is_are_gone_through() -> None:
    assert played(room_ref="R2").of("list_exhibits") == [{"floor_no": 1, "room_ref": "R2"}]


def test_only_what_is_inside_of_the_item_that_has_it_is_gone_through() -> None:
    assert played(floor_no=1).of("list_exhibits") == [
        {"floor_no": 1, "room_ref": "R1"},
        {"floor_no": 1, "room_ref": "R2"},
    ]


@pytest.mark.parametrize("have", [{"room_ref": "R9"}, {"floor_no": 9}])
def test_where_none_has_it_that_is_said(have: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"mcp__m__list_floors returned nothing whose floors.* at hand"):
        played(**have)


def test_where_one_has_it_and_nothing_is_in_that_there_is_nothing() -> None:
    assert played(floor_no=2).value == []


def test_without_anything_at_hand_all_are_gone_through() -> None:
    assert len(played().of("list_exhibits")) == 3


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
            ({"kind": "b"}, ["0S1", "1S1"]),
            ({"kind": "b", "age": 11}, ["1S1"]),
            ({"name": "kid0"}, ["0S0", "0S1", "0S2"]),
            ({"city": "X", "kind": "b"}, ["1S1"]),
            ({"school_name": "n2"}, ["0S2", "1S2"]),
        ],
    )
    def test_it_says_which_items_are_meant_at_whichever_step(self, have: Any, taken: list[str]) -> None:
        assert called("phone", have).value == [f"5G{one}" for one in taken]

    def test_items_that_go_into_one_call_are_chosen_as_well(self) -> None:
        assert called("compare_schools", {"kind": "a"}).of("compare_schools") == [
            {"school_ids": ["S0", "S2"]}
        ]
        with pytest.raises(ValueError, match=r"list_schools returned nothing whose schools\[\]\.kind"):
            called("compare_schools", {"kind": "z"})

    def test_fields_that_are_printed_are_those_of_the_items_that_have_it(self) -> None:
        assert called("pupil_id", {"age": 11}).value == ["P1S0", "P1S1", "P1S2"]
        assert called("school_id", {"kind": "b"}).value == ["S1"]

    def test_of_a_list_that_is_wanted_only_the_items_that_have_it_are_printed(self) -> None:
        (schools,) = called("list_schools", {"kind": "b"}).value.values()
        assert [one["name"] for one in schools] == ["n1"]
        several = called("list_pupils", {"age": 11, "school_name": "n2", "city": "X"}).value
        assert [[one["pupil_id"] for one in part["pupils"]] for part in several] == [["P1S2"]]
        some = called("list_pupils", {"pupil_id": ["P1S2", "P0S0"]}).value
        assert [[one["pupil_id"] for one in part["pupils"]] for part in some] == [["P0S0"], [], ["P1S2"]]

    def test_of_a_result_that_is_a_list_too(self) -> None:
        rows = tool("s", "list_rows", "", learned=[{"row_no": int, "kind": str}])
        graph = graph_of(rows)
        (first, *_) = plan(graph, want=[target_of(graph, "list_rows")], have={"kind": "b"}).suggestions
        came: list[Any] = [{"row_no": 1, "kind": "a"}, {"row_no": 2, "kind": "b"}]
        made = play(program(first), graph.tools.values(), {"list_rows": lambda: came})
        assert made.value == came[1:]

    def test_a_list_is_chosen_from_when_all_its_pages_are_read(self) -> None:
        rows = tool("s", "list_rows", "cursor", {"rows": [{"kind": str}], "next_cursor?": str})
        graph = graph_of(rows)
        (first, *_) = plan(graph, want=[target_of(graph, "list_rows")], have={"kind": "b"}).suggestions

        def pages(cursor: str = "") -> Any:
            return {"rows": [{"kind": "b" if cursor else "a"}], "next_cursor": "" if cursor else "2"}

        made = play(program(first), graph.tools.values(), {"list_rows": pages})
        assert made.value["rows"] == [{"kind": "b"}]

    def test_a_list_that_says_that_there_is_more_is_not_chosen_from(self) -> None:
        rows = tool("s", "list_rows", "", {"rows": [{"kind": str}], "has_more": bool})
        graph = graph_of(rows)
        (first, *_) = plan(graph, want=[target_of(graph, "list_rows")], have={"kind": "b"}).suggestions
        part = {"rows": [{"kind": "b"}], "has_more": True}
        with pytest.raises(ValueError, match="there is more than it returned"):
            play(program(first), graph.tools.values(), {"list_rows": lambda: part})

    @pytest.mark.parametrize(
        "whole",
        [
            tool("s", "get_order", "", {"order_id": str, "lines": [{"sku": str}]}),
            tool("s", "delete_orders", "", {"deleted": [{"sku": str}]}),
            tool("s", "list_orders", "", {"open": [{"sku": str}], "closed": [{"sku": str}]}),
        ],
    )
    def test_what_is_one_thing_or_done_stays_whole_and_that_is_told(self, whole: Ports) -> None:
        graph = graph_of(whole)
        found = plan(graph, want=[target_of(graph, whole.tool)], have={"sku": "A"}).suggestions
        ((name, why),) = found[0].unused
        assert name == "sku"
        assert "[].sku of" in why
        assert "nothing is chosen by that" in why

    @pytest.mark.parametrize("want", ["phone", "pupil_id", "list_pupils"])
    def test_where_no_item_has_it_that_is_said(self, want: str) -> None:
        with pytest.raises(
            ValueError, match=r"list_pupils returned nothing whose pupils\[\]\.age is the age at hand"
        ):
            called(want, {"age": 99})

    def test_what_is_only_known_to_exist_has_to_be_filled_in(self) -> None:
        with pytest.raises(ValueError, match="Fill in age"):
            called("phone", {"age": None})

    def test_what_is_of_another_type_chooses_nothing(self) -> None:
        graph = graph_of(SCHOOLS, PUPILS, GUARDIAN)
        (first, *_) = plan(graph, want=[target_of(graph, "phone")], have={"age": "old"}).suggestions
        assert [name for name, _ in first.unused] == ["age"]


class TestTwoOfTheSameKind:
    STATIONS = tool("r", "list_stations", "", {"stations": [{"station_code": str}]})
    CONNECTION = tool("r", "find_connection", "from_station_code! to_station_code!", {"minutes": int})
    CODES: ClassVar[list[str]] = ["GNT", "BRU", "ANT"]

    def calls(self, codes: list[str], **have: Any) -> list[dict[str, Any]]:
        graph = graph_of(self.STATIONS, self.CONNECTION)
        (first, *_) = plan(graph, want=[target_of(graph, "find_connection")], have=have).suggestions
        assert not first.missing
        answers = {"list_stations": lambda: {"stations": [{"station_code": one} for one in codes]}}
        return play(program(first), graph.tools.values(), answers).of("find_connection")

    @pytest.mark.parametrize(
        ("at_hand", "other"),
        [("from_station_code", "to_station_code"), ("to_station_code", "from_station_code")],
    )
    def test_what_is_at_hand_for_the_one_is_not_the_other(self, at_hand: str, other: str) -> None:
        assert self.calls(self.CODES, **{at_hand: "GNT"}) == [
            {at_hand: "GNT", other: "BRU"},
            {at_hand: "GNT", other: "ANT"},
        ]

    def test_of_several_at_hand_each_is_with_the_others(self) -> None:
        made = self.calls(self.CODES, from_station_code=["GNT", "BRU"])
        assert {(one["from_station_code"], one["to_station_code"]) for one in made} == {
            ("GNT", "BRU"),
            ("GNT", "ANT"),
            ("BRU", "GNT"),
            ("BRU", "ANT"),
        }

    def test_where_there_is_no_other_that_is_said(self) -> None:
        with pytest.raises(
            ValueError, match=r"nothing whose stations.* is another than the from_station_code"
        ):
            self.calls(["GNT"], from_station_code="GNT")

    def test_one_place_does_not_supply_both(self) -> None:
        edge = graph_of(self.STATIONS, self.CONNECTION).edge(self.STATIONS.tool, self.CONNECTION.tool)
        assert edge is not None
        assert edge.coverage == "partial"
        ends = tool("r", "get_trip", "", {"from_station_code": str, "to_station_code": str})
        edge = graph_of(ends, self.CONNECTION).edge(ends.tool, self.CONNECTION.tool)
        assert edge is not None
        assert edge.coverage == "strict"

    def test_a_list_of_the_others_is_taken_from_what_has_any(self) -> None:
        depots = tool(
            "r", "list_depots", "", {"depots": [{"depot_ref": str, "stations": [{"station_code": str}]}]}
        )
        times = tool("r", "get_times", "from_station_code! to_station_codes:string[]! depot_ref!", {"n": int})
        graph = graph_of(depots, times)
        want = [target_of(graph, "get_times")]
        (first, *_) = plan(graph, want=want, have={"from_station_code": "GNT"}).suggestions
        found = {
            "depots": [
                {"depot_ref": "z1", "stations": [{"station_code": "GNT"}]},
                {"depot_ref": "z2", "stations": [{"station_code": "BRU"}]},
            ]
        }
        made = play(program(first), graph.tools.values(), {"list_depots": lambda: found}).of("get_times")
        assert [one["to_station_codes"] for one in made] == [["BRU"]]


class TestWhatBelongsTogether:
    TRAINS = tool("r", "list_departures", "", {"departures": [{"train_no": int}]})
    SEATS = tool("r", "get_seats", "coach_id! train_no:integer!", {"seats": int})

    @pytest.mark.parametrize("inside", ["coaches", "coach_id"])
    def test_it_is_taken_from_who_tells_of_both(self, inside: str) -> None:
        coaches: Any = [{"coach_id": str}] if inside == "coaches" else str
        train = tool("r", "get_train", "train_no:integer!", {"train": {"train_no": int, inside: coaches}})
        graph = graph_of(self.TRAINS, train, self.SEATS)

        def one(train_no: int) -> Any:
            coach = f"c{train_no}"
            return {
                "train": {
                    "train_no": train_no,
                    inside: [{"coach_id": coach}] if coaches is not str else coach,
                }
            }

        answers: Any = {
            "list_departures": lambda: {"departures": [{"train_no": 101}, {"train_no": 102}]},
            "get_train": one,
        }
        want = [target_of(graph, "get_seats")]
        for coach, said in [("c102", ""), ("c999", "returned nothing whose train")]:
            (first, *_) = plan(graph, want=want, have={"coach_id": coach}).suggestions
            if said:
                with pytest.raises(ValueError, match=said):
                    play(program(first), graph.tools.values(), answers)
            else:
                made = play(program(first), graph.tools.values(), answers)
                assert made.of("get_seats") == [{"coach_id": coach, "train_no": 102}]

    def test_where_nobody_tells_of_both_each_is_tried(self) -> None:
        graph = graph_of(self.TRAINS, self.SEATS)
        (first, *_) = plan(graph, want=[target_of(graph, "get_seats")], have={"coach_id": "c"}).suggestions
        assert not first.missing
        assert len(first.tasks) == 2


class TestWhatIsShown:
    @pytest.mark.parametrize("want", ["list_pupils", "pupil_id"])
    def test_the_answer_says_what_chooses_among_items(self, want: str) -> None:
        graph = graph_of(SCHOOLS, PUPILS)
        found = plan(graph, want=[target_of(graph, want)], have={"kind": "primary"}).to_json()
        (first, *_) = found["suggestions"]
        shown = {"path": "schools[].kind", "name": "kind", "value": "primary"}
        assert [one["only_where"] for one in first["steps"]] == [[shown], []]
        assert "kind" in first["mermaid"]
        assert "schools#91;#93;.kind #61; kind" in first["mermaid"]
        assert first["unused"] == []

    def test_items_that_are_printed_are_chosen_too(self) -> None:
        graph = graph_of(SCHOOLS)
        found = plan(graph, want=[target_of(graph, "school_id")], have={"kind": "primary"}).to_json()
        (first, *_) = found["suggestions"]
        assert [one["path"] for one in first["steps"][0]["only_where"]] == ["schools[].kind"]
        assert "kind" in first["mermaid"]

    def test_what_is_to_be_another_is_marked(self) -> None:
        two = TestTwoOfTheSameKind
        graph = graph_of(two.STATIONS, two.CONNECTION)
        want = [target_of(graph, "find_connection")]
        (first, *_) = plan(graph, want=want, have={"from_station_code": "GNT"}).to_json()["suggestions"]
        (chosen,) = first["steps"][0]["only_where"]
        assert chosen["other"] is True
