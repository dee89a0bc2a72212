"""A gateway and a client of it in this process."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mcp import Client

from dspy_programs import saved
from dspy_programs.chat_server import Asked, ChatServer, chatting
from halflap.config import Config
from halflap.gateway import Gateway
from halflap.server import Front

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from halflap.store import CallRecord, RunRecord


@dataclass(frozen=True)
class Served:
    gateway: Gateway
    client: Client
    chat: ChatServer

    async def call(self, tool: str, **arguments: Any) -> Any:
        answer = await self.client.call_tool(tool, arguments)
        assert not answer.is_error, answer.content[0]
        return answer.structured_content

    async def ask(self, program: str = "worklet_selector", **inputs: Any) -> Any:
        inputs = inputs or saved.WORKLET_INPUTS
        return await self.call("dspy_execute_program", program=program, inputs=inputs)

    async def refused(self, program: str, **inputs: Any) -> tuple[str, str]:
        """Return code and message."""
        asked = {"program": program, "inputs": inputs}
        answer = await self.client.call_tool("dspy_execute_program", asked)
        assert answer.is_error
        assert answer.structured_content is not None
        return answer.structured_content["code"], answer.structured_content["message"]

    async def execute(self, code: str) -> str:
        answer = await self.client.call_tool("execute_program", {"code": code})
        return str(answer.content[0].text)  # type: ignore[union-attr]

    async def recorded(self, kind: str) -> tuple[RunRecord, tuple[CallRecord, ...]]:
        """Return the newest run of a kind, with its calls."""
        found = next(one for one in await self.gateway.runs() if one.kind == kind)
        run, calls = await self.gateway.run(found.id)
        return run, tuple(calls)


@asynccontextmanager
async def serving(
    folder: Path,
    say: Callable[[Asked], Any],
    *,
    servers: dict[str, Any] | None = None,
    client: dict[str, Any] | None = None,
    **more: Any,
) -> AsyncIterator[Served]:
    """Serve the programs in `folder/programs` with a model that answers so.

    As in `halflap serve`, nothing is prepared before the first request.
    """
    with chatting(say) as chat:
        config = saved.settings(folder / "programs", chat, **more)
        found = replace(await asyncio.to_thread(Config.from_mapping, config), data_dir=folder / "data")
        gateway = Gateway(found, servers)
        try:
            async with Client(Front(gateway).server, **(client or {})) as connected:
                yield Served(gateway, connected, chat)
        finally:
            await gateway.close()
