"""A child's last words count, whatever becomes of the channel after them."""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING, Any

from halflap.sandbox.jail import frames
from halflap.sandbox.jail.process import SandboxProcess
from halflap.sandbox.sandbox import Program, ToolRefusal
from support import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halflap.sandbox.jail.wire import Verdict

FAILURE = {"type": "ToolError", "message": "no", "traceback": "ToolError: no\n"}


class _Leaver:
    """A host that is the child, too: it says its last words and leaves while a call of its own is answered."""

    def __init__(self, channel: socket.socket, *words: bytes) -> None:
        self._channel = channel
        self._words = words
        self.printed = b""

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        del name, arguments
        self._channel.sendall(b"".join(self._words))
        self._channel.close()
        raise ToolRefusal("no")

    def output(self, data: bytes) -> bool:
        self.printed += data
        return True

    def show(self, block: Mapping[str, Any]) -> bool:
        return bool(block)


async def _last_words(*words: bytes) -> tuple[Verdict, bytes]:
    ours, theirs = socket.socketpair()
    process = SandboxProcess(1_000, 16)
    await process.connect(ours)
    host = _Leaver(theirs, *words)
    order = json.dumps({"name": "any", "arguments": {}}).encode()
    theirs.sendall(frames.frame(frames.READY, b"{}"))
    await asyncio.sleep(0)
    running = asyncio.create_task(process.run(Program(""), host))
    await asyncio.sleep(0)
    theirs.sendall(frames.frame(frames.CALL, frames.NUMBER.pack(1), order))
    async with asyncio.timeout(PATIENCE):
        return await running, host.printed


def test_a_child_that_left_before_its_answer_came_is_still_heard() -> None:
    verdict, _ = asyncio.run(_last_words(frames.frame(frames.DONE, json.dumps(FAILURE).encode())))
    assert (verdict.kind, verdict.failure is not None) == ("done", True)


def test_all_that_it_printed_is_heard_too() -> None:
    lines = [frames.frame(frames.OUTPUT, b"line\n")] * 500
    verdict, printed = asyncio.run(_last_words(*lines, frames.frame(frames.DONE, b"null")))
    assert (verdict.kind, printed) == ("done", b"line\n" * 500)


def test_one_that_left_without_a_word_is_silent() -> None:
    verdict, printed = asyncio.run(_last_words(frames.frame(frames.OUTPUT, b"x")))
    assert (verdict.kind, printed) == ("silent", b"x")


def test_what_was_printed_until_it_is_killed_is_heard_and_no_call_is_made() -> None:
    async def scenario() -> tuple[bytes, int]:
        ours, theirs = socket.socketpair()
        process = SandboxProcess(1_000, 16)
        await process.connect(ours)
        host = _Leaver(theirs)
        running = asyncio.create_task(process.run(Program(""), host))
        await asyncio.sleep(0)
        order = frames.NUMBER.pack(1), b'{"name": "any", "arguments": {}}'
        theirs.sendall(frames.frame(frames.OUTPUT, b"line\n") * 500 + frames.frame(frames.CALL, *order))
        running.cancel()
        theirs.shutdown(socket.SHUT_WR)
        await process.last_output()
        closed = theirs.fileno()
        theirs.close()
        process.kill()
        return host.printed, closed

    printed, channel = asyncio.run(scenario())
    assert printed == b"line\n" * 500
    assert channel >= 0, "the call that came last was made"
