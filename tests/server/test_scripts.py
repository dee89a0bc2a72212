from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import ElicitResult

from cli.program import PLAIN, configure, environment
from support import HALFLAP

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    Run = Callable[[Coroutine[Any, Any, Any]], Any]

pytestmark = pytest.mark.slow
"""It takes long, and runs with `make test-all`."""

SHOUT = 'async def main(text: str) -> str:\n    """Shout a text."""\n    return (await mcp__plain__echo(text=text)).upper()'


def test_a_client_lists_inspects_and_calls_scripts_and_is_asked_about_what_they_destroy(
    tmp_path: Path, run: Run
) -> None:
    folder = tmp_path / "data" / "scripts"
    folder.mkdir(parents=True)
    (folder / "shout.py").write_text(SHOUT)
    settings = {"execution": {"confirm_destructive": True}, "tools": {"destructive": ["mcp__plain__echo"]}}
    config = configure(tmp_path, PLAIN, **settings)
    asked: list[str] = []

    async def answer(context: Any, params: Any) -> ElicitResult:
        del context
        asked.append(params.message)
        return ElicitResult(action="accept", content={"confirm": True})

    async def scenario() -> None:
        parameters = StdioServerParameters(
            command=HALFLAP, args=["serve", "-c", config], env=environment(tmp_path), cwd=tmp_path
        )
        async with Client(stdio_client(parameters), mode="legacy", elicitation_callback=answer) as client:

            async def said(tool: str, **arguments: Any) -> str:
                return str((await client.call_tool(tool, arguments)).content[0].text)  # type: ignore[union-attr]

            assert "script__shout" in json.loads(await said("list_callable_tools"))
            inspected = json.loads(await said("inspect_tool", tool_name="script__shout"))
            assert (inspected["server"], inspected["description"]) == ("script", "Shout a text.")
            found = await said("search_tools", query="shout a text")
            assert json.loads(found)["tools"][0]["name"] == "script__shout"
            told = await said("execute_program", code="print(await script__shout(text='hey'))")
            assert told == "[Script executed successfully]\nHEY"

    run(scenario())
    assert len(asked) == 1
    assert "- mcp__plain__echo: Return the text that was given." in asked[0]
