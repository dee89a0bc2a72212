"""What agents are told of what was learned, by a real server."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from cli.program import configure
from server.faces import stdio_face
from support import python_server

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = python_server("r", "records.py", protocol="legacy")
ONE = "mcp__r__one"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Have an agent ask, run a program, and ask again."""
    home: Path = tmp_path_factory.mktemp("learned")
    config = configure(home, RECORDS)

    async def ask() -> dict[str, Any]:
        with (home / "errors").open("w") as errors:
            async with stdio_face(config, home, mode="auto", errors=errors) as client:
                (tool,) = (one for one in (await client.list_tools()).tools if one.name == "inspect_tool")
                before = await client.call_tool("inspect_tool", {"tool_name": ONE})
                code = f"for number in range(5):\n    await {ONE}(number=number)"
                ran = await client.call_tool("execute_program", {"code": code})
                after = await client.call_tool("inspect_tool", {"tool_name": ONE})
                code = f"r = await {ONE}(number=1)\nprint(r['emial'])"
                failed = await client.call_tool("execute_program", {"code": code})
                return {"tool": tool, "before": before, "ran": ran, "after": after, "failed": failed}

    return asyncio.run(ask())


def test_before_anything_was_seen_the_answer_is_as_if_nothing_were_learned(answers: dict[str, Any]) -> None:
    told = json.loads(answers["before"].content[0].text)
    assert list(told)[:5] == ["name", "description", "inputSchema", "outputSchema", "note"]
    assert told["note"].startswith(
        "No output schema defined by the upstream server. Inspect the return value"
    )


def test_after_a_program_ran_the_answer_has_what_its_calls_showed(answers: dict[str, Any]) -> None:
    assert not answers["ran"].is_error
    told = json.loads(answers["after"].content[0].text)
    assert list(told)[3:9] == [
        "outputSchema", "observedSchema", "observations", "confidence", "lastObserved", "note",
    ]  # fmt: skip
    assert (told["outputSchema"], told["observations"]) == (None, 5)
    assert told["observedSchema"]["properties"]["email"] == {"type": "string", "format": "email"}


def test_the_answer_is_what_the_tool_declares(answers: dict[str, Any]) -> None:
    validator = jsonschema_rs.validator_for(answers["tool"].output_schema)
    for word in ("before", "after"):
        validator.validate(answers[word].structured_content)
        assert json.loads(answers[word].content[0].text) == answers[word].structured_content
    assert {"observedSchema", "observations", "confidence", "lastObserved", "drift"} <= set(
        answers["tool"].output_schema["properties"]
    )


def test_a_program_that_fails_is_hinted_at_what_was_seen(answers: dict[str, Any]) -> None:
    said = answers["failed"].content[0].text
    assert answers["failed"].is_error
    assert "email" in said
