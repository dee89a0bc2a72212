"""Every error that a client gets has its code, where the text is given by contract, too."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from halflap.codes import CODES
from halflap.config import Config
from halflap.gateway import Gateway
from halflap.server.app import Front

PLAIN = {
    "command": sys.executable,
    "args": [str(Path(__file__).parents[1] / "cli" / "plain.py")],
    "protocol": "legacy",
}
CONFIG: dict[str, Any] = {
    "mcpServers": {"plain": PLAIN},
    "tools": {"block": ["mcp__plain__secret"]},
    "execution": {"max_calls": 1, "cpu_seconds": 1},
    "traces": {"record": "metadata"},
}
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "tool-not-found": ("inspect_tool", {"tool_name": "mcp__nonexistent__foo"}),
    "tool-blocked": ("inspect_tool", {"tool_name": "mcp__plain__secret"}),
    "invalid-arguments": ("inspect_tool", {"name": "mcp__plain__echo"}),
    "server-not-found": ("search_tools", {"query": "echo", "server": "nowhere"}),
    "usage": ("search_tools", {"query": " "}),
    "run-failed": ("execute_program", {"code": "1 / 0"}),
    "run-mistaken": ("execute_program", {"code": "await mcp__plain__ech(text='a')"}),
    "run-cpu": ("execute_program", {"code": "while True: pass"}),
}
CAUGHT = """\
await mcp__plain__echo(text='a')
try:
    await mcp__plain__echo(text='b')
except ToolError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    async def ask() -> dict[str, Any]:
        config = replace(Config.from_mapping(CONFIG), data_dir=tmp_path_factory.mktemp("codes"))
        async with Gateway.open(config) as gateway, Client(Front(gateway).server) as client:
            told: dict[str, Any] = {
                code: await client.call_tool(name, arguments) for code, (name, arguments) in ASKED.items()
            }
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


@pytest.mark.parametrize("code", ASKED)
def test_an_error_has_its_code_beside_it(answers: dict[str, Any], code: str) -> None:
    assert code in CODES
    assert (answers[code].is_error, answers[code].meta["halflap"]["code"]) == (True, code)


@pytest.mark.parametrize("code", ["invalid-arguments", "server-not-found", "usage"])
def test_a_text_that_is_ours_begins_with_the_code(answers: dict[str, Any], code: str) -> None:
    assert answers[code].content[0].text.startswith(f"[{code}] ")


@pytest.mark.parametrize(
    ("code", "letter"),
    [
        ("tool-not-found", "[Tool not found] 'mcp__nonexistent__foo' is not available in execute_program"),
        ("tool-blocked", "[Tool not found] 'mcp__plain__secret' is not available in execute_program"),
        ("run-failed", "[Script execution failed]"),
    ],
)
def test_a_text_that_is_given_stays_to_the_letter(answers: dict[str, Any], code: str, letter: str) -> None:
    assert answers[code].content[0].text.splitlines()[0] == letter


def test_a_limit_and_a_mistake_are_named_in_the_text(answers: dict[str, Any]) -> None:
    assert "[run-cpu]." in answers["run-cpu"].content[0].text
    assert (
        "there is no tool mcp__plain__ech. [check-unknown-tool]\n" in answers["run-mistaken"].content[0].text
    )


def test_a_program_that_goes_on_after_its_last_call_has_the_code_in_its_hands(
    answers: dict[str, Any],
) -> None:
    assert answers["caught"].content[0].text.endswith("'mcp__plain__echo' was not called [call-limit].")
    assert "code" not in answers["caught"].meta["halflap"]


def test_errors_of_the_protocol_have_their_code_in_their_data(answers: dict[str, Any]) -> None:
    assert answers["no tool"] == {"code": "tool-not-found"}
    assert answers["no run"] == {"code": "run-not-found"}
    assert answers["no output"] == {"code": "output-not-kept"}
