"""A child's last words count, whatever becomes of the channel after them."""

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


class _Leaver(Host):
    """A host that is the child, too: it says its last words and leaves while a call of its own is answered."""

    def __init__(self, channel: socket.socket, *words: bytes) -> None:
        self._channel = channel
        self._words = words
        self.printed = b""

    async def call(self, name: str, arguments: Mapping[str, Any], line: int | None = None) -> Any:
        del name, arguments, line
        self._channel.sendall(b"".join(self._words))
        self._channel.close()
        raise ToolError("no")

    def write(self, data: bytes) -> bool:
        self.printed += data
        return True

    def show(self, block: Mapping[str, Any]) -> bool:
        return bool(block)


class _Child:
    """A process that is this test, at the other end of the channel."""

    is_alive = True

    def __init__(self) -> None:
        self.channel, self.theirs = socket.socketpair()
        self.channel.setblocking(False)

    def kill(self) -> None:
        """Be killed already."""

    async def exited(self, seconds: float = 0.0) -> None:
        """Leave no word of how it ended."""


async def _last_words(*words: bytes) -> tuple[Ending, bytes]:
    child = _Child()
    process = SandboxProcess(cast("Child", child), ExecutionConfig(max_value_bytes=1_000))
    host = _Leaver(child.theirs, *words)
    order = json.dumps({"name": "any", "arguments": {}}).encode()
    child.theirs.sendall(protocol.READY)
    await process.locked()
    child.theirs.sendall(frame(protocol.CALL, protocol.NUMBER.pack(1), order))
    async with asyncio.timeout(PATIENCE):
        ending = await process.run(Program(""), host)
    process.close()
    return ending, host.printed


@pytest.mark.parametrize(
    ("words", "outcome", "printed"),
    [
        ([frame(protocol.DONE, json.dumps(FAILURE).encode())], "failed", b""),
        (
            [frame(protocol.OUTPUT, b"line\n")] * 500 + [frame(protocol.DONE, json.dumps(OK).encode())],
            "ok",
            b"line\n" * 500,
        ),
        ([frame(protocol.OUTPUT, b"x")], "misused", b"x"),
    ],
    ids=["failed", "printed much", "without a word"],
)
def test_what_a_process_said_before_it_left_counts(words: list[bytes], outcome: str, printed: bytes) -> None:
    ending, heard = asyncio.run(_last_words(*words))
    assert (ending.outcome, heard) == (outcome, printed)


def test_what_was_printed_until_it_is_killed_is_heard_and_no_call_is_made() -> None:
    async def scenario() -> tuple[bytes, int]:
        child = _Child()
        process = SandboxProcess(cast("Child", child), ExecutionConfig(max_value_bytes=1_000))
        host = _Leaver(child.theirs)
        running = asyncio.create_task(process.run(Program(""), host))
        await asyncio.sleep(0)
        order = protocol.NUMBER.pack(1), b'{"name": "any", "arguments": {}}'
        child.theirs.sendall(frame(protocol.OUTPUT, b"line\n") * 500 + frame(protocol.CALL, *order))
        child.theirs.shutdown(socket.SHUT_WR)
        running.cancel()
        await asyncio.wait([running])
        closed = child.theirs.fileno()
        child.theirs.close()
        return host.printed, closed

    printed, channel = asyncio.run(scenario())
    assert printed == b"line\n" * 500
    assert channel >= 0, "the call that came last was made"
