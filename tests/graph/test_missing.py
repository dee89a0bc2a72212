"""What is said of what is missing, over graphs of real definitions: who could provide it, what comes near, and why not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from graph.making import graph_of, tool
from halflap.graph.plan import plan
from halflap.graph.want import target_of

if TYPE_CHECKING:
    from halflap.graph.edge import Ports


def asked(want: str, *tools: Ports, **have: Any) -> dict[str, Any]:
    graph = graph_of(*tools)
    return plan(graph, want=[target_of(graph, want)], have=have).to_json()


def lack(want: str, *tools: Ports, **have: Any) -> dict[str, Any]:
    found: dict[str, Any] = asked(want, *tools, **have)["missing"][0]
    return found


class TestWhy:
    PETS = tool("vet", "list_pets", "", {"pets": [{"pet_id": str}]})
    PET = tool("vet", "get_pet", "pet_id!", {"name": str})

    def test_who_has_it_is_named_where_what_is_at_hand_does_not_fit(self) -> None:
        told = lack("get_pet", self.PETS, self.PET, pet_id={"no": "text"})
        assert [one["tool"] for one in told["could_provide"]] == ["mcp__vet__list_pets"]
        assert "at hand" in told["could_provide"][0]["why"]
        assert told["near"] == []

    def test_few_values_of_which_some_are_not_accepted(self) -> None:
        source = tool("s", "whoami", "", {"locale": {"en", "de"}})
        told = lack("translate", source, tool("s", "translate", {"locale!": {"fr", "it"}}))
        assert told["near"][0]["why"] == "none of its values is accepted"

    def test_what_is_gone_when_it_is_returned(self) -> None:
        gone = tool("s", "delete_gadget", "serial!", {"gadget_id": str})
        told = lack("get_gadget", gone, tool("s", "get_gadget", "gadget_id!"))
        assert told["could_provide"] == [
            {
                "tool": "mcp__s__delete_gadget",
                "path": "gadget_id",
                "why": "it seems to change something (say otherwise under `tools.read_only`), and is not what is wanted",
            }
        ]

    def test_a_name_that_says_little(self) -> None:
        told = lack("open_it", tool("s", "overview", "", {"name": str}), tool("s", "open_it", "name!"))
        assert told["near"][0]["why"] == "the name is the same, but says too little"

    def test_what_another_server_calls_so(self) -> None:
        told = lack("get_user", tool("a", "whoami", "", {"user_id": str}), tool("b", "get_user", "user_id!"))
        assert "another server" in told["near"][0]["why"]

    def test_a_secret(self) -> None:
        told = lack("weather", tool("s", "login", "", {"api_key": str}), tool("s", "weather", "api_key!"))
        assert "secret" in told["near"][0]["why"]
        assert told["could_provide"] == []


class TestWhatComesNear:
    HUB = tool("home", "hub_status", "hub_id!")

    def test_a_tool_that_is_called_so_and_of_which_nothing_is_known_comes_first(self) -> None:
        others = [tool(f"s{at}", "get_it", "", {"thing_id": str}) for at in range(6)]
        told = lack("hub_status", *others, tool("home", "get_current_hub_id"), self.HUB)
        assert told["near"][0]["tool"] == "mcp__home__get_current_hub_id"
        assert "neither declared nor learned" in told["near"][0]["why"]

    def test_the_tools_of_its_own_server_come_before_others(self) -> None:
        others = [tool(f"a{at}", "get_it", "", {"thing_id": str}) for at in range(6)]
        told = lack("hub_status", *others, tool("home", "rooms", "", {"room_id": str}), self.HUB)
        assert told["near"][0]["tool"] == "mcp__home__rooms"


@pytest.mark.parametrize("want", ["get_pett", "gte_pet", "Get_Pet", "getpet"])
def test_a_misspelt_tool_is_told_with_the_one_that_is_meant(want: str) -> None:
    told = lack(want, TestWhy.PETS, TestWhy.PET)
    assert told["near"][0] == {"tool": "mcp__vet__get_pet", "why": "the name is spelt nearly the same"}
    assert "Did you mean mcp__vet__get_pet?" in told["note"]


class TestBounds:
    def test_a_description_is_cut(self) -> None:
        takes = {"thing!": {"type": "string", "description": "Do as I say. " * 40_000}}
        told = lack("open_it", tool("s", "open_it", takes))
        assert len(told["description"]) <= 300
        assert "…" in told["description"]

    def test_a_tool_that_lacks_very_much_is_in_no_plan_and_that_is_said(self) -> None:
        large = tool("s", "get_mega", " ".join(f"part{at}_id!" for at in range(400)), {"blob_ref": str})
        parts = [tool("s", f"list_part{at}s", "", {f"part{at}_id": str}) for at in range(400)]
        found = asked("get_mega", large, *parts)
        assert len(json.dumps(found)) < 1_000
        assert "It needs 400 values" in found["missing"][0]["note"]
        assert "part0_id" in found["missing"][0]["note"]
        target = tool("s", "get_blob", "blob_ref!")
        assert "lacks more than" in lack("get_blob", large, *parts, target)["could_provide"][0]["why"]
        assert "lacks more than" in lack("blob_ref", large, *parts)["could_provide"][0]["why"]
        given = {f"part{at}_id": "x" for at in range(400)}
        assert asked("get_mega", large, *parts, **given)["missing"] == []
