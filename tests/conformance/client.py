"""The client that the conformance suite tests: a program of the MCP library in front of Halflap, which is in front of the suite.

    python client.py URL

The suite sets MCP_CONFORMANCE_CONTEXT to the calls that it wants, if it wants certain ones.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError

from halflap.config import Config
from halflap.gateway import Gateway
from halflap.server import Front

EXAMPLES: dict[str, Any] = {
    "string": "text",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "object": {},
    "array": [],
}


async def accept(context: Any, params: Any) -> types.ElicitResult:
    """Accept a form with its defaults, as a person who presses Enter does."""
    del context
    properties = params.requested_schema.get("properties", {})
    content = {
        name: one.get("default", EXAMPLES.get(one.get("type"), "text")) for name, one in properties.items()
    }
    return types.ElicitResult(action="accept", content=content)


def arguments(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    return {name: EXAMPLES.get(properties[name].get("type"), "text") for name in schema.get("required", ())}


async def use(client: Client) -> None:
    """Use everything that the server offers."""
    tools = (await client.list_tools()).tools
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    calls = context.get("toolCalls") or [
        {"name": tool.name, "arguments": arguments(tool.input_schema)} for tool in tools
    ]
    schemas = {tool.name: tool.input_schema for tool in tools}
    for call in calls:
        given = call["arguments"]
        if call["name"] == "json_schema_echo":
            given = {"schema": schemas["json_schema_2020_12_tool"]}
        # Some of the suite's servers list tools that cannot be called.
        with suppress(MCPError):
            await client.call_tool(call["name"], given)
    capabilities = client.server_capabilities
    if capabilities.resources is not None:
        for resource in (await client.list_resources()).resources:
            await client.read_resource(str(resource.uri))
    if capabilities.prompts is not None:
        for prompt in (await client.list_prompts()).prompts:
            await client.get_prompt(prompt.name, {})


async def main(url: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = Config.from_mapping({"servers": {"suite": {"url": url, "transport": "http"}}})
        async with Gateway.open(replace(config, data_dir=Path(folder))) as gateway:
            front = Front(gateway, "suite")
            async with Client(front.server, mode="legacy", elicitation_callback=accept) as client:
                await use(client)
            front.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
