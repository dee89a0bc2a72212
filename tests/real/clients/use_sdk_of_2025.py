"""Use a server with the Python SDK of 2025: python use_sdk_of_2025.py TASK, where TASK is JSON as test_clients.py makes it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from pydantic import AnyUrl


def text(blocks: list[Any]) -> str:
    return "\n".join(getattr(block, "text", "") for block in blocks)


async def main(task: dict[str, Any]) -> dict[str, Any]:
    async def answer(_context: Any, _params: types.ElicitRequestParams) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content=task["answer"])

    command, *args = task["command"]
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with (
        stdio_client(server) as (read, write),
        ClientSession(read, write, elicitation_callback=answer) as session,
    ):
        await session.initialize()
        tool, question = task["tool"], task["question"]
        resource = await session.read_resource(AnyUrl(task["resource"]))
        prompt = await session.get_prompt(task["prompt"])
        return {
            "tools": [one.name for one in (await session.list_tools()).tools],
            "resources": [str(one.uri) for one in (await session.list_resources()).resources],
            "prompts": [one.name for one in (await session.list_prompts()).prompts],
            "tool": text((await session.call_tool(tool["name"], tool["arguments"])).content),
            "question": text((await session.call_tool(question["name"], question["arguments"])).content),
            "resource": text(resource.contents),
            "prompt": text([message.content for message in prompt.messages]),
        }


sys.stdout.write(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
