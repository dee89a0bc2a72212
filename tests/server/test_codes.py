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
    "execution": {"max_calls": 1},
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
CAUGHT = """\
await mcp__plain__echo(text='a')
try:
    await mcp__plain__echo(text='b')
except ToolError as error:
    print(error)
"""
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
                told["caught"] = await client.call_tool("execute_program", {"code": CAUGHT})
                run = told["caught"].meta["halflap"]["run"]
                for word, asked in {
                    "no tool": client.call_tool("execute", {}),
                    "no run": client.read_resource("halflap://runs/0123456789abcdef/output"),
                    "no output": client.read_resource(f"halflap://runs/{run}/output"),
                }.items():
                    with pytest.raises(MCPError) as refused:
                        await asked
                    told[word] = refused.value.error.data
                return told

    return asyncio.run(ask())


def text(answers: dict[Any, Any], name: str, code: str) -> str:
    return str(answers[name, code].content[0].text)


def test_an_error_has_a_code_that_its_tool_declares(answers: dict[Any, Any]) -> None:
    for name, code in ASKED:
        assert code in CODES
        assert (answers[name, code].is_error, answers[name, code].meta["halflap"]["code"]) == (True, code)
        assert code in answers["declared"][name]


@pytest.mark.parametrize(
    ("name", "code"),
    [("inspect_tool", "invalid-arguments"), ("search_tools", "usage"), ("suggest_workflow", "tool-blocked")],
)
def test_a_text_of_ours_begins_with_the_code(answers: dict[Any, Any], name: str, code: str) -> None:
    assert text(answers, name, code).startswith(f"[{code}] ")


def test_mistakes_and_refused_calls_are_named_in_the_text(answers: dict[Any, Any]) -> None:
    assert "[check-unknown-tool]" in text(answers, "execute_program", "run-mistaken")
    assert "[call-limit]" in answers["caught"].content[0].text
    assert "code" not in answers["caught"].meta["halflap"]


def test_errors_of_the_protocol_have_their_code_in_their_data(answers: dict[Any, Any]) -> None:
    assert answers["no tool"] == {"code": "tool-not-found"}
    assert answers["no run"] == {"code": "run-not-found"}
    assert answers["no output"] == {"code": "output-not-kept"}
