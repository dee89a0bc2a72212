"""Programs for tools as they declare themselves: what is not promised may be missing, and pages end as they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from graph.making import graph_of, tool
from graph.playing import play
from halflap.graph.edge import path_text
from halflap.graph.emit import program
from halflap.graph.plan import plan
from halflap.graph.ports import ports_of
from halflap.graph.want import target_of
from halflap.schema import parse_schema
from halflap.values import Tool

if TYPE_CHECKING:
    from graph.playing import Play
    from halflap.graph.edge import Ports

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
    return ports_of(made, parse_schema(made))


def played(found: Ports, answer: Any, want: str = "mcp__x__get_gizmo") -> Play:
    graph = graph_of(found, GET)
    planned = plan(graph, want=[target_of(graph, want)], have={})
    assert not planned.suggestions[0].missing
    answers = {"find": answer, "get_gizmo": lambda gizmo_id: gizmo_id}
    return play(program(planned.suggestions[0]), graph.tools.values(), answers)


GIZMO = thing(gizmo_id=STRING)


class TestWhatIsNotPromised:
    @pytest.mark.parametrize(
        "output",
        [
            thing(items=many(GIZMO)),
            thing(data=thing(items=many(GIZMO))),
            thing("data", data={"anyOf": [thing("items", items=many(GIZMO)), NULL]}),
            thing("items", items={"anyOf": [many(GIZMO), NULL]}),
        ],
    )
    @pytest.mark.parametrize("answer", [{}, {"data": None, "items": None}, {"data": {}, "items": []}])
    def test_a_list_that_is_not_there_is_empty(self, output: Any, answer: Any) -> None:
        needed = dict.fromkeys(output["required"])
        assert played(source(output), lambda: needed | answer).value == []

    def test_items_that_are_null_are_left_out(self) -> None:
        found = source(thing("items", items=many({"anyOf": [thing("gizmo_id", gizmo_id=STRING), NULL]})))
        assert played(found, lambda: {"items": [{"gizmo_id": "a"}, None]}).value == ["a"]

    def test_a_map_that_is_not_there_is_empty(self) -> None:
        found = source(thing(by_place={"type": "object", "additionalProperties": GIZMO}))
        assert played(found, dict).value == []
        assert played(found, lambda: {"by_place": {"x": {"gizmo_id": "a"}, "y": {}}}).value == ["a"]

    @pytest.mark.parametrize(
        ("output", "answer", "path"),
        [
            (GIZMO, {}, "gizmo_id"),
            (thing(last=GIZMO), {}, r"last\.gizmo_id"),
            (thing(last=thing("gizmo_id", gizmo_id=STRING)), {}, r"last\.gizmo_id"),
            (thing("last", last={"anyOf": [GIZMO, NULL]}), {"last": None}, r"last\.gizmo_id"),
            ({"oneOf": [thing("gizmo_id", gizmo_id=STRING), thing("no", no=STRING)]}, {"no": ""}, "gizmo_id"),
        ],
    )
    def test_a_single_value_that_is_not_there_is_named(self, output: Any, answer: Any, path: str) -> None:
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

    def test_a_failure_ends_the_program_with_what_the_server_says(self) -> None:
        for found in self.envelopes():
            for rest in ({}, {"data": None}):
                failed = {"success": False, "error": {"code": "E", "message": "no such thing"}, **rest}
                with pytest.raises(ValueError, match="mcp__x__find failed: no such thing"):
                    played(found, lambda failed=failed: failed)

    def test_one_that_says_no_more_is_told_to_be_without_a_reason(self) -> None:
        for found in self.envelopes():
            with pytest.raises(ValueError, match="mcp__x__find failed: without a reason"):
                played(found, lambda: {"success": False, "data": {"gizmo_id": "a"}})

    @pytest.mark.parametrize(
        "more", [{"error": "too late"}, {"message": "too late"}, {"error": {"why": "too late"}}]
    )
    def test_whatever_form_its_error_has_it_is_told(self, more: dict[str, Any]) -> None:
        with pytest.raises(ValueError, match=r"mcp__x__find failed: .*too late"):
            played(self.envelopes()[1], lambda: {"success": False, **more})

    def test_a_success_is_used(self) -> None:
        for found in self.envelopes():
            assert played(found, lambda: {"success": True, "data": {"gizmo_id": "a"}}).value == "a"

    def test_a_success_without_data_is_named(self) -> None:
        for found in self.envelopes()[1:]:
            with pytest.raises(ValueError, match=r"mcp__x__find returned no data\.gizmo_id"):
                played(found, lambda: {"success": True, "data": None})

    def test_what_is_printed_as_it_is_is_not_opened(self) -> None:
        failed = {"success": False, "error": {"code": "E", "message": "m"}}
        assert played(self.envelopes()[0], lambda: failed, "mcp__x__find").value == failed


def paged(flag: str = "", *, inside: bool = False, cursor: str = "next_cursor") -> Ports:
    turns = {cursor: STRING} | ({flag: {"type": "boolean"}} if flag else {})
    around = {"pagination": thing(**turns)} if inside else turns
    return source(thing(items=many(GIZMO), **around), "scroll_id" if cursor == "scroll_id" else "cursor")


class TestPages:
    @pytest.mark.parametrize("inside", [False, True])
    @pytest.mark.parametrize(
        ("flag", "last"),
        [
            *((name, False) for name in ("has_more", "hasMore", "has_next_page", "hasNextPage", "more")),
            *((name, True) for name in ("is_last", "isLastPage", "last_page", "done")),
        ],
    )
    def test_a_page_that_says_it_is_the_last_is(self, flag: str, last: bool, inside: bool) -> None:
        def pages(cursor: str = "0") -> dict[str, Any]:
            turns = {"next_cursor": str(int(cursor) + 1), flag: last if cursor == "2" else not last}
            return {"items": [{"gizmo_id": cursor}], **({"pagination": turns} if inside else turns)}

        made = played(paged(flag, inside=inside), pages)
        assert made.value == ["0", "1", "2"]
        assert len(made.of("find")) == 3
        whole = played(paged(flag, inside=inside), pages, "mcp__x__find").value
        assert len(whole["items"]) == 3
        told = whole["pagination"] if inside else whole
        assert told["next_cursor"] is None
        assert told[flag] is last

    def test_a_cursor_that_stays_as_it_is_would_never_end(self) -> None:
        with pytest.raises(ValueError, match="gave the same next_cursor again"):
            played(paged(), lambda cursor="": {"items": [{"gizmo_id": cursor + "a"}], "next_cursor": "z"})

    def test_cursors_that_lead_round_and_round_would_never_end(self) -> None:
        def pages(cursor: str = "a") -> dict[str, Any]:
            return {"items": [{"gizmo_id": cursor}], "next_cursor": "b" if cursor == "c" else "c"}

        with pytest.raises(ValueError, match="gave the same next_cursor again"):
            played(paged(), pages)

    def test_a_cursor_that_stays_as_it_is_on_an_empty_page_is_the_end(self) -> None:
        def pages(cursor: str = "") -> dict[str, Any]:
            return {"items": [] if cursor else [{"gizmo_id": "a"}], "next_cursor": "z"}

        assert played(paged(), pages).value == ["a"]

    def test_a_scroll_goes_on_with_the_same_id_till_a_page_is_empty(self) -> None:
        left = [["a"], ["b"], ["c"], []]

        def pages(scroll_id: str = "") -> dict[str, Any]:
            assert scroll_id == ("" if len(left) == 4 else "s")
            return {"items": [{"gizmo_id": one} for one in left.pop(0)], "scroll_id": "s"}

        assert played(paged(cursor="scroll_id"), pages).value == ["a", "b", "c"]

    def test_the_items_of_later_pages_are_kept_where_the_first_has_no_place_for_them(self) -> None:
        found = source(thing(data=thing(items=many(GIZMO)), next_cursor=STRING), "cursor")

        def pages(cursor: str = "") -> dict[str, Any]:
            return {"data": {"items": [{"gizmo_id": "b"}]}} if cursor else {"data": None, "next_cursor": "2"}

        assert played(found, pages).value == ["b"]

    def test_a_last_page_without_items_ends_it(self) -> None:
        made = played(
            paged(), lambda cursor="": {} if cursor else {"items": [{"gizmo_id": "a"}], "next_cursor": "2"}
        )
        assert made.value == ["a"]

    def test_an_envelope_has_its_cursor_beside_the_data(self) -> None:
        turns = thing(next_cursor=STRING, has_more={"type": "boolean"})
        flag = {"type": "boolean"}
        found = source(thing("success", success=flag, data=many(GIZMO), pagination=turns), "cursor")

        def pages(cursor: str = "0") -> dict[str, Any]:
            turned = {"next_cursor": str(int(cursor) + 1), "has_more": cursor != "2"}
            return {"success": True, "data": [{"gizmo_id": cursor}], "pagination": turned}

        assert played(found, pages).value == ["0", "1", "2"]

    def test_a_failure_on_a_later_page_is_no_end(self) -> None:
        inner = thing(items=many(GIZMO), next_cursor=STRING)
        found = source(thing("success", success={"type": "boolean"}, data=inner, error=STRING), "cursor")

        def pages(cursor: str = "") -> dict[str, Any]:
            if cursor:
                return {"success": False, "error": "too fast"}
            return {"success": True, "data": {"items": [{"gizmo_id": "a"}], "next_cursor": "2"}}

        with pytest.raises(ValueError, match="mcp__x__find failed: too fast"):
            played(found, pages)


class TestWhatCanBeOneThingOnly:
    def test_it_is_written_into_the_call(self) -> None:
        mode, kind = {"const": "fast"}, {"type": "string", "enum": ["only"]}
        inner = thing("gizmo_id kind", gizmo_id=STRING, kind=kind, also=kind)
        taken = thing("spec mode count fixed", spec=inner, mode=mode, count={"const": 0}, other=mode)
        taken["properties"]["fixed"] = thing("kind", kind=kind)
        made = Tool(
            name="mcp__x__take",
            server="x",
            original_name="take",
            description="",
            input_schema=taken,
            output_schema=None,
        )
        graph = graph_of(ports_of(made, parse_schema(made)))
        planned = plan(graph, want=[target_of(graph, "mcp__x__take")], have={"gizmo_id": "a"})
        assert not planned.suggestions[0].missing
        calls = play(program(planned.suggestions[0]), graph.tools.values(), {"take": lambda **_: 1}).calls
        spec = {"gizmo_id": "a", "kind": "only"}
        fixed = {"kind": "only"}
        assert calls == [("mcp__x__take", {"spec": spec, "mode": "fast", "count": 0, "fixed": fixed})]


NUMBER = {"type": "integer"}


def counting(takes: str, tells: str, *, first: int | None = None, inside: bool = False) -> Ports:
    """Make a tool that gives a part of its list, and says how much there is."""
    told = {tells: {"type": "boolean"} if tells.startswith("has") else NUMBER}
    made = Tool(
        name="mcp__x__find",
        server="x",
        original_name="find",
        description="Finds gizmos",
        input_schema=thing(
            **{takes: NUMBER | ({} if first is None else {"default": first}), "limit": NUMBER}
        ),
        output_schema=thing("items", items=many(GIZMO), **({"meta": thing(**told)} if inside else told)),
    )
    return ports_of(made, parse_schema(made))


class TestCountedPages:
    ALL: ClassVar[list[Any]] = [{"gizmo_id": str(at)} for at in range(7)]

    def page(self, start: int, tells: str, *, inside: bool = False) -> dict[str, Any]:
        left = self.ALL[start : start + 3]
        said = {tells: start + 3 < len(self.ALL) if tells == "has_more" else len(self.ALL)}
        return {"items": left, **({"meta": said} if inside else said)}

    @pytest.mark.parametrize("inside", [False, True])
    @pytest.mark.parametrize("tells", ["total", "totalCount", "total_results", "has_more"])
    @pytest.mark.parametrize("takes", ["offset", "skip"])
    def test_what_comes_next_is_asked_for_by_how_many_there_were(
        self, takes: str, tells: str, inside: bool
    ) -> None:
        def pages(**given: int) -> dict[str, Any]:
            return self.page(given.get(takes, 0), tells, inside=inside)

        made = played(counting(takes, tells, inside=inside), pages)
        assert made.value == [str(at) for at in range(7)]
        assert [one.get(takes, 0) for one in made.of("find")] == [0, 3, 6]

    @pytest.mark.parametrize("first", [None, 0, 1])
    @pytest.mark.parametrize("tells", ["total", "total_pages", "has_more"])
    @pytest.mark.parametrize("takes", ["page", "pageNumber"])
    def test_pages_are_asked_for_by_their_number(self, takes: str, tells: str, first: int | None) -> None:
        begin = 1 if first is None else first

        def pages(**given: int) -> dict[str, Any]:
            page = self.page(3 * (given.get(takes, begin) - begin), "total")
            at = given.get(takes, begin) - begin
            return {"items": page["items"], tells: {"total": 7, "total_pages": 3, "has_more": at < 2}[tells]}

        made = played(counting(takes, tells, first=first), pages)
        assert made.value == [str(at) for at in range(7)]
        assert len(made.of("find")) == 3

    def test_a_server_that_gives_the_same_page_again_is_told(self) -> None:
        with pytest.raises(ValueError, match="same page again"):
            played(counting("offset", "total"), lambda **_: {"items": self.ALL[:3], "total": 7})

    def test_a_part_is_not_printed_as_if_it_were_all(self) -> None:
        def pages(offset: int = 0) -> dict[str, Any]:
            return {"items": self.ALL[offset : offset + 3] if offset < 6 else [], "total": 7}

        with pytest.raises(ValueError, match="6 of 7"):
            played(counting("offset", "total"), pages)

    def test_a_page_that_says_nothing_of_more_is_all(self) -> None:
        found = counting("offset", "has_more", inside=True)
        assert played(found, lambda **_: {"items": self.ALL[:2]}).value == ["0", "1"]

    def test_one_page_that_is_all_is_asked_for_once(self) -> None:
        made = played(counting("offset", "total"), lambda **_: {"items": self.ALL, "total": 7})
        assert len(made.of("find")) == 1

    def test_the_part_that_is_at_hand_is_the_one_that_is_meant(self) -> None:
        graph = graph_of(counting("page", "total"))
        (first, *_) = plan(graph, want=[target_of(graph, "find")], have={"page": 2}).suggestions
        assert first.tasks[0].paginates is None

    def test_what_the_fields_do_not_say_is_no_paging(self) -> None:
        graph = graph_of(counting("position", "total"))
        assert graph.edge("mcp__x__find", "mcp__x__find") is None

    @pytest.mark.parametrize(("takes", "tells"), [("offset", "count"), ("page", "size")])
    def test_what_says_nothing_of_the_others_turns_no_page(self, takes: str, tells: str) -> None:
        edge = graph_of(counting(takes, tells)).edge("mcp__x__find", "mcp__x__find")
        assert edge is not None
        assert [path_text(one.source) for one in edge.links] == ["items"]


class TestAnArrayThatTakesOne:
    def made(self, most: int | None, *, looped: bool = False) -> tuple[Any, Play]:
        bound = {} if most is None else {"maxItems": most}
        made = Tool(
            name="mcp__x__get_weight",
            server="x",
            original_name="get_weight",
            description="",
            input_schema=thing("gizmo_ids", gizmo_ids={**many(STRING), **bound}),
            output_schema=thing(weight={"type": "number"}),
        )
        weigh = ports_of(made, parse_schema(made))
        sources = (
            [
                source(thing("items", items=many(thing("box_id", box_id=STRING)))),
                tool("x", "show_box", "box_id!", {"gizmo_id": str}),
            ]
            if looped
            else [source(thing("items", items=many(thing("gizmo_id", gizmo_id=STRING))))]
        )
        graph = graph_of(*sources, weigh)
        (best, *_) = plan(graph, want=[target_of(graph, "get_weight")], have={}).suggestions
        answers: dict[str, Any] = {
            "find": lambda: {"items": [{"gizmo_id": one, "box_id": one} for one in "ab"]},
            "show_box": lambda box_id: {"gizmo_id": box_id},
            "get_weight": lambda gizmo_ids: gizmo_ids,
        }
        return best, play(program(best), graph.tools.values(), answers)

    @pytest.mark.parametrize("looped", [False, True])
    def test_each_of_many_gets_a_call_with_an_array_of_its_own(self, looped: bool) -> None:
        best, made = self.made(1, looped=looped)
        assert made.value == [["a"], ["b"]]
        assert best.tasks[-1].axes

    @pytest.mark.parametrize("most", [None, 5])
    def test_one_that_takes_more_gets_all(self, most: int | None) -> None:
        assert self.made(most)[1].value == ["a", "b"]


class TestDefaults:
    """What is required has to be in the call, though the tool would know what to take."""

    def test_they_are_written_into_the_call_at_any_depth(self) -> None:
        inner = thing("unit", unit={"type": "string", "default": "km"})
        takes = thing(
            "lang page where",
            lang={"type": "string", "default": "en"},
            page={"type": ["integer", "null"], "default": None},
            where=inner,
            size={"type": "integer", "default": 3},
        )
        made = Tool("mcp__x__find", "x", "find", "Finds", takes, thing(name=STRING))
        graph = graph_of(ports_of(made, parse_schema(made)))
        planned = plan(graph, want=[target_of(graph, "find")], have={})
        assert not planned.suggestions[0].missing
        calls = play(program(planned.suggestions[0]), graph.tools.values()).calls
        assert calls == [("mcp__x__find", {"lang": "en", "page": None, "where": {"unit": "km"}})]


GIZMOS = thing(gizmos=many(GIZMO))
ONE = thing(gizmo_id=STRING)


def or_null(kind: Any) -> dict[str, Any]:
    return {"anyOf": [kind, NULL]}


def told(kind: Any) -> list[tuple[dict[str, Any], Any]]:
    """Ways to say that a call failed, each as a schema and as a result; `kind` is what is needed."""
    text, whole, yes = STRING, {"type": "integer"}, {"type": "boolean"}
    status = {"enum": ["ok", "error"]}
    inside = kind["properties"]
    return [
        (thing(ok=yes, result=or_null(kind), error=text), {"ok": False, "result": None, "error": "down"}),
        (thing("status", status=status, message=text, data=or_null(kind)),
         {"status": "error", "message": "down", "data": None}),
        (thing("status", status=text, message=text, data=or_null(kind)),
         {"status": "ERROR", "message": "down", "data": None}),
        (thing("code", code=whole, msg=text, data=or_null(kind)), {"code": 500, "msg": "down", "data": None}),
        (thing(**inside, error=thing(message=text)), {"error": {"message": "down"}}),
        (thing(**inside, message=text), {"message": "down"}),
        (thing(isSuccess=yes, errors=many(text), payload=or_null(kind)),
         {"isSuccess": False, "errors": ["down"], "payload": None}),
    ]  # fmt: skip


class TestFailuresToldInManyWays:
    @pytest.mark.parametrize("at", range(7))
    @pytest.mark.parametrize("kind", [GIZMOS, ONE], ids=["list", "one"])
    def test_they_end_the_program_with_the_servers_words(self, kind: Any, at: int) -> None:
        schema, failed = told(kind)[at]
        with pytest.raises(ValueError, match="mcp__x__find failed: down"):
            played(source(schema), lambda: failed)

    @pytest.mark.parametrize("at", range(7))
    def test_what_is_well_is_no_failure(self, at: int) -> None:
        schema, failed = told(GIZMOS)[at]
        good = {"ok": True, "isSuccess": True, "status": "ok", "code": 0, "error": None, "errors": []}
        inner = {"gizmos": [{"gizmo_id": "g"}]}
        key = next((one for one in ("data", "result", "payload") if one in failed), None)
        result = {name: good[name] for name in failed if name in good} | ({key: inner} if key else inner)
        assert played(source(schema), lambda: result).value == ["g"]

    def test_what_is_read_may_have_failed_itself(self) -> None:
        order = source(thing("gizmo_id status", gizmo_id=STRING, status=STRING))
        assert played(order, lambda: {"gizmo_id": "g", "status": "failed"}).value == "g"
