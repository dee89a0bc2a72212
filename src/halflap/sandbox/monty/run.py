"""One program in monty: its process is driven by a thread of its own, its calls by the loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from halflap.sandbox.monty.worker import Call, Ended, Outcome, Show, Sleep, Wait, Worker
from halflap.sandbox.sandbox import Ending, ToolRefusal

if TYPE_CHECKING:
    from collections.abc import Callable

    import pydantic_monty as pm

    from halflap.sandbox.monty.limits import Limits
    from halflap.sandbox.monty.worker import Want
    from halflap.sandbox.sandbox import Host, Program

__all__ = ["MOST_UNREAD", "Run"]

MOST_UNREAD = 65_536
"""With more that was printed and not yet taken, the program waits."""

_MOST_WAITING = 10_000
"""With so many calls unanswered, the program stands still until the next one is: they must not pile up here."""


class Run:
    """One program: its process is driven by a thread of its own, its calls by the loop."""

    def __init__(self, pool: pm.Monty, limits: Limits, program: Program, host: Host) -> None:
        self._host = host
        self._loop = asyncio.get_running_loop()
        self._thread = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="monty")
        self._worker = Worker(pool, limits, program, self._output)
        self._calls: dict[int, asyncio.Task[Outcome]] = {}
        self._lock = threading.Lock()
        self._printed = bytearray()
        self._is_too_much = False
        self.ended = asyncio.Event()

    def kill(self) -> None:
        """End the program, whatever it does."""
        self._worker.kill()

    async def to_the_end(self) -> Ending:
        """Run it, and leave nothing behind, also when cancelled."""
        try:
            return self._ending(await self._converse())
        finally:
            # The process is killed first: until then the thread may be in the middle of a turn.
            self._worker.kill()
            await asyncio.shield(asyncio.ensure_future(self._clear()))

    async def _clear(self) -> None:
        for task in self._calls.values():
            task.cancel()
        await self._in_thread(self._worker.close)
        self._thread.shutdown(wait=False)
        if self._calls:
            await asyncio.wait(self._calls.values())
        self.ended.set()

    async def _in_thread(self, action: Callable[[], Any]) -> Any:
        return await self._loop.run_in_executor(self._thread, action)

    async def _converse(self) -> Ended:
        """Give the program what it wants until it wants nothing more."""
        want: Want = await self._in_thread(self._worker.start)
        while not isinstance(want, Ended):
            if isinstance(want, Wait):
                want = await self._in_thread(partial(self._worker.keep, await self._first_of(want.numbers)))
            elif isinstance(want, Show):
                if not self._host.show(want.block):
                    return Ended("misused", detail="something to show that is no image, sound or resource")
                want = await self._in_thread(partial(self._worker.answer, Outcome(None, value=True)))
            elif isinstance(want, Sleep) and want.is_all:
                await asyncio.sleep(want.seconds)
                want = await self._in_thread(partial(self._worker.answer, Outcome(None)))
            elif isinstance(want, Call) and want.is_alone:
                want = await self._in_thread(partial(self._worker.settle, want, await self._call(want)))
            else:
                work = self._call(want) if isinstance(want, Call) else _sleep(want.seconds)
                task = asyncio.create_task(work, name=f"program's call {want.number}")
                self._calls[want.number] = task
                if isinstance(want, Call) and len(self._calls) >= _MOST_WAITING:
                    await asyncio.wait([task])
                want = await self._in_thread(self._worker.promise)
        return want

    async def _call(self, call: Call) -> Outcome:
        try:
            return Outcome(call.name, value=await self._host.call(call.name, call.arguments))
        except ToolRefusal as refusal:
            return Outcome(call.name, refusal=str(refusal))

    async def _first_of(self, numbers: list[int]) -> dict[int, Outcome]:
        tasks = {self._calls[number]: number for number in numbers}
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return {tasks[task]: self._calls.pop(tasks[task]).result() for task in done}

    def _output(self, data: bytes) -> None:
        """Hand over what was printed, from the thread; when much is not taken yet, wait: a flood must not pile up."""
        with self._lock:
            is_first = not self._printed
            self._printed += data
            is_much = len(self._printed) > MOST_UNREAD
        if is_first:
            # It is taken before anything that the program asks for later.
            self._loop.call_soon_threadsafe(self._take)
        if is_much:
            taken: concurrent.futures.Future[None] = concurrent.futures.Future()
            self._loop.call_soon_threadsafe(taken.set_result, None)
            taken.result()

    def _take(self) -> None:
        with self._lock:
            data, self._printed = bytes(self._printed), bytearray()
        if not self._is_too_much and not self._host.output(data):
            self._is_too_much = True
            self._worker.kill()

    def _ending(self, ended: Ended) -> Ending:
        if self._is_too_much:
            return Ending("output")
        if ended.kind == "done":
            return (
                Ending("ok", value=ended.value) if ended.failure is None else Ending("failed", ended.failure)
            )
        if ended.kind == "cpu":
            return Ending("cpu")
        if ended.kind == "memory":
            return Ending("memory", ended.failure)
        return Ending("misused" if ended.kind == "misused" else "crashed", detail=ended.detail)


async def _sleep(seconds: float) -> Outcome:
    await asyncio.sleep(seconds)
    return Outcome(None)
