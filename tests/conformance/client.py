"""The client that the conformance suite tests: a program of the MCP library in front of Halflap, which is in front of the suite.

    python client.py URL

The suite names the scenario in MCP_CONFORMANCE_SCENARIO, and sets MCP_CONFORMANCE_CONTEXT to what it wants: certain calls, or a
client that is registered already. Where the server wants a sign-in, the suite's authorization server agrees at once.
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

import httpx2
import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError

from halflap.config import Config
from halflap.gateway import Gateway
from halflap.server import Front
from halflap.upstream import SignIn, credential_store

EXAMPLES: dict[str, Any] = {
    "string": "text",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "object": {},
    "array": [],
}


CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
MAX_SIGN_INS = 3
METADATA_URL = "https://conformance-test.local/client-metadata.json"
"""The id of a client that describes itself in a document; nobody reads the document."""


async def browse(url: str, _: object = None) -> None:
    """Open the page of a sign-in, and be sent back."""
    async with httpx2.AsyncClient(follow_redirects=True) as browser:
        await browser.get(url)


async def accept(context: Any, params: Any) -> types.ElicitResult:
    """Accept a form with its defaults, as a person who presses Enter does, and open links."""
    del context
    if params.mode == "url":
        browser = asyncio.create_task(browse(params.url))
        browser.add_done_callback(lambda done: done.result())
        return types.ElicitResult(action="accept")
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
    calls = CONTEXT.get("toolCalls") or [
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


def oauth(scenario: str) -> dict[str, Any]:
    """Return what a user would configure."""
    known = {name: CONTEXT[name] for name in ("client_id", "client_secret") if name in CONTEXT}
    if scenario.startswith("auth/client-credentials"):
        known |= {"grant": "client_credentials", "issuer": CONTEXT.get("issuer")}
    return known or {"client_metadata_url": METADATA_URL}


async def main(url: str) -> None:
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    wants_sign_in = scenario.startswith("auth/")
    server = {"url": url, "transport": "http"} | ({"oauth": oauth(scenario)} if wants_sign_in else {})
    with tempfile.TemporaryDirectory() as folder:
        config = replace(Config.from_mapping({"servers": {"suite": server}}), data_dir=Path(folder))
        async with Gateway.open(config) as gateway:
            for _ in range(MAX_SIGN_INS if wants_sign_in else 0):
                await gateway.refresh()
                (status,) = await gateway.statuses()
                if status.state != "needs-sign-in":
                    break
                # As `halflap doctor` tells the person to.
                await SignIn(config.servers[0], "local", credential_store(config)).sign_in(browse)
            front = Front(gateway, "suite")
            async with Client(front.server, mode="legacy", elicitation_callback=accept) as client:
                await use(client)
            front.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
