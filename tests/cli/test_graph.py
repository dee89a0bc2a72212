"""`halflap graph` and `halflap suggest`."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from cli.program import configure, definitions, environment, halflap, in_terminal
from cli.test_schemas import inside
from support import python_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from cli.program import Done


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
FIND = {
    "name": "find_customer",
    "description": "Find a customer by phone.",
    "inputSchema": _object(phone=TEXT),
    "outputSchema": _object(customer_id=WHOLE, name=TEXT),
}
ORDERS = {
    "name": "customer_orders",
    "description": "The orders of a customer.",
    "inputSchema": _object(customer_id=WHOLE),
    "outputSchema": _object(order_ids={"type": "array", "items": TEXT}),
}
ORDER = {
    "name": "get_order",
    "description": "One order \u202e<script>alert(1)</script>\x1b[31m",
    "inputSchema": _object(order_id=TEXT),
    "outputSchema": _object(total={"type": "number"}),
}
SHOP = "halflap-test.json"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("graph")
    configure(home, definitions(home, FIND, ORDERS, ORDER, name="shop"))
    return home


@pytest.fixture(scope="module")
def done(place: Path) -> Iterator[dict[str, Done]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for name, value in environment(place).items():
            patch.setenv(name, value)
        wanted = ("suggest", "--want", "get_order")
        yield {
            "graph": halflap("graph", "-c", SHOP, home=place),
            "terminal": in_terminal("graph", "-c", SHOP, home=place, columns=60),
            "json": inside("graph", "--format", "json"),
            "--json": inside("graph", "--json"),
            "tool": inside("graph", "--tool", "find_customer", "--json"),
            "mermaid": inside("graph", "--format", "mermaid"),
            "dot": inside("graph", "--format", "dot"),
            "svg": inside("graph", "--format", "svg"),
            "file": inside("graph", "--format", "svg", "--output", "graph.svg"),
            "unwritable": inside("graph", "--format", "svg", "--output", "no/such/folder.svg"),
            "both": inside("graph", "--format", "svg", "--json"),
            "no tool": inside("graph", "--tool", "nothing"),
            "explain": inside("graph", "explain", "find_customer", "mcp__shop__customer_orders"),
            "explain --json": inside("graph", "explain", "find_customer", "customer_orders", "--json"),
            "explain none": inside("graph", "explain", "get_order", "find_customer"),
            "explain unknown": inside("graph", "explain", "get_order", "mcp__shop__fnd_customer"),
            "rebuild": inside("graph", "rebuild"),
            "rebuild --json": inside("graph", "rebuild", "--json"),
            "suggest": halflap(*wanted, "--have", "phone=555", "-c", SHOP, home=place),
            "suggest --json": inside(*wanted, "--have", "phone=555", "--json"),
            "program": inside(*wanted, "--have", "customer_id=7", "--program"),
            "exists": inside(*wanted, "--have", "customer_id", "--json"),
            "goal": inside("suggest", "orders", "of", "a", "customer", "--have", "phone=555", "--json"),
            "missing": inside(*wanted),
            "each": inside(*wanted, "--have", 'order_id=["a", "b"]'),
            "nothing": inside("suggest", "--want", "zyzzyva"),
            "nothing --json": inside("suggest", "--want", "zyzzyva", "--json"),
            "nothing --program": inside("suggest", "--want", "zyzzyva", "--program"),
            "not asked": inside("suggest"),
            "twice": inside(*wanted, "--have", "a=1", "--have", "a=2"),
            "no name": inside(*wanted, "--have", "=1"),
            "program --json": inside(*wanted, "--program", "--json"),
        }


def test_a_table_says_what_feeds_what(done: dict[str, Done]) -> None:
    rows = [" ".join(line.split()) for line in done["graph"].out.splitlines()]
    assert rows[0] == "From To Coverage Sure What goes where"
    (row,) = (one for one in rows if one.startswith("mcp__shop__find_customer mcp__shop__customer_orders"))
    assert " strict 0." in row
    assert row.endswith("customer_id → customer_id")


def test_on_a_narrow_terminal_names_are_whole_and_all_stays_within_it(done: dict[str, Done]) -> None:
    assert done["terminal"].code == 0
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", done["terminal"].out).splitlines()
    assert "  ← mcp__shop__find_customer  strict" in "\n".join(lines)
    assert max(len(line) for line in lines) <= 60


def test_the_data_has_nodes_and_edges(done: dict[str, Done]) -> None:
    data = done["json"].json
    assert data == done["--json"].json
    assert [node["name"] for node in data["nodes"]] == [
        "mcp__shop__customer_orders",
        "mcp__shop__find_customer",
        "mcp__shop__get_order",
    ]
    assert {"from", "to", "coverage", "confidence", "mappings", "evidence"} <= data["edges"][0].keys()
    pairs = {(edge["from"], edge["to"]) for edge in data["edges"]}
    assert ("mcp__shop__find_customer", "mcp__shop__customer_orders") in pairs
    assert ("mcp__shop__customer_orders", "mcp__shop__get_order") in pairs


def test_of_one_tool_only_what_leads_to_and_from_it_is_shown(done: dict[str, Done]) -> None:
    data = done["tool"].json
    assert {node["name"] for node in data["nodes"]} == {
        "mcp__shop__find_customer",
        "mcp__shop__customer_orders",
    }
    assert all("mcp__shop__find_customer" in (edge["from"], edge["to"]) for edge in data["edges"])


def test_pictures_are_what_they_say_they_are(done: dict[str, Done], place: Path) -> None:
    assert done["mermaid"].out.startswith("flowchart LR")
    assert done["dot"].out.startswith("digraph")
    assert ET.fromstring(done["svg"].out).tag.endswith("svg")
    assert done["file"].out == ""
    assert (place / "graph.svg").read_text() == done["svg"].out


def test_why_there_is_an_edge_is_said(done: dict[str, Done]) -> None:
    lines = done["explain"].out.splitlines()
    assert lines[0].startswith("mcp__shop__find_customer feeds mcp__shop__customer_orders: strict, 0.")
    assert lines[1].strip().startswith("customer_id → customer_id")
    assert lines[2].split()[0] == "name"
    assert done["explain --json"].json["edge"]["coverage"] == "strict"


def test_why_there_is_none_is_said(done: dict[str, Done]) -> None:
    lines = done["explain none"].out.splitlines()
    assert lines == [
        "mcp__shop__get_order does not feed mcp__shop__find_customer.",
        "  no field of the one is like a parameter of the other",
    ]


def test_what_feeds_what_is_rebuilt_and_counted(done: dict[str, Done]) -> None:
    counted = done["rebuild --json"].json
    assert counted == {"tools": 3, "edges": len(done["json"].json["edges"])}
    assert done["rebuild"].out == f"{counted['edges']} edges between 3 tools.\n"


def test_a_suggestion_says_step_by_step_where_everything_comes_from(done: dict[str, Done]) -> None:
    lines = [" ".join(line.split()) for line in done["suggest"].out.splitlines()]
    assert lines[0].startswith(
        "1. mcp__shop__find_customer → mcp__shop__customer_orders → mcp__shop__get_order 0."
    )
    assert 'phone = "555"' in lines
    assert any(line.startswith("customer_id ← s1: customer_id 0.") for line in lines)
    assert any("for each of s2: order_ids[]" in line for line in lines)


def test_a_number_is_text_where_text_is_taken_and_a_number_where_that_is(done: dict[str, Done]) -> None:
    (step, *_) = done["suggest --json"].json["suggestions"][0]["steps"]
    assert step["arguments"]["phone"]["value"] == "555"
    assert "customer_id = 7\n" in done["program"].out


def test_the_program_alone_is_a_program(done: dict[str, Done]) -> None:
    ast.parse(done["program"].out)
    assert "mcp__shop__get_order(order_id=" in done["program"].out


def test_what_only_exists_is_left_to_be_filled_in(done: dict[str, Done]) -> None:
    best = done["exists"].json["suggestions"][0]
    assert best["steps"][0]["arguments"]["customer_id"] == {
        "from": "have",
        "name": "customer_id",
        "value": None,
    }
    assert "customer_id = None" in best["program"]


def test_a_goal_may_be_several_words(done: dict[str, Done]) -> None:
    assert done["goal"].json["suggestions"][0]["tools"][-1] == "mcp__shop__customer_orders"


def test_what_is_missing_is_said_with_who_could_provide_it(done: dict[str, Done]) -> None:
    assert done["missing"].code == 0
    assert "Missing: " in done["missing"].out


@pytest.mark.parametrize("how", ["nothing", "nothing --json", "nothing --program"])
def test_if_nothing_is_found_the_exit_code_is_1(done: dict[str, Done], how: str) -> None:
    assert done[how].code == 1
    assert "zyzzyva" in done[how].out + done[how].err
    if how == "nothing --program":
        assert done[how].out == ""


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("unwritable", "cannot be written"),
        ("both", "exclude each other"),
        ("no tool", "nothing"),
        ("explain unknown", "mcp__shop__find_customer"),
        ("not asked", "Say what is wanted"),
        ("twice", "given twice"),
        ("no name", "not of the form NAME=VALUE"),
        ("program --json", "exclude each other"),
    ],
)
def test_what_is_asked_wrongly_is_2_and_said(done: dict[str, Done], how: str, said: str) -> None:
    assert done[how].code == 2
    assert said in done[how].err + done[how].out


def test_nothing_that_a_server_wrote_reaches_the_terminal_as_it_is(done: dict[str, Done]) -> None:
    for name in ("graph", "explain", "suggest", "mermaid", "dot", "svg"):
        assert "\x1b" not in done[name].out
        assert "\u202e" not in done[name].out
    json.dumps(done["json"].json)


def test_a_list_at_hand_is_said_to_be_gone_through(done: dict[str, Done]) -> None:
    assert 'order_id = each of ["a", "b"]' in done["each"].out
    assert "for each of have: order_id[]" in done["each"].out


def test_what_is_not_complete_is_said_not_to_be(done: dict[str, Done]) -> None:
    head, *_ = done["missing"].out.splitlines()
    assert re.search(r"get_order  not complete: fill in phone; the rest is 0\.\d\d sure$", head), head


@pytest.mark.parametrize("form", [(), ("--format", "mermaid"), ("--json",)])
def test_servers_that_have_not_answered_yet_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:
    configure(tmp_path, python_server("mute", "hang.py"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("halflap.gateway.composing.FIRST_LISTING_SECONDS", 0.1)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    told = inside("graph", *form)
    assert re.search(
        r"Server 'mute' is not in it yet: it (is still starting|has not answered yet)\.", told.err
    )
    assert "No tool is known to feed another" not in told.err
    assert ("halflap doctor" in told.err) == (not form)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("graph", "--format", "svg"), 0),
        (("graph", "--json"), 0),
        (("graph", "rebuild"), 0),
        (("suggest", "--want", "email"), 1),
    ],
)
def test_a_server_that_is_down_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], code: int
) -> None:
    configure(tmp_path, {"name": "bad", "command": "false"})
    monkeypatch.chdir(tmp_path)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    told = inside(*command)
    assert told.code == code
    assert re.search(r"Server 'bad' is not in it yet: .*exit code 1", told.err), told.err


def test_of_a_server_that_is_down_it_is_not_known_whether_it_has_a_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(tmp_path, {"name": "bad", "command": "false"})
    monkeypatch.chdir(tmp_path)
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    told = inside("suggest", "--want", "mcp__bad__look_up")
    assert told.code == 1
    assert "Whether there is a tool 'mcp__bad__look_up' is not known." in told.err
    assert "Server 'bad' is not available" in told.err
