"""Have programs examined, in a process that is not the gateway: parsed by Python, and read by ty."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from halflap.sandbox.check.answer import CheckSkipped, read_answer
from halflap.sandbox.check.helper import Helper, HelperGone, NamespacesUnusableError, Orders
from halflap.sandbox.check.inside.words import LARGEST_CODE, LARGEST_QUESTION
from halflap.sandbox.jail.fork_server import to_its_end

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halflap.sandbox.check.answer import Answer

__all__ = ["CheckSkipped", "Examiner", "Orders"]

_AT_ONCE = 2
_MOST_WAITING = 32
_MOST_EXAMINED = 2_000
_LONGEST_LIFE_SECONDS = 3_600.0
"""After so many examinations or so long there is another server: its children share where things lie in memory."""
_TRY_AGAIN_SECONDS = 10.0
_RETIRING_SECONDS = 0.2


class Examiner:
    """Examines programs; its server starts with the first, and is replaced when it is lost or old."""

    def __init__(self, orders: Orders | None = None) -> None:
        self._orders = orders or Orders()
        self._helper: Helper | None = None
        self._since = 0.0
        self._starting: asyncio.Task[Helper] | None = None
        self._retiring: set[asyncio.Task[None]] = set()
        self._trouble: tuple[float, str] | None = None
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0
        self._closed = False
        self.layers: Sequence[str] = ()
        self.missing: Mapping[str, str] = {}

    async def ready(self) -> None:
        """Start the server, if it is not there; `CheckSkipped` says why it cannot be."""
        await self._current()

    async def examine(self, question: Mapping[str, Any]) -> Answer:
        """Return what can be found in a program, or raise `CheckSkipped`."""
        if len(question["code"]) > LARGEST_CODE:
            raise CheckSkipped(f"the program is larger than {LARGEST_CODE // 1024} KB")
        body = json.dumps(question).encode()
        if len(body) > LARGEST_QUESTION:
            raise CheckSkipped(f"the tools' types are larger than {LARGEST_QUESTION // (1024 * 1024)} MB")
        if self._waiting >= _MOST_WAITING:
            raise CheckSkipped("too many programs wait to be checked")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._orders.seconds), self._places:
                try:
                    return read_answer(await (await self._current()).ask(body))
                except HelperGone:
                    # It may have ended since we last heard of it; the next is asked once.
                    return read_answer(await (await self._current()).ask(body))
        except TimeoutError:
            raise CheckSkipped(f"it took longer than {self._orders.seconds:g} s") from None
        finally:
            self._waiting -= 1

    async def _current(self) -> Helper:
        """Give the server; another, if it is gone. One that has served long enough is replaced behind."""
        if self._closed:
            raise CheckSkipped("the gateway is closing")
        helper = self._helper
        if helper is not None and not helper.is_lost:
            old = time.monotonic() - self._since > _LONGEST_LIFE_SECONDS or helper.examined >= _MOST_EXAMINED
            if old and self._starting is None and not self._has_just_failed():
                self._begin()
            return helper
        if self._has_just_failed():
            assert self._trouble is not None
            raise CheckSkipped(self._trouble[1])
        # Whoever waits may give up; the start goes on, for the next.
        return await asyncio.shield(self._starting or self._begin())

    def _has_just_failed(self) -> bool:
        return self._trouble is not None and time.monotonic() - self._trouble[0] < _TRY_AGAIN_SECONDS

    def _begin(self) -> asyncio.Task[Helper]:
        task = asyncio.create_task(self._start(), name="check")
        self._starting = task
        # A failure that nobody waited for is kept, and told to the next.
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return task

    async def _start(self) -> Helper:
        try:
            helper = await self._started()
        except OSError as error:
            reason = f"its process could not be started: {error}"
            self._trouble = (time.monotonic(), reason)
            raise CheckSkipped(reason) from error
        finally:
            self._starting = None
        former, self._helper, self._since, self._trouble = self._helper, helper, time.monotonic(), None
        self.layers, self.missing = helper.layers, helper.missing
        if former is not None:
            task = asyncio.create_task(_retire(former), name="check")
            self._retiring.add(task)
            task.add_done_callback(self._retiring.discard)
        return helper

    async def _started(self) -> Helper:
        helper = Helper(self._orders)
        try:
            await helper.start()
        except NamespacesUnusableError as unusable:
            # Said, like every layer that is missing.
            helper = Helper(replace(self._orders, namespaces=False))
            await helper.start()
            helper.missing["namespaces"] = str(unusable)
        return helper

    async def close(self) -> None:
        """End the server, and whatever it examines."""
        self._closed = True
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait([self._starting])
        for task in self._retiring:
            task.cancel()
        if self._retiring:
            await asyncio.wait(self._retiring)
        if self._helper is not None:
            await self._helper.close()


async def _retire(helper: Helper) -> None:
    """Let a server go when its last examination is over."""
    try:
        while helper.under_way and not helper.is_lost:  # noqa: ASYNC110 -- once an hour, and nobody waits
            await asyncio.sleep(_RETIRING_SECONDS)
    finally:
        await to_its_end(helper.close())
