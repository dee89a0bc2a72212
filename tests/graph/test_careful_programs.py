"""Programs cope with what a tool's schema leaves open: optional fields, envelopes, last pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from graph.making import graph_of, tool
from graph.playing import play
from halflap.core.values import Tool
from halflap.graph.emit import program
from halflap.graph.inputs import ports_of
from halflap.graph.plan import plan, target_of

if TYPE_CHECKING:
    from graph.playing import Play
    from halflap.graph.ports import Ports

STRING = {"type": "string"}
GET = tool("x", "get_gizmo", "gizmo_id!", {"name": str})
NULL = {"type": "null"}


def thing(required: str = "", /, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required.split()}


def many(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def source(output: dict[str, Any], *takes: str) -> Ports:
    made = Tool(
        name="mcp__x__find",
        server="x",
        original_name="find",
        description="Finds gizmos",
        input_schema=thing(**dict.fromkeys(takes, STRING)),
        output_schema=output,
    )
    return ports_of(made)


def played(found: Ports, answer: Any, want: str = "mcp__x__get_gizmo") -> Play:
    graph = graph_of(found, GET)
    planned = plan(graph, want=[target_of(graph, want)], have={})
    assert not planned.suggestions[0].missing
    answers = {"find": answer, "get_gizmo": lambda gizmo_id: gizmo_id}
    return play(program(planned.suggestions[0]), graph.tools.values(), answers)


GIZMO = thing(gizmo_id=STRING)


class TestOptionalFields:
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
        needed = dict.fromkeys(output["required"])
        assert played(source(output), lambda: needed | answer).value == []

    def test_null_items_are_skipped(self) -> None:
        found = source(thing("items", items=many({"anyOf": [thing("gizmo_id", gizmo_id=STRING), NULL]})))
        assert played(found, lambda: {"items": [{"gizmo_id": "a"}, None]}).value == ["a"]

    @pytest.mark.parametrize(
        ("output", "answer", "path"),
        [
            (GIZMO, {}, "gizmo_id"),
            (thing("last", last={"anyOf": [GIZMO, NULL]}), {"last": None}, r"last\.gizmo_id"),
            ({"oneOf": [thing("gizmo_id", gizmo_id=STRING), thing("no", no=STRING)]}, {"no": ""}, "gizmo_id"),
        ],
    )
    def test_an_absent_single_value_is_named_in_the_error(self, output: Any, answer: Any, path: str) -> None:
        with pytest.raises(ValueError, match=f"mcp__x__find returned no {path}"):
            played(source({"type": "object", **output}), lambda: answer)


class TestEnvelopes:
    ERROR = thing("code message", code=STRING, message=STRING)

    def envelopes(self) -> list[Ports]:
        inner = thing("gizmo_id", gizmo_id=STRING)
        good = thing("success data", success={"const": True}, data=inner)
        bad = thing("success error", success={"const": False}, error=self.ERROR)
        flag = {"type": "boolean"}
        return [
            source({"type": "object", "oneOf": [good, bad]}),
            source(
                thing("success", success=flag, data={**inner, "type": ["object", "null"]}, error=self.ERROR)
            ),
            source(thing("success data", success=flag, data={"anyOf": [inner, NULL]}, error=self.ERROR)),
        ]

    def test_a_failed_envelope_ends_the_program_with_the_servers_message(self) -> None:
        for found in self.envelopes():
            for rest in ({}, {"data": None}):
                failed = {"success": False, "error": {"code": "E", "message": "no such thing"}, **rest}
                with pytest.raises(ValueError, match="mcp__x__find failed: no such thing"):
                    played(found, lambda failed=failed: failed)

    def test_a_successful_envelope_is_unwrapped(self) -> None:
        for found in self.envelopes():
            assert played(found, lambda: {"success": True, "data": {"gizmo_id": "a"}}).value == "a"

    def test_a_success_without_data_is_an_error(self) -> None:
        for found in self.envelopes()[1:]:
            with pytest.raises(ValueError, match=r"mcp__x__find returned no data\.gizmo_id"):
                played(found, lambda: {"success": True, "data": None})


def paged(flag: str = "", *, inside: bool = False) -> Ports:
    turns = {"next_cursor": STRING} | ({flag: {"type": "boolean"}} if flag else {})
    around = {"pagination": thing(**turns)} if inside else turns
    return source(thing(items=many(GIZMO), **around), "cursor")


class TestPages:
    @pytest.mark.parametrize("inside", [False, True])
    @pytest.mark.parametrize(("flag", "last"), [("has_more", False), ("is_last_page", True)])
    def test_a_flag_ends_paging(self, flag: str, last: bool, inside: bool) -> None:
        def pages(cursor: str = "0") -> dict[str, Any]:
            turns = {"next_cursor": str(int(cursor) + 1), flag: last if cursor == "2" else not last}
            return {"items": [{"gizmo_id": cursor}], **({"pagination": turns} if inside else turns)}

        made = played(paged(flag, inside=inside), pages)
        assert made.value == ["0", "1", "2"]
        assert len(made.of("find")) == 3
        whole = played(paged(flag, inside=inside), pages, "mcp__x__find").value
        assert len(whole["items"]) == 3
        told = whole["pagination"] if inside else whole
        assert told[flag] is last

    def test_a_repeated_cursor_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="returned the same cursor twice"):
            played(paged(), lambda cursor="": {"items": [{"gizmo_id": cursor + "a"}], "next_cursor": "z"})

    def test_a_cycle_of_cursors_is_an_error(self) -> None:
        def pages(cursor: str = "a") -> dict[str, Any]:
            return {"items": [{"gizmo_id": cursor}], "next_cursor": "b" if cursor == "c" else "c"}

        with pytest.raises(ValueError, match="returned the same cursor twice"):
            played(paged(), pages)

    def test_an_empty_last_page_ends_it(self) -> None:
        made = played(
            paged(), lambda cursor="": {} if cursor else {"items": [{"gizmo_id": "a"}], "next_cursor": "2"}
        )
        assert made.value == ["a"]

    def test_the_cursor_may_stand_beside_the_data_of_an_envelope(self) -> None:
        turns = thing(next_cursor=STRING, has_more={"type": "boolean"})
        flag = {"type": "boolean"}
        found = source(thing("success", success=flag, data=many(GIZMO), pagination=turns), "cursor")

        def pages(cursor: str = "0") -> dict[str, Any]:
            turned = {"next_cursor": str(int(cursor) + 1), "has_more": cursor != "2"}
            return {"success": True, "data": [{"gizmo_id": cursor}], "pagination": turned}

        assert played(found, pages).value == ["0", "1", "2"]

    def test_a_failure_on_a_later_page_is_an_error(self) -> None:
        inner = thing(items=many(GIZMO), next_cursor=STRING)
        found = source(thing("success", success={"type": "boolean"}, data=inner, error=STRING), "cursor")

        def pages(cursor: str = "") -> dict[str, Any]:
            if cursor:
                return {"success": False, "error": "too fast"}
            return {"success": True, "data": {"items": [{"gizmo_id": "a"}], "next_cursor": "2"}}

        with pytest.raises(ValueError, match="mcp__x__find failed: too fast"):
            played(found, pages)


class TestDefaults:
    def test_required_defaults_are_written_at_any_depth(self) -> None:
        inner = thing("unit", unit={"type": "string", "default": "km"})
        takes = thing(
            "lang page where",
            lang={"type": "string", "default": "en"},
            page={"type": ["integer", "null"], "default": None},
            where=inner,
            size={"type": "integer", "default": 3},
        )
        made = Tool("mcp__x__find", "x", "find", "Finds", takes, thing(name=STRING))
        graph = graph_of(ports_of(made))
        planned = plan(graph, want=[target_of(graph, "find")], have={})
        assert not planned.suggestions[0].missing
        calls = play(program(planned.suggestions[0]), graph.tools.values()).calls
        assert calls == [("mcp__x__find", {"lang": "en", "page": None, "where": {"unit": "km"}})]
