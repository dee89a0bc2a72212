"""Sessions: a real MCP client that makes all requests to `halflap serve` over one transport."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import mcp_types
import pytest
from mcp.shared.exceptions import MCPError

from acceptance.questions import BRIEF, HARD, METRIC, QUESTIONS, REQUESTS, TOOLS
from acceptance.recordings import SERVERS, SETTINGS
from cli.program import configure
from server.faces import client_of, served, stdio_face

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    import httpx2
    from mcp import Client
    from pydantic import BaseModel

    from acceptance.recordings import Recordings


def record(
    recordings: Recordings, home: Path, transport: str, mode: str, *, brief: bool = False
) -> dict[str, Any]:
    """Make all requests, or only the brief ones, and return the unmasked answers."""
    return asyncio.run(_ask(recordings.prepare(home), home, transport, mode, brief=brief))


async def offered(home: Path, *families: str) -> list[str]:
    """Return the names of the tools that a client sees when these families are configured."""
    async with _started(home, server={"families": families}) as client:
        return [tool.name for tool in (await client.list_tools()).tools]


async def execute_dspy(home: Path, lm: dict[str, str], program: str, inputs: Any, *, times: int) -> list[Any]:
    """Execute a DSPy program several times with a language model."""
    async with _started(home, server={"families": ["dspy"]}, programs={"lm": lm}) as client:
        asked = {"program": program, "inputs": inputs}
        return [
            (await client.call_tool("dspy_execute_program", asked)).structured_content for _ in range(times)
        ]


async def validate_hard_workflow(home: Path) -> Any:
    """Compare a workflow that has far too many states with itself, with a time limit of one second."""
    settings = {"server": {"families": ["gepa"]}, "workflows": {"timeout_seconds": 1}}
    async with _started(home, **settings) as client:
        both = {"original_workflow": HARD, "optimized_workflow": HARD, "validation_mode": "strict"}
        return (await client.call_tool("gepa_validate_footprint", both)).structured_content


@asynccontextmanager
async def _started(home: Path, **settings: Any) -> AsyncIterator[Client]:
    with (home / "log").open("w") as log:
        async with stdio_face(configure(home, **settings), home, mode="auto", errors=log) as client:
            yield client


async def _ask(config: str, home: Path, transport: str, mode: str, *, brief: bool) -> dict[str, Any]:
    async with _connected(config, home, transport, mode) as (client, requests):
        tools = (await client.list_tools()).tools
        answers: dict[str, dict[str, Any]] = {tool: {} for tool in TOOLS}
        for tool, name, arguments in QUESTIONS:
            if not brief or name in BRIEF.get(tool, ()):
                answers[tool][name] = _dumped(await client.call_tool(tool, arguments))
        if not brief:
            plan = answers["suggest_workflow"]["wanted tool"]["structuredContent"]["suggestions"][0]
            ran = await client.call_tool("execute_program", {"code": plan["program"]})
            answers["execute_program"]["suggested"] = _dumped(ran)
        run = answers["execute_program"]["prints"]["_meta"]["halflap"]["run"]
        return {
            "tools": [_dumped(tool) for tool in tools],
            "answers": answers,
            "protocol": {
                "resource templates": [
                    template.uri_template
                    for template in (await client.list_resource_templates()).resource_templates
                ],
                "output of a run": await _read(client, f"halflap://runs/{run}/output"),
                "unknown run": await _refusal(_read(client, "halflap://runs/0123456789abcdef/output")),
                "unknown tool": await _refusal(client.call_tool("execute", {})),
            },
            "http": requests(),
        }


@asynccontextmanager
async def _connected(
    config: str, home: Path, transport: str, mode: str
) -> AsyncIterator[tuple[Client, Callable[[], dict[str, Any]]]]:
    """Connect to a new `halflap serve`; yield the client and a function that sends plain HTTP requests."""

    async def confirm(_context: Any, params: Any) -> mcp_types.ElicitResult:
        if "id=1" in params.message:
            return mcp_types.ElicitResult(action="accept", content={"confirm": True})
        return mcp_types.ElicitResult(action="decline")

    if transport == "stdio":
        with (home / "log").open("w") as log:
            async with stdio_face(
                config, home, mode=mode, errors=log, elicitation_callback=confirm
            ) as client:
                yield client, dict
        return
    with served(home, *SERVERS, **SETTINGS) as face:

        def requests() -> dict[str, Any]:
            told = {name: _status(face.ask(**asked)) for name, asked in REQUESTS.items()}
            told["metrics"]["names"] = sorted(set(METRIC.findall(face.ask("/metrics", "GET").text)))
            return told

        async with client_of(face, mode, elicitation_callback=confirm) as client:
            yield client, requests


async def _read(client: Client, uri: str) -> dict[str, Any]:
    (content,) = (await client.read_resource(uri)).contents
    return {**_dumped(content), "uri": uri.replace(str(content.uri), "<the same>")}


def _dumped(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _status(response: httpx2.Response) -> dict[str, Any]:
    is_json = response.headers.get("content-type", "").startswith("application/json")
    code = response.json().get("code") if is_json else None
    return {"status": response.status_code, **({"code": code} if code else {})}


async def _refusal(asked: Awaitable[Any]) -> Any:
    with pytest.raises(MCPError) as refused:
        await asked
    return refused.value.error.data
