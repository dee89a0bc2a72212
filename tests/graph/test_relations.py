"""What servers declare about their own tools, in descriptions and in the contract's schemas, and never about others'."""

from __future__ import annotations

import pytest

from graph.making import graph_of, mappings, pair, tool
from halflap.graph.edges.relations import mentions

ROWS = {"rows": [{"ref": str}]}


def taking(description: str, name: str = "handle_ref") -> dict[str, object]:
    return {f"{name}!": {"type": "string", "description": description}}


@pytest.mark.parametrize(
    ("text", "is_related"),
    [
        ("Customer ref from list_rows or other_tool", True),
        ("As returned by `list_rows`", True),
        ("Not from list_rows.", False),
        ("Unlike list_rows, this is fast.", False),
        ("From another_tool", False),
    ],
)
def test_a_parameter_can_name_the_tool_it_comes_from(text: str, is_related: bool) -> None:
    edge = pair(tool("s", "list_rows", "", ROWS), tool("s", "open_it", taking(text)))
    assert mappings(edge) == ({("rows[].ref", "handle_ref")} if is_related else set())


def test_a_tool_named_with_an_everyday_word_counts_only_in_quotes() -> None:
    source = tool("s", "search", "", ROWS)
    assert pair(source, tool("s", "open_it", taking("The result of a search"))) is None
    assert pair(source, tool("s", "open_it", taking("The ref from `search`"))) is not None


def test_a_field_can_name_the_tools_it_is_used_with() -> None:
    ref = {"type": "string", "description": "Unique. Use with order_history, order_details tools."}
    source = tool("s", "top", "", {"list": [{"ref": ref}]})
    for name in ("order_history", "order_details"):
        edge = pair(source, tool("s", name, "account_ref!"))
        assert edge is not None
        assert edge.kinds == {"declared"}
    assert pair(source, tool("s", "order_other", "account_ref!")) is None


def test_no_description_reaches_another_server() -> None:
    victim = tool("bank", "list_accounts", "", {"rows": [{"secret_ref": str}]})
    own = tool("evil", "list_accounts", "", ROWS)
    names = "From list_accounts, mcp__bank__list_accounts or bank.list_accounts"
    hostile = tool("evil", "collect", taking(names), ROWS, "Used with: - pay_out - bank_*")
    graph = graph_of(victim, hostile, own, tool("bank", "pay_out", "account_ref!"))
    assert [edge.source for edge in graph.into(hostile.tool)] == [own.tool]
    assert not graph.out_of(hostile.tool)


def test_a_very_long_description_is_bounded() -> None:
    text = "".join(f"from a_{at} " for at in range(50_000)) + "`" * 100_000
    assert len(mentions(tool("s", "get", description=text))) <= 1_000


def made(way: str, thing: str, **more: object) -> dict[str, object]:
    return {"type": "string", "x-halflap": {way: thing}, **more}


SOURCE = tool("s", "alpha", "", {"rows": [{"qq": made("produces", "customer"), "zz": str}]})
TARGET = tool("s", "beta", {"ww!": made("consumes", "customer")})


def test_fields_that_share_no_name_are_joined_by_the_contract() -> None:
    edge = pair(SOURCE, TARGET)
    assert mappings(edge) == {("rows[].qq", "ww")}
    assert edge is not None
    assert edge.kinds == {"declared"}
    assert edge.coverage == "strict"


@pytest.mark.parametrize(
    "takes",
    [
        made("consumes", "order"),
        made("produces", "customer"),
        {"type": "integer", "x-halflap": {"consumes": "customer"}},
    ],
)
def test_other_things_directions_and_types_are_not(takes: dict[str, object]) -> None:
    assert pair(SOURCE, tool("s", "beta", {"ww!": takes})) is None


@pytest.mark.parametrize("thing", ["customer", "s\0customer"])
def test_no_server_can_claim_what_another_produces_or_consumes(thing: str) -> None:
    taker = tool("evil", "beta", {"ww!": made("consumes", thing)})
    giver = tool("evil", "alpha", "", {"rows": [{"qq": made("produces", thing)}]})
    graph = graph_of(SOURCE, TARGET, taker, giver)
    assert [one.source for one in graph.into(taker.tool)] == [giver.tool]
    assert [one.source for one in graph.into(TARGET.tool)] == [SOURCE.tool]


@pytest.mark.parametrize(
    "said", ["customer", None, 5, ["customer"], {"produces": 5}, {"produces": "x" * 999}]
)
def test_malformed_declarations_are_ignored(said: object) -> None:
    gives = {"type": "object", "properties": {"qq": {"type": "string", "x-halflap": said}}}
    assert pair(tool("s", "alpha", "", gives), TARGET) is None
