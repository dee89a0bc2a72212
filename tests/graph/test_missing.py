"""What is said of what is missing, over graphs of real definitions: who could provide it, what comes near, and why not."""

from __future__ import annotations

import json
from dataclasses import replace
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

    @pytest.mark.parametrize(
        ("seen", "needed", "why"),
        [
            (1, 2, "was learned from 1 result, which is not sure enough yet: call it 2 more times"),
            (2, 1, "was learned from 2 results, which is not sure enough yet: call it once more"),
            (4, 0, "what it returned, in 4 results, tells nothing"),
        ],
    )
    def test_of_one_that_was_called_it_is_said_what_is_still_needed(
        self, seen: int, needed: int, why: str
    ) -> None:
        told = lack(
            "hub_status", replace(tool("home", "get_current_hub_id"), seen=seen, needed=needed), self.HUB
        )
        assert told["near"][0]["why"].endswith(why)

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

    def test_a_field_that_only_a_tool_returns_which_is_not_called_for_it_is_known(self) -> None:
        told = lack("receipt_no", tool("s", "pay_bill", "bill_id!", {"receipt": {"receipt_no": str}}))
        (could,) = told["could_provide"]
        assert (could["tool"], could["path"]) == ("mcp__s__pay_bill", "receipt.receipt_no")
        assert "seems to change something" in could["why"]
        assert told["note"].startswith("It is returned only by tools that are not called for it")
        assert lack("receipt_no", tool("s", "get_bill", "bill_id!", {"sum": int}))["note"].startswith(
            "No tool is known"
        )

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


class TestWhoTheCatalogueItselfNames:
    """Nothing is known of what they return, and yet their names or what is said of the parameter tell."""

    @pytest.mark.parametrize(
        ("source", "takes"),
        [
            ("list-containers", "container_name!"),
            ("list_shadcn_components", "componentName!"),
            ("search_papers", "paper_id!"),
            ("search-museum-objects", "objectId!"),
            ("getStories", "storyId!"),
        ],
    )
    def test_who_lists_the_things_that_a_parameter_names_one_of(self, source: str, takes: str) -> None:
        other = tool("s", "get_weather", "city!", {"voucher_id": str, "degrees": int})
        told = lack("get_it", tool("s", source), other, tool("s", "get_it", takes))
        assert told["near"][0]["tool"] == f"mcp__s__{source}"
        assert "neither declared nor learned" in told["near"][0]["why"]

    def test_of_a_bare_id_the_tools_own_things_are_meant(self) -> None:
        told = lack("get_card", tool("s", "list_cards"), tool("s", "get_card", "id!"))
        assert [one["tool"] for one in told["near"]] == ["mcp__s__list_cards"]

    @pytest.mark.parametrize(
        "said",
        [
            "ID retrieved from 'resolve-library-id'.",
            "从resolve-library-id返回的结果ID",
            "See resolve-library-id",
        ],
    )
    def test_who_is_named_where_the_parameter_is_described(self, said: str) -> None:
        takes = {"compatible_ref!": {"type": "string", "description": said}}
        named = tool("s", "resolve-library-id", "library_name!")
        told = lack("get_docs", named, tool("s", "resolve-library"), tool("s", "get_docs", takes))
        assert [one["tool"] for one in told["near"]] == ["mcp__s__resolve-library-id"]
        assert "names it" in told["near"][0]["why"]

    @pytest.mark.parametrize("name", ["delete_papers", "download_paper", "read_paper_id"])
    def test_not_who_changes_something_or_has_to_be_told_it(self, name: str) -> None:
        takes = "" if name == "delete_papers" else "paper_id!"
        assert lack("get_it", tool("s", name, takes), tool("s", "get_it", "paper_id!"))["near"] == []


class TestReasons:
    ANIMALS = tool("zoo", "list_animals", "", {"animals": [{"id": int, "mother_animal_id": int}]})

    def test_what_names_the_thing_itself_is_told_rather_than_what_is_called_alike(self) -> None:
        told = lack("animal_weight", self.ANIMALS, tool("zoo", "animal_weight", "animal_id!"))
        assert told["near"][0]["path"] == "animals[].id"
        assert told["near"][0]["why"] == "it is integer, and string is needed"

    def test_what_is_at_hand_goes_into_the_items_of_which_nothing_else_is_called_so(self) -> None:
        cost = tool("zoo", "get_cost", {"entries!": [{"animal_id": int, "days": int}]}, {"cost": float})
        found = asked("get_cost", self.ANIMALS, cost, days=3)
        assert found["missing"] == []
        assert found["suggestions"][0]["unused"] == []
        assert found["suggestions"][0]["steps"][1]["arguments"]["entries[].days"]["from"] == "have"

    def test_what_may_be_one_of_several_is_said_how_to_name(self) -> None:
        takes = {"arrival!": {"days": int}, "departure!": {"days": int}}
        found = asked("get_cost", tool("zoo", "get_cost", takes, {"cost": float}), days=3)
        (unused,) = found["suggestions"][0]["unused"]
        assert "'arrival.days'" in unused["why"]

    def test_lists_within_lists_are_not_a_part_of_what_is_needed(self) -> None:
        deletions = {
            "type": "array",
            "description": "What to forget",
            "items": {
                "type": "object",
                "properties": {
                    "entityName": {"type": "string", "description": "The name of the entity"},
                    "observations": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["entityName", "observations"],
            },
        }
        graph = tool("m", "read_graph", "", {"entities": [{"entityName": str, "observations": [str]}]})
        told = lack("get_forgotten", graph, tool("m", "get_forgotten", {"deletions!": deletions}))
        assert told["type"] == "[{entityName: string, observations: [string]}]"
        assert told["description"] == "What to forget"
        assert "lists within lists" in told["could_provide"][0]["why"]

    def test_what_is_there_now_is_to_be_replaced(self) -> None:
        read = tool("s", "get_gadget", "gadget_id!", {"gadget_id": str, "colour": str})
        told = lack("paint_gadget", read, tool("s", "paint_gadget", "gadget_id! colour!"), gadget_id="g")
        assert told["could_provide"][0]["why"] == "it is what is there now, which is to be replaced"
