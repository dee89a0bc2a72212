"""Every page of the menu, as a browser without JavaScript gets it."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from typing import TYPE_CHECKING

import pytest

from halflap.web.schema_tree import tree
from servers.memory import Memory, bundled, definition, structured
from support import PATIENCE
from web.visitor import Markup, visiting

if TYPE_CHECKING:
    from web.visitor import Visitor

HISTORY = "/tools/mcp__sales__order_history"
PROGRAM = """import asyncio
top = await mcp__sales__sales_top_customers(limit=3)
orders = await asyncio.gather(*[
    mcp__sales__order_history(customer_id=one["customer_id"]) for one in top["customers"]
])
print(len(orders))
"""
AGAIN = """
async def count(customer):
    return len((await mcp__sales__order_history(customer_id=customer))["orders"])
print(await count("CUST-001"))
print(await call_tool("mcp__sales__order_history", customer_id="CUST-001"))
"""
NET = {
    "id": "stuck", "input": "in", "output": "out",
    "tasks": [
        {"id": "begin", "split": "xor"}, {"id": "left"}, {"id": "right"}, {"id": "end", "join": "and"},
    ],
    "flows": [
        {"from": "in", "to": "begin"}, {"from": "begin", "to": "left", "predicate": "x"},
        {"from": "begin", "to": "right", "default": True}, {"from": "left", "to": "end"},
        {"from": "right", "to": "end"}, {"from": "end", "to": "out"},
    ],
}  # fmt: skip


async def answered(visitor: Visitor, location: str) -> str:
    """Wait for work in the background, and return its page."""

    async with asyncio.timeout(PATIENCE):
        while (await visitor.part(location)).headers.get("hx-refresh") != "true":
            await asyncio.sleep(0.05)
    return (await visitor.get(location)).text


async def test_the_overview_has_servers_figures_and_what_is_wrong() -> None:
    broken = {"command": "/nonexistent/command"}
    async with visiting(bundled(), servers_config={"broken": broken}) as visitor:
        await visitor.gateway.call("mcp__sales__sales_top_customers")
        async with asyncio.timeout(PATIENCE):
            # What many look at is computed every few seconds.
            while "/nonexistent/command" not in (page := (await visitor.get("/")).text):
                await asyncio.sleep(0.1)
        for text in ("sales", "broken", "/nonexistent/command", "Calls per minute", "Tokens saved"):
            assert text in page
        assert "<h1>" not in (await visitor.part("/overview/live")).text


async def test_tools_are_found_filtered_and_paged() -> None:
    async with visiting(bundled()) as visitor:
        everything = (await visitor.get("/tools")).text
        assert HISTORY in everything
        found = (await visitor.part("/tools?q=orders+of+a+customer")).text
        assert "<html" not in found
        assert found.index("order_history") < found.index("customer_details")
        other = next(name for name in bundled() if name != "sales")
        assert HISTORY not in (await visitor.get(f"/tools?server={other}")).text
        assert HISTORY not in (await visitor.get("/tools?known=unknown")).text
        assert (await visitor.get("/tools?from=nonsense")).status_code == 200


async def test_a_tools_page_has_fields_with_their_origin_links_and_calls() -> None:
    async with visiting(bundled()) as visitor:
        await visitor.gateway.call("mcp__sales__order_history", customer_id="CUST-001")
        page = (await visitor.get(HISTORY)).text
        assert re.search(r"total_cents.*?declared.*?learned", page, re.DOTALL)
        assert "Learned from 1 result," in page
        links = (await visitor.part(f"{HISTORY}/links")).text
        assert "customers[].customer_id → customer_id" in links
        missing = await visitor.get("/tools/mcp__sales__nothing")
        assert missing.status_code == 404


async def test_a_field_shows_in_how_many_results_it_was() -> None:
    rows = iter([{"place": {"id": 1}}, {"place": {"id": 2, "note": "x"}}, {"place": {"id": 3}}])
    shop = Memory(definition("find", "name"), answer=lambda *_: structured(next(rows)))
    async with visiting({"shop": shop}) as visitor:
        for name in ("a", "b", "c"):
            await visitor.gateway.call("mcp__shop__find", name=name)
        page = (await visitor.get("/tools/mcp__shop__find")).text
        assert page.count("in 1 of 3") == 1
        assert "in 2 of 3" not in page


def test_a_large_schema_shows_all_its_upper_levels() -> None:
    inner: dict[str, object] = {
        "properties": {f"k{number}": {"properties": {"a": {}, "b": {}}} for number in range(100)}
    }
    found = tree({"properties": dict.fromkeys("abcd", inner)})
    assert found is not None
    assert {name: len(one.fields) for name, one in found.fields.items()} == {
        "a": 100,
        "b": 100,
        "c": 100,
        "d": 96,
    }


async def test_a_broken_declaration_is_shown_with_what_was_declared() -> None:
    broken = Memory(
        definition("count", returns="total"), answer=lambda _name, _arguments: structured({"total": 3})
    )
    async with visiting({"shop": broken}) as visitor:
        await visitor.gateway.call("mcp__shop__count")
        page = (await visitor.get("/tools/mcp__shop__count")).text
        assert "breaks declared schema" in page
        assert "total</td>" in page


async def test_a_tool_is_called_with_what_was_typed() -> None:
    async with visiting(bundled(), web={"allow_calls": True}) as visitor:
        assert 'name="argument.customer_id"' in (await visitor.get(HISTORY)).text
        form = {"argument.customer_id": "CUST-001", "argument.limit": "2", "argument.cursor": ""}
        result = (await visitor.post(f"{HISTORY}/call", form)).text
        assert result.count("&#34;order_id&#34;") == 2
        wrong = (await visitor.post(f"{HISTORY}/call", {**form, "argument.limit": "many"})).text
        assert "must be a number" in wrong


async def test_a_run_shows_its_program_with_calls_at_their_lines() -> None:
    async with visiting(bundled()) as visitor:
        ran = await visitor.gateway.execute(PROGRAM, visitor.owner)
        assert ran.run[:8] in (await visitor.get("/runs")).text
        page = (await visitor.get(f"/runs/{ran.run}")).text
        assert len(re.findall(r'<rect class="ok"', page)) == 4
        assert "3 calls," in page
        assert "line 4" in page
        again = await visitor.gateway.execute(PROGRAM + AGAIN, visitor.owner)
        lines = re.findall(r">(line [^<]+)<", (await visitor.get(f"/runs/{again.run}")).text)
        assert lines == ["line 2", *["line 4"] * 3, "line 9", "line 11"]
        checked = (await visitor.post(f"/runs/{ran.run}/check")).text
        assert "Nothing is wrong" in checked
        _, calls = await visitor.gateway.run(ran.run)
        assert "CUST-" in (await visitor.part(f"/calls/{calls[1].id}")).text


async def test_a_failed_run_marks_the_line_that_failed() -> None:
    async with visiting() as visitor:
        for code, line in (("x = {}\nprint(x['key'])", 2), ("x = 1\n\nawait mcp__sales__nothing()", 3)):
            ran = await visitor.gateway.execute(code, visitor.owner)
            page = (await visitor.get(f"/runs/{ran.run}")).text
            assert re.findall(r'<tr id="line-(\d+)" class="wrong">', page) == [str(line)]


async def test_a_program_becomes_a_script() -> None:
    async with visiting(bundled()) as visitor:
        code = 'async def main(limit: int = 3):\n    """Count customers."""\n    return limit\n'
        ran = await visitor.gateway.execute(code, visitor.owner)
        saved = await visitor.post(f"/runs/{ran.run}/save", {"name": "count_customers"})
        assert saved.headers["location"] == "/tools/script__count_customers"
        assert (await visitor.get(saved.headers["location"])).status_code == 200
        assert (await visitor.post(f"/runs/{ran.run}/save", {"name": ""})).status_code == 400


async def test_links_are_drawn_by_server_and_by_tool_with_their_evidence() -> None:
    async with visiting(bundled()) as visitor:
        servers = (await visitor.get("/graph/data")).json()
        assert {one["data"]["id"] for one in servers["nodes"]} == set(bundled())
        tools = (await visitor.get("/graph/data?server=sales&confidence=0.9")).json()
        edge = "mcp__sales__sales_top_customers→mcp__sales__order_history"
        assert edge in {one["data"]["id"] for one in tools["edges"]}
        source, target = edge.split("→")
        assert "customer_id" in (await visitor.part(f"/graph/link?from={source}&to={target}")).text
        assert (await visitor.get("/graph?server=sales")).text.count("order_history") > 1
        named = (await visitor.get("/graph/data?q=order_history&confidence=0.9")).json()
        assert edge in {one["data"]["id"] for one in named["edges"]}
        assert all("order_history" in one["data"]["id"] for one in named["edges"])
        assert (await visitor.get("/graph?confidence=high")).status_code == 400
        between = (await visitor.part("/graph/between?from=sales&to=sales&confidence=0.9")).text
        assert "sales_top_customers</a>" in between
        assert "No links" in (await visitor.part("/graph/between?from=sales&to=nothing")).text


async def test_a_large_server_is_drawn_in_groups() -> None:
    things = ("invoice", "customer", "ticket")
    tools = [
        definition(f"{verb}_{thing}_{at}", f"{thing}_id", f"{thing}_id")
        for thing in things
        for verb in ("get", "update")
        for at in range(10)
    ]
    async with visiting({"shop": Memory(*tools)}) as visitor:
        groups = (await visitor.get("/graph/data?server=shop&confidence=0")).json()
        nodes = [one["data"] for one in groups["nodes"]]
        assert {one["id"] for one in nodes} == {*things}
        inside = (await visitor.get(nodes[0]["open"].replace("/graph?", "/graph/data?"))).json()
        assert {one["data"]["id"].split("_")[-2] for one in inside["nodes"]} == {nodes[0]["id"]}


async def test_a_plan_is_composed_and_run() -> None:
    async with visiting(bundled(), web={"allow_calls": True}) as visitor:
        page = (await visitor.get("/compose?want=mcp__sales__order_history")).text
        assert "sales_top_customers → order_history" in page
        drawing = json.loads(re.findall(r'data-drawing="([^"]+)"', page)[0].replace("&#34;", '"'))
        assert [one["data"]["id"] for one in drawing["nodes"]] == ["s1", "s2"]
        unknown = (await visitor.get("/compose?want=mcp__doc_retrieval__search_docs")).text
        assert "Missing" in unknown
        assert "query" in unknown
        wrong = await visitor.get("/compose?want=mcp__sales__order_history&have=[1]")
        assert "must be a JSON object" in wrong.text
        code = "print(len((await mcp__sales__sales_top_customers(limit=2))['customers']))"
        started = (await visitor.post("/compose/run", {"code": code})).headers["location"]
        await answered(visitor, started)
        ran = await visitor.get(started)
        assert "<code>2" in (await visitor.get(ran.headers["location"])).text


async def test_a_workflow_is_analysed_compared_and_optimised() -> None:
    async with visiting() as visitor:
        assert "/workflows?example=" in (await visitor.get("/workflows")).text
        form = {"workflow": json.dumps(NET), "other": json.dumps(NET), "action": "score"}
        analysed = await answered(visitor, (await visitor.post("/workflows/ask", form)).headers["location"])
        assert "Play the trace" in analysed
        assert len(re.findall(r'data-drawing="', analysed)) == 1
        form["action"] = "validate"
        compared = await answered(visitor, (await visitor.post("/workflows/ask", form)).headers["location"])
        assert "must not replace" in compared
        assert (await visitor.post("/workflows/ask", {**form, "workflow": "{"})).status_code == 400
        assert (await visitor.post("/workflows/ask", {**form, "action": "burn"})).status_code == 400


async def test_two_footprints_are_shown_in_one_table() -> None:
    def net(*names: str) -> str:
        places = ["in", *names, "out"]
        flows = [{"from": one, "to": other} for one, other in itertools.pairwise(places)]
        tasks = [{"id": name} for name in sorted(names)]
        return json.dumps({"id": "n", "input": "in", "output": "out", "tasks": tasks, "flows": flows})

    async with visiting() as visitor:
        form = {
            "workflow": net("a", "b", "c", "d", "e"),
            "other": net("a", "c", "b", "d", "e"),
            "action": "validate",
        }
        page = await answered(visitor, (await visitor.post("/workflows/ask", form)).headers["location"])
        table = page[page.index('<table class="matrix">') :]
        cells = re.findall(r'<td class="(\w*)">(.*?)</td>', table)
        assert len(cells) == 25
        assert ("", "→") in cells  # of d and e, which are in the same place in both
        assert ("differs", "<del>→</del> <ins>#</ins>") in cells


async def test_dspy_programs_are_listed_even_without_a_model() -> None:
    async with visiting() as visitor:
        page = (await visitor.get("/programs")).text
        assert "programs.lm" in page
        assert (await visitor.get("/programs/nothing")).status_code in {404, 500}


@pytest.mark.slow
async def test_every_link_of_a_page_leads_somewhere() -> None:
    async with visiting(bundled()) as visitor:
        ran = await visitor.gateway.execute(PROGRAM, visitor.owner)
        seen, todo = set[str](), ["/", f"/runs/{ran.run}", HISTORY, "/compose?goal=orders"]
        while todo:
            path = todo.pop()
            if path in seen or len(seen) > 60:
                continue
            seen.add(path)
            answer = await visitor.get(path)
            assert answer.status_code == 200, path
            links = Markup(answer.text).links
            todo += [one for one in links if one.startswith("/") and "/static/" not in one and not _acts(one)]


def _acts(path: str) -> bool:
    return path.startswith(("/sign-", "/theme", "/overview")) or path.rpartition("/")[2] in {
        "call", "check", "save", "run", "ask",
    }  # fmt: skip
