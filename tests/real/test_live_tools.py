"""The definitions of real servers, from the shared data: all of them are listed, to the letter."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway
from servers.memory import Memory
from support import shared_data

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.mark.slow
def test_every_tool_is_listed_under_a_name_of_its_own_and_kept_to_the_letter(run: Run) -> None:
    catalogue = json.loads(shared_data("live_tools.json").read_text())
    servers = {name: Memory(*entry["tools"]) for name, entry in catalogue.items()}

    async def scenario() -> Any:
        async with Gateway.open({}, servers=servers) as gateway:
            await gateway.refresh()
            assert gateway.unavailable() == {}
            return await gateway.tools()

    listed = {(tool.server, tool.original_name): tool for tool in run(scenario())}
    assert len({tool.name for tool in listed.values()}) == len(listed)
    assert all(tool.name.isidentifier() and tool.name.isascii() for tool in listed.values())
    wanted = {(name, tool["name"]): tool for name, entry in catalogue.items() for tool in entry["tools"]}
    assert listed.keys() == wanted.keys()
    for key, definition in wanted.items():
        tool = listed[key]
        assert tool.parameters == definition["inputSchema"]
        assert tool.output_schema == definition.get("outputSchema")
        assert tool.description == (definition.get("description") or "")


def test_one_server_with_all_of_them_lists_each_name_once(run: Run) -> None:
    catalogue = json.loads(shared_data("live_tools.json").read_text())
    tools = [tool for entry in catalogue.values() for tool in entry["tools"]]

    async def scenario() -> list[int]:
        counts = []
        for _ in range(2):
            async with Gateway.open({}, servers={"live": Memory(*tools)}) as gateway:
                counts.append(len(await gateway.tools()))
        return counts

    assert run(scenario()) == [len({tool["name"] for tool in tools})] * 2
