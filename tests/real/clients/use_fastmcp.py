"""Use a server with FastMCP's client: python use_fastmcp.py TASK, where TASK is JSON as test_clients.py makes it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport


def text(blocks: list[Any]) -> str:
    return "\n".join(getattr(block, "text", "") for block in blocks)


async def main(task: dict[str, Any]) -> dict[str, Any]:
    async def answer(_message: str, _type: Any, _params: Any, _context: Any) -> Any:
        return task["answer"]

    command, *args = task["command"]
    transport = StdioTransport(command, args, env=dict(os.environ))
    async with Client(transport, elicitation_handler=answer) as client:
        tool, question = task["tool"], task["question"]
        prompt = await client.get_prompt(task["prompt"])
        return {
            "tools": [one.name for one in await client.list_tools()],
            "resources": [str(one.uri) for one in await client.list_resources()],
            "prompts": [one.name for one in await client.list_prompts()],
            "tool": text((await client.call_tool(tool["name"], tool["arguments"])).content),
            "question": text((await client.call_tool(question["name"], question["arguments"])).content),
            "resource": text(await client.read_resource(task["resource"])),
            "prompt": text([message.content for message in prompt.messages]),
        }


sys.stdout.write(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
