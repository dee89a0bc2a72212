from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.worlds import definition, listing
from halflap.catalog.listing import absorb, changed_parts
from halflap.core.values import Listing, definition_hash
from halflap.store import ServerRows

DEFINITIONS = st.builds(
    definition, st.sampled_from(["a", "b", "c-d", "c_d"]), st.sampled_from(["One.", "Two.", "Three."])
)
LISTINGS = st.lists(DEFINITIONS, max_size=5).map(lambda tools: listing("s", *tools))


def after(*listings: Listing) -> ServerRows:
    rows = ServerRows()
    for moment, one in enumerate(listings):
        rows = absorb(rows, one, "f", float(moment))
    return rows


def present(rows: ServerRows) -> dict[str, str]:
    return {tool.name: tool.hash for tool in rows.tools if not tool.removed}


@given(st.lists(LISTINGS, min_size=1, max_size=4))
def test_what_is_there_is_what_was_listed_last(history: list[Listing]) -> None:
    there = [tool.original_name for tool in after(*history).tools if not tool.removed]
    assert there == list(dict.fromkeys(str(tool["name"]) for tool in history[-1].tools))


@given(st.lists(LISTINGS, min_size=1, max_size=4))
def test_a_name_once_given_is_never_taken_away(history: list[Listing]) -> None:
    given_names: dict[str, str] = {}
    for end in range(1, len(history) + 1):
        names = {tool.original_name: tool.name for tool in after(*history[:end]).tools}
        assert given_names.items() <= names.items()
        given_names = names


@given(st.lists(LISTINGS, min_size=1, max_size=4))
def test_the_definition_seen_first_is_the_accepted_one(history: list[Listing]) -> None:
    first: dict[str, str] = {}
    for one in history:
        for tool in one.tools:
            first.setdefault(str(tool["name"]), definition_hash(tool))
    assert {tool.original_name: tool.accepted_hash for tool in after(*history).tools} == first


def test_a_change_is_not_hidden_by_leaving_the_tool_out_for_a_while() -> None:
    rows = after(listing("s", "a"), listing("s"))
    back = absorb(rows, listing("s", definition("a", "Other.")), "f", 1.0)
    assert [tool.hash != tool.accepted_hash for tool in back.tools] == [True]


@pytest.mark.slow
def test_a_flood_of_tools_that_come_and_go_is_forgotten_but_not_what_was_there_before() -> None:
    rows = after(listing("s", "old"), listing("s", "old"), listing("s"))
    for moment in range(100):
        flood = (definition(f"t{moment}x{number}", "x" * 1_000) for number in range(100))
        rows = absorb(rows, listing("s", *flood), "f", 10.0 + moment)
    assert len(rows.tools) <= 1_100
    large = absorb(rows, listing("s", *(definition(f"l{n}", "x" * 900_000) for n in range(20))), "f", 200.0)
    rows = absorb(large, listing("s"), "f", 201.0)
    assert len(json.dumps([tool.definition for tool in rows.tools])) < 5_000_000
    # Nor is it a way to have a changed definition accepted.
    back = absorb(rows, listing("s", definition("old", "Other.")), "f", 202.0)
    assert [tool.name for tool in back.tools if tool.hash != tool.accepted_hash] == ["mcp__s__old"]


def test_changed_parts_are_named_in_words() -> None:
    old = definition("a", inputSchema={"default": True}, icons=[{"src": "x"}])
    new = definition("a", "Other.", inputSchema={"default": 1}, annotations={"readOnlyHint": True})
    assert changed_parts(old, new) == ("description", "input schema", "annotations")
