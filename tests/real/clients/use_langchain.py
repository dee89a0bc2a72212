"""Use a server from a LangChain agent: python use_langchain.py TASK, where TASK is JSON as test_clients.py makes it."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_mcp_adapters.callbacks import Callbacks
from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp.types import ElicitResult


class Scripted(GenericFakeChatModel):
    """A model that says what it was told to say, whatever the tools are."""

    def bind_tools(self, *_arguments: Any, **_options: Any) -> Scripted:
        return self


def call(task: dict[str, Any], number: int) -> AIMessage:
    calls = [{"name": task["name"], "args": task["arguments"], "id": str(number), "type": "tool_call"}]
    return AIMessage(content="", tool_calls=calls)


def text(content: Any) -> str:
    blocks = [content] if isinstance(content, str) else content
    return "\n".join(block if isinstance(block, str) else block.get("text", "") for block in blocks)


async def main(task: dict[str, Any]) -> dict[str, Any]:
    async def answer(_context: Any, _params: Any, _where: Any) -> ElicitResult:
        return ElicitResult(action="accept", content=task["answer"])

    command, *args = task["command"]
    server = {"transport": "stdio", "command": command, "args": args, "env": dict(os.environ)}
    client = MultiServerMCPClient({"halflap": server}, callbacks=Callbacks(on_elicitation=answer))
    tools = await client.get_tools()
    script = iter([call(task["tool"], 1), call(task["question"], 2), AIMessage(content="done")])
    agent = create_agent(Scripted(messages=script), tools)
    state = await agent.ainvoke({"messages": [("user", "go")]})
    results = [text(one.content) for one in state["messages"] if isinstance(one, ToolMessage)]
    blobs = await client.get_resources("halflap", uris=[task["resource"]])
    prompt = await client.get_prompt("halflap", task["prompt"])
    async with client.session("halflap") as session:
        resources = [str(one.uri) for one in (await session.list_resources()).resources]
        prompts = [one.name for one in (await session.list_prompts()).prompts]
    return {
        "tools": [tool.name for tool in tools],
        "resources": resources,
        "prompts": prompts,
        "tool": results[0],
        "question": results[1],
        "resource": blobs[0].as_string(),
        "prompt": text([text(message.content) for message in prompt]),
    }


sys.stdout.write(json.dumps(asyncio.run(main(json.loads(sys.argv[1])))))
