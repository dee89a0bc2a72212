"""Reports of missing values: which tools could provide them, what comes close, and why not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graph.made import shown
from graph.making import graph_of, tool
from halflap.graph.plan import plan, target_of

if TYPE_CHECKING:
    from halflap.graph.ports import Ports


def asked(want: str, *tools: Ports, **have: Any) -> dict[str, Any]:
    graph = graph_of(*tools)
    return shown(plan(graph, want=[target_of(graph, want)], have=have))


def lack(want: str, *tools: Ports, **have: Any) -> dict[str, Any]:
    found: dict[str, Any] = asked(want, *tools, **have)["missing"][0]
    return found


class TestWhy:
    PETS = tool("vet", "list_pets", "", {"pets": [{"pet_id": str}]})
    PET = tool("vet", "get_pet", "pet_id!", {"name": str})

    def test_a_provider_is_named_where_the_available_value_does_not_fit(self) -> None:
        told = lack("get_pet", self.PETS, self.PET, pet_id={"no": "text"})
        assert [one["tool"] for one in told["could_provide"]] == ["mcp__vet__list_pets"]
        assert told["near"] == []

    def test_secrets_are_not_provided(self) -> None:
        told = lack("weather", tool("s", "get_login", "", {"api_key": str}), tool("s", "weather", "api_key!"))
        assert told["could_provide"] == []


class TestBounds:
    def test_a_tool_with_hundreds_of_missing_values_is_in_no_plan(self) -> None:
        large = tool("s", "get_mega", " ".join(f"part{at}_id!" for at in range(400)), {"blob_ref": str})
        parts = [tool("s", f"list_part{at}s", "", {f"part{at}_id": str}) for at in range(400)]
        found = asked("get_mega", large, *parts)
        assert len(found["missing"]) <= 20
        target = tool("s", "get_blob", "blob_ref!")
        best = asked("get_blob", large, *parts, target)["suggestions"][0]
        assert best["tools"] == [target.tool]
        given = {f"part{at}_id": "x" for at in range(400)}
        assert asked("get_mega", large, *parts, **given)["missing"] == []
