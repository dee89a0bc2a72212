"""A host for programs under test: it answers tool calls, and records what is printed and shown."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halflap.sandbox.functions import ToolError
from halflap.sandbox.media import Media
from halflap.sandbox.sandbox import Host, Program, ToolHelp
from support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.sandbox.choose import Sandbox
    from halflap.sandbox.sandbox import Ending

__all__ = ["IMAGE", "TOOLS", "Stage"]

IMAGE = {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}
TOOLS = {
    "mcp__shop__sales": ToolHelp("(region: str)", "region"),
    "mcp__shop__rows": ToolHelp("()"),
    "mcp__shop__broken": ToolHelp("()"),
    "mcp__shop__picture": ToolHelp("()"),
    "mcp__shop__mixed": ToolHelp("()"),
    "mcp__shop__slow": ToolHelp("()"),
    "mcp__shop__together": ToolHelp("()"),
    "mcp__shop__endless": ToolHelp("()"),
    "mcp__shop__half_letter": ToolHelp("()"),
}
TOGETHER = 5
"""Number of calls of `together` that wait for each other."""


@dataclass(eq=False)
class Stage(Host):
    """A host that records everything."""

    most_output: int = 1_000_000
    printed: bytes = b""
    shown: list[Mapping[str, Any]] = field(default_factory=list)
    called: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    pictures: list[str] = field(default_factory=list)
    """The data of the next pictures, if not the default."""
    waiting: int = 0
    most_waiting: int = 0

    async def call(self, name: str, arguments: Mapping[str, Any], line: int | None = None) -> Any:
        del line
        self.called.append((name, arguments))
        answers: dict[str, Any] = {
            "sales": {"region": arguments.get("region"), "totalRevenue": 5},
            "rows": [{"id": 1, "price": 2}, {"id": 3}],
            "picture": Media(IMAGE),
            "mixed": ["some text", Media(IMAGE)],
            "half_letter": {"text": "a\ud800b"},
        }
        tool = name.rpartition("__")[2]
        if tool == "picture" and self.pictures:
            return Media({**IMAGE, "data": self.pictures.pop(0)})
        if tool == "broken":
            raise ToolError("the shop is closed")
        if tool == "slow":
            self.waiting += 1
            self.most_waiting = max(self.most_waiting, self.waiting)
            try:
                await asyncio.sleep(0.3)
            finally:
                self.waiting -= 1
            return "done"
        if tool == "together":
            self.waiting += 1
            self.most_waiting = max(self.most_waiting, self.waiting)
            async with asyncio.timeout(PATIENCE):
                while self.most_waiting < TOGETHER:
                    await asyncio.sleep(0.01)
            self.waiting -= 1
            return "done"
        if tool == "endless":
            self.waiting += 1
            await asyncio.Event().wait()
        if tool not in answers:
            raise ToolError(f"there is no tool {name!r}")
        return answers[tool]

    def write(self, data: bytes) -> bool:
        self.printed += data
        self.order.append("print")
        return len(self.printed) <= self.most_output

    def show(self, block: Mapping[str, Any]) -> bool:
        self.shown.append(block)
        self.order.append("show")
        return True

    @property
    def text(self) -> str:
        return self.printed.decode()

    async def play(self, sandbox: Sandbox, code: str) -> Ending:
        return await sandbox.run(Program(code, TOOLS), self)
