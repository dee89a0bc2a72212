"""From a workflow to a program: what it calls, in which order, what it prints, and where it stops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.made import graph_of, ports
from graph.making import tool
from graph.playing import play
from halflap.graph.edges import Graph
from halflap.graph.emit import program
from halflap.graph.plan import plan, target_of

if TYPE_CHECKING:
    from graph.playing import Play

STRING = {"type": "string"}
NULL = {"type": "null"}
FLAG = {"type": "boolean"}


def written(graph: Graph, want: str, have: dict[str, Any] | None = None) -> str:
    found = plan(graph, want=[target_of(graph, one) for one in want.split()], have=have or {})
    return program(found.suggestions[0])


def played(graph: Graph, want: str, have: dict[str, Any] | None = None, **answers: Any) -> Play:
    return play(written(graph, want, have), graph.tools.values(), answers)


ROWS = graph_of(ports("rows", "", "rows[].row_id?"), ports("row_view", "row_id"))


def rows(*ids: Any) -> Any:
    return lambda: {"rows": [{} if one is None else {"row_id": one} for one in ids]}


class TestArguments:
    def test_identifiers_are_converted_to_the_type_that_is_taken(self) -> None:
        graph = Graph(
            [
                tool("s", "list_tickets", "", [{"id": int, "board_id": str}]),
                tool("s", "get_ticket", "ticket_id! board_id:integer!", {"title": str}),
            ]
        )
        made = played(
            graph,
            "get_ticket",
            list_tickets=lambda: [{"id": 7, "board_id": "12"}],
            get_ticket=lambda ticket_id, board_id: {"title": f"{ticket_id!r} {board_id!r}"},
        )
        assert made.value == [{"title": "'7' 12"}]


class TestLoops:
    def test_each_call_gets_values_of_the_same_item(self) -> None:
        graph = graph_of(
            ports("find_customers", "email", "customers[].customer_id"),
            ports("list_orders", "customer_id cursor?", "orders[].order_id next_cursor?"),
            ports("get_order", "order_id customer_id", "sku note?"),
        )
        made = played(
            graph,
            "get_order",
            {"email": "a@b"},
            find_customers=lambda email: {"customers": [{"customer_id": f"{email}{at}"} for at in range(2)]},
            list_orders=lambda customer_id: {
                "orders": [{"order_id": f"{customer_id}-{at}"} for at in range(2)]
            },
            get_order=lambda order_id, customer_id: f"{customer_id}:{order_id}",
        )
        assert made.value == ["a@b0:a@b0-0", "a@b0:a@b0-1", "a@b1:a@b1-0", "a@b1:a@b1-1"]

    def test_unrelated_lists_are_combined(self) -> None:
        graph = graph_of(
            ports("cities", "", "cities[].town"),
            ports("days", "", "days[].day"),
            ports("weather", "town day"),
        )
        made = played(
            graph,
            "weather",
            cities=lambda: {"cities": [{"town": "A"}, {"town": "B"}]},
            days=lambda: {"days": [{"day": 1}, {"day": 2}]},
            weather=lambda town, day: f"{town}{day}",
        )
        assert made.value == ["A1", "A2", "B1", "B2"]
        assert made.together == 4

    def test_results_for_the_same_item_stay_together(self) -> None:
        graph = graph_of(
            ports("users", "", "[].user_id"),
            ports("inbox_view", "user_id", "email"),
            ports("phone_view", "user_id", "phone"),
            ports("card", "email phone"),
        )
        made = played(
            graph,
            "card",
            users=lambda: [{"user_id": "a"}, {"user_id": "b"}, {"user_id": "a"}],
            inbox_view=lambda user_id: {"email": f"{user_id}@"},
            phone_view=lambda user_id: {"phone": f"{user_id}1"},
            card=lambda email, phone: f"{email} {phone}",
        )
        assert set(made.value) == {"a@ a1", "b@ b1"}

    def test_items_are_built_from_items_and_shared_values(self) -> None:
        graph = graph_of(
            ports("offers", "", "[].train_no [].day"),
            ports("trip", "rides[].train_no rides[].day rides[].seat_class"),
        )
        offers = [{"train_no": 1, "day": 2}, {"train_no": 3, "day": 4}]
        made = played(graph, "trip", {"seat_class": "x"}, offers=lambda: offers, trip=lambda rides: rides)
        assert made.value == [{**one, "seat_class": "x"} for one in offers]

    def test_items_without_the_value_are_skipped(self) -> None:
        made = played(ROWS, "row_view", rows=rows(1, None, 2), row_view=lambda row_id: row_id)
        assert made.value == [1, 2]

    def test_a_list_in_have_is_passed_whole_or_item_by_item_as_the_type_asks(self) -> None:
        graph = graph_of(
            tool("s", "get_names", "box_ids:integer[]!", {"label": str}),
            tool("s", "show_box", "box_id! label!"),
        )
        made = played(
            graph,
            "show_box",
            {"box_ids": [1, 2]},
            get_names=lambda box_ids: {"label": f"of {sum(box_ids)}"},
            show_box=lambda box_id, label: [box_id, label],
        )
        assert made.value == [["1", "of 3"], ["2", "of 3"]]


PUPIL = {"pupil_id": str, "age": int, "guardian_ids": [str], "home": {"city": str}}


class TestFilters:
    """Values of `have` that no parameter takes select among the items that have them."""

    SCHOOLS = tool("s", "list_schools", "", {"schools": [{"school_id": str, "name": str, "kind": str}]})
    PUPILS = tool("s", "list_pupils", "school_id!", {"pupils": [PUPIL]})
    GUARDIAN = tool("s", "get_guardian", "guardian_id!", {"guardian_id": str, "phone": str})

    def called(self, want: str, have: dict[str, Any]) -> Any:
        def pupil(at: int, school: str) -> dict[str, Any]:
            home = {"city": "X" if at else "Y"}
            return {
                "pupil_id": f"P{at}{school}",
                "age": 10 + at,
                "guardian_ids": [f"G{at}{school}"],
                "home": home,
            }

        schools = [{"school_id": f"S{at}", "name": f"n{at}", "kind": "ab"[at % 2]} for at in range(3)]
        return played(
            graph_of(self.SCHOOLS, self.PUPILS, self.GUARDIAN),
            want,
            have,
            list_schools=lambda: {"schools": schools},
            list_pupils=lambda school_id: {"pupils": [pupil(at, school_id) for at in range(2)]},
            get_guardian=lambda guardian_id: {"guardian_id": guardian_id, "phone": f"5{guardian_id}"},
        ).value

    @pytest.mark.parametrize(
        ("have", "taken"),
        [
            ({"pupil_id": "P1S2"}, ["1S2"]),
            ({"pupilId": ["P1S2", "P0S0"]}, ["0S0", "1S2"]),
            ({"city": "X", "kind": "b"}, ["1S1"]),
        ],
    )
    def test_a_value_filters_items_at_any_step(self, have: Any, taken: list[str]) -> None:
        assert self.called("phone", have) == [f"5G{one}" for one in taken]

    def test_a_wanted_list_is_filtered(self) -> None:
        assert [one["name"] for one in self.called("list_schools", {"kind": "b"})] == ["n1"]
        several = self.called("list_pupils", {"pupil_id": ["P1S2", "P0S0"]})
        assert [one["pupil_id"] for one in several] == ["P0S0", "P1S2"]
        assert self.called("list_schools", {"kind": "z"}) == []


def thing(required: str = "", /, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required.split()}


def many(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


GIZMO = thing(gizmo_id=STRING)
ONE = thing("gizmo_id", gizmo_id=STRING)


def found(output: Any, answer: Any) -> Any:
    """Run a program that looks up a gizmo and gets it."""
    graph = graph_of(
        tool("x", "find", "cursor", {"type": "object", **output}), tool("x", "get_gizmo", "gizmo_id!")
    )
    return played(graph, "get_gizmo", find=answer, get_gizmo=lambda gizmo_id: gizmo_id).value


class TestWhatMayBeMissing:
    @pytest.mark.parametrize(
        "output",
        [
            thing(items=many(GIZMO)),
            thing("data", data={"anyOf": [thing("items", items=many(GIZMO)), NULL]}),
            thing("items", items={"anyOf": [many(GIZMO), NULL]}),
        ],
    )
    @pytest.mark.parametrize("answer", [{}, {"data": None, "items": None}, {"data": {}, "items": []}])
    def test_an_absent_list_is_empty(self, output: Any, answer: Any) -> None:
        assert found(output, lambda: dict.fromkeys(output["required"]) | answer) == []

    @pytest.mark.parametrize(
        ("output", "answer", "path"),
        [
            (GIZMO, {}, "gizmo_id"),
            (thing("last", last={"anyOf": [GIZMO, NULL]}), {"last": None}, r"last\.gizmo_id"),
            ({"oneOf": [ONE, thing("no", no=STRING)]}, {"no": ""}, "gizmo_id"),
        ],
    )
    def test_an_absent_single_value_is_named_in_the_error(self, output: Any, answer: Any, path: str) -> None:
        with pytest.raises(ValueError, match=f"mcp__x__find returned no {path}"):
            found(output, lambda: answer)

    ERROR = thing("code message", code=STRING, message=STRING)

    @pytest.mark.parametrize(
        "output",
        [
            {
                "oneOf": [
                    thing("success data", success={"const": True}, data=ONE),
                    thing("success error", success={"const": False}, error=ERROR),
                ]
            },
            thing("success", success=FLAG, data={**ONE, "type": ["object", "null"]}, error=ERROR),
            thing("success data", success=FLAG, data={"anyOf": [ONE, NULL]}, error=ERROR),
        ],
    )
    def test_an_envelope_is_unwrapped_and_a_failure_ends_the_program(self, output: Any) -> None:
        assert found(output, lambda: {"success": True, "data": {"gizmo_id": "a"}}) == "a"
        for rest in ({}, {"data": None}):
            failed = {"success": False, "error": {"code": "E", "message": "no such thing"}, **rest}
            with pytest.raises(ValueError, match=r"mcp__x__find failed: .*no such thing"):
                found(output, lambda failed=failed: failed)

    def test_a_success_without_data_is_an_error(self) -> None:
        output = thing("success", success=FLAG, data=ONE)
        with pytest.raises(ValueError, match=r"mcp__x__find returned no data\.gizmo_id"):
            found(output, lambda: {"success": True, "data": None})

    def test_pages_of_an_envelope_lead_on_until_one_fails(self) -> None:
        output = thing(
            "success", success=FLAG, data=many(GIZMO), paging=thing(next_cursor=STRING), error=STRING
        )

        def page(cursor: str = "0", last: str = "2") -> dict[str, Any]:
            turned = {} if cursor == last else {"next_cursor": str(int(cursor) + 1)}
            return {"success": True, "data": [{"gizmo_id": cursor}], "paging": turned}

        def failing(cursor: str = "0") -> dict[str, Any]:
            return {"success": False, "error": "too fast"} if cursor == "1" else page(cursor)

        assert found(output, page) == ["0", "1", "2"]
        with pytest.raises(ValueError, match="mcp__x__find failed: too fast"):
            found(output, failing)


class TestGivenValues:
    def test_placeholders_have_to_be_filled_in_before_any_call(self) -> None:
        graph = graph_of(ports("find_customers", "email", "customers[].customer_id"))
        text = written(graph, "find_customers", {"email": None})
        assert "Fill in before you run it:\n    email: email of mcp__shop__find_customers" in text
        with pytest.raises(ValueError, match="Fill in email"):
            play(text, graph.tools.values())
        filled = text.replace("email = None", "email = 'a@b'", 1)
        assert play(filled, graph.tools.values()).of("find_customers") == [{"email": "a@b"}]

    def test_required_defaults_are_written_at_any_depth_and_nothing_is_made_up(self) -> None:
        takes = thing(
            "lang page where",
            lang={"type": "string", "default": "en"},
            page={"type": ["integer", "null"], "default": None},
            where=thing("unit", unit={"type": "string", "default": "km"}),
            size={"type": "integer", "default": 3},
        )
        made = played(graph_of(tool("x", "find", gives={"name": str}, schema_=takes)), "find")
        assert made.calls == [("mcp__x__find", {"lang": "en", "page": None, "where": {"unit": "km"}})]


def test_what_is_wanted_is_printed_as_json() -> None:
    graph = graph_of(
        ports("me", "", "profile.city"),
        ports("teams", "", "teams[].team_id"),
        ports("people", "team_id", "people[].email"),
    )
    answers: dict[str, Any] = {
        "me": lambda: {"profile": {"city": "ä"}},
        "teams": lambda: {"teams": [{"team_id": 1}, {"team_id": 2}]},
        "people": lambda team_id: {"people": [{"email": f"{team_id}@"}]},
    }
    assert played(graph, "city", **answers).printed == '"ä"\n'
    assert played(graph, "email", **answers).printed == '["1@","2@"]\n'
    assert played(graph, "city me", **answers).value == {"city": "ä", "mcp__shop__me": answers["me"]()}
