"""Every error that a client gets has its code."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from halflap.config import Config
from halflap.gateway import Gateway
from halflap.server import Front
from servers.memory import Memory, definition
from support import CODES

CONFIG: dict[str, Any] = {
    "tools": {"block": ["mcp__plain__secret"]},
    "traces": {"record": "metadata"},
}
ASKED: dict[tuple[str, str], dict[str, Any]] = {
    ("inspect_tool", "tool-not-found"): {"tool_name": "mcp__nonexistent__foo"},
    ("inspect_tool", "tool-blocked"): {"tool_name": "mcp__plain__secret"},
    ("inspect_tool", "invalid-arguments"): {"name": "mcp__plain__echo"},
    ("search_tools", "server-not-found"): {"query": "echo", "server": "nowhere"},
    ("search_tools", "usage"): {"query": " "},
    ("suggest_workflow", "usage"): {},
    ("suggest_workflow", "tool-not-found"): {"want": "mcp__plain__nothing"},
    ("suggest_workflow", "tool-blocked"): {"want": "mcp__plain__secret"},
    ("execute_program", "run-failed"): {"code": "1 / 0"},
    ("execute_program", "run-mistaken"): {"code": "await mcp__plain__ech(text='a')"},
}
EVERY = {"invalid-arguments", "internal"}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[Any, Any]:
    async def ask() -> dict[Any, Any]:
        config = replace(Config.from_mapping(CONFIG), data_dir=tmp_path_factory.mktemp("codes"))
        plain = Memory(definition("echo", "text"), "secret")
        async with Gateway.open(config, servers={"plain": plain}) as gateway:
            front = Front(gateway)
            async with Client(front.server) as client:
                told: dict[Any, Any] = {one: await client.call_tool(one[0], ASKED[one]) for one in ASKED}
                told["declared"] = {tool.name: {*tool.errors, *EVERY} for tool in front.tools}
                run = told["execute_program", "run-failed"].meta["halflap"]["run"]
                with pytest.raises(MCPError) as refused:
                    await client.read_resource(f"halflap://runs/{run}/output")
                told["no output"] = refused.value.error.data
                return told

    return asyncio.run(ask())


def test_an_error_has_a_code_that_its_tool_declares(answers: dict[Any, Any]) -> None:
    for name, code in ASKED:
        assert code in CODES
        assert (answers[name, code].is_error, answers[name, code].meta["halflap"]["code"]) == (True, code)
        assert code in answers["declared"][name]


def test_an_output_that_was_not_kept_has_a_code_in_the_error(answers: dict[Any, Any]) -> None:
    assert answers["no output"] == {"code": "output-not-kept"}
