"""A gateway and a client of it in this process."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mcp import Client

from dspy_programs import saved
from dspy_programs.chat_server import Asked, ChatServer, chatting
from halflap.config import Config
from halflap.gateway import Gateway
from halflap.server import Front

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from dspy_programs.running import Run


@dataclass(frozen=True)
class Served:
    gateway: Gateway
    client: Client
    chat: ChatServer

    async def ask(self, program: str = "worklet_selector", **inputs: Any) -> Any:
        return await told(
            self.client, "dspy_execute_program", program=program, inputs=inputs or saved.WORKLET_INPUTS
        )


def serve(
    run: Run,
    folder: Path,
    say: Callable[[Asked], Any],
    scenario: Callable[[Served], Coroutine[Any, Any, None]],
    *,
    servers: dict[str, Any] | None = None,
    client: dict[str, Any] | None = None,
    **more: Any,
) -> ChatServer:
    """Play a scenario with the programs in `folder/programs`, a gateway and a client of it in this process."""

    async def inside() -> None:
        config = saved.settings(folder / "programs", chat, **more)
        found = replace(await asyncio.to_thread(Config.from_mapping, config), data_dir=folder / "data")
        async with (
            Gateway.open(found, servers=servers) as gateway,
            Client(Front(gateway).server, **(client or {})) as connected,
        ):
            await scenario(Served(gateway, connected, chat))

    with chatting(say) as chat:
        run(inside())
    return chat


async def told(client: Client, tool: str, **arguments: Any) -> Any:
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content[0]
    return answer.structured_content


async def refused(client: Client, **arguments: Any) -> tuple[str, str]:
    answer = await client.call_tool("dspy_execute_program", arguments)
    assert answer.is_error
    assert answer.structured_content is not None
    return answer.structured_content["code"], answer.structured_content["message"]


async def executed(client: Client, code: str) -> str:
    answer = await client.call_tool("execute_program", {"code": code})
    return str(answer.content[0].text)  # type: ignore[union-attr]
