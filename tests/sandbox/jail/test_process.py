"""What a process sent before it left counts, whatever becomes of the channel afterwards."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING, Any, cast

import pytest

from halflap.config import ExecutionConfig
from halflap.sandbox.functions import ToolError
from halflap.sandbox.jail import protocol
from halflap.sandbox.jail.process import SandboxProcess
from halflap.sandbox.jail.protocol import frame
from halflap.sandbox.sandbox import Host, Program
from support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.sandbox.jail.fork_server import Child
    from halflap.sandbox.sandbox import Ending

OK = {"outcome": "ok", "error": "", "cpu_seconds": 0.1, "memory_bytes": 1}
FAILURE = OK | {"outcome": "failed", "error": "ToolError: no\n"}
CALL = frame(protocol.CALL, protocol.NUMBER.pack(1), b'{"name": "any", "arguments": {}}')
LINE = frame(protocol.OUTPUT, b"line\n")


def done(ending: dict[str, Any]) -> bytes:
    return frame(protocol.DONE, json.dumps(ending).encode())


class _Child(Host):
    """Both the host and the process, which is this test: it sends its last frames while a call of its own is answered."""

    is_alive = True

    def __init__(self, frames: bytes = b"") -> None:
        self.channel, self.theirs = socket.socketpair()
        self.channel.setblocking(False)
        self.frames = frames
        self.printed = b""
        self.called = False

    async def call(self, name: str, arguments: Mapping[str, Any], line: int | None = None) -> Any:
        self.called = True
        self.theirs.sendall(self.frames)
        self.theirs.close()
        raise ToolError(f"{name} {arguments} {line}")

    def write(self, data: bytes) -> bool:
        self.printed += data
        return True

    def kill(self) -> None:
        """Be killed already."""

    async def exited(self, seconds: float = 0.0) -> None:
        """The fork server has not said how it ended."""

    def process(self) -> SandboxProcess:
        return SandboxProcess(cast("Child", self), ExecutionConfig(max_value_bytes=1_000))


@pytest.mark.parametrize(
    ("frames", "outcome", "printed"),
    [
        (done(FAILURE), "failed", b""),
        (LINE * 500 + done(OK), "ok", b"line\n" * 500),
        (frame(protocol.OUTPUT, b"x"), "misused", b"x"),
    ],
    ids=["failed", "printed much", "no final message"],
)
def test_what_a_process_sent_before_it_left_counts(frames: bytes, outcome: str, printed: bytes) -> None:
    async def scenario(child: _Child) -> Ending:
        process = child.process()
        child.theirs.sendall(protocol.READY)
        await process.locked()
        child.theirs.sendall(CALL)
        async with asyncio.timeout(PATIENCE):
            ending = await process.run(Program(""), child)
        process.close()
        return ending

    child = _Child(frames)
    assert (asyncio.run(scenario(child)).outcome, child.printed) == (outcome, printed)


def test_output_sent_before_a_kill_is_kept_and_no_call_is_made() -> None:
    async def scenario(child: _Child) -> None:
        running = asyncio.create_task(child.process().run(Program(""), child))
        await asyncio.sleep(0)
        child.theirs.sendall(LINE * 500 + CALL)
        child.theirs.shutdown(socket.SHUT_WR)
        running.cancel()
        await asyncio.wait([running])
        child.theirs.close()

    child = _Child()
    asyncio.run(scenario(child))
    assert (child.printed, child.called) == (b"line\n" * 500, False)
