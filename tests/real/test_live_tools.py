from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from halflap import Gateway, RegisteredTool
from support import SERVERS, shared_data

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    Run = Callable[[Coroutine[Any, Any, Any]], Any]


def replayed(name: str, *arguments: str) -> dict[str, Any]:
    path = shared_data("live_tools.json")
    return {
        "name": name,
        "command": sys.executable,
        "args": [str(SERVERS / "replay.py"), str(path), *arguments],
        "protocol": "legacy",
        "start_timeout_seconds": 60,
    }


@pytest.mark.parametrize(
    ("every", "count", "offered", "declared"),
    [(6, 12, 74, 13), pytest.param(1, 70, 527, 104, marks=pytest.mark.slow)],
    ids=["twelve", "seventy"],
)
def test_all_tools_of_many_real_servers_are_listed_under_names_of_their_own(
    run: Run, every: int, count: int, offered: int, declared: int
) -> None:
    whole = json.loads(shared_data("live_tools.json").read_text())
    catalogue = {name: whole[name] for name in [*whole][::every]}
    servers = [replayed(name, "--server", name) for name in catalogue]

    async def scenario() -> tuple[RegisteredTool, ...]:
        async with Gateway.open({"servers": servers}) as gateway:
            await gateway.refresh()
            assert gateway.unavailable() == {}
            return await gateway.tools()

    tools = run(scenario())
    assert len(catalogue) == count
    assert len(tools) == offered
    assert all(tool.name.isidentifier() and tool.name.isascii() for tool in tools)
    wanted = {(server, tool["name"]) for server, entry in catalogue.items() for tool in entry["tools"]}
    assert {(tool.server, tool.original_name) for tool in tools} == wanted
    assert sum(1 for tool in tools if tool.output_schema is not None) == declared


def test_definitions_are_kept_to_the_letter(run: Run) -> None:
    catalogue = json.loads(shared_data("live_tools.json").read_text())
    server = max(catalogue, key=lambda name: len(catalogue[name]["tools"]))

    async def scenario() -> tuple[RegisteredTool, ...]:
        async with Gateway.open({"servers": [replayed(server, "--server", server)]}) as gateway:
            return await gateway.tools()

    listed = {tool.original_name: tool for tool in run(scenario())}
    for definition in catalogue[server]["tools"]:
        tool = listed[definition["name"]]
        assert tool.parameters == definition["inputSchema"]
        assert tool.output_schema == definition.get("outputSchema")
        assert tool.description == (definition.get("description") or "")


@pytest.mark.parametrize("times", [1, 2])
def test_one_server_with_all_of_them_lists_each_name_once(run: Run, times: int) -> None:
    async def scenario() -> int:
        counts = set()
        for _ in range(times):
            async with Gateway.open({"servers": [replayed("live")]}) as gateway:
                counts.add(len(await gateway.tools()))
        assert len(counts) == 1
        return counts.pop()

    assert run(scenario()) == 510
