"""Runs work in a thread, or in one process per core."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from multiprocessing.sharedctypes import RawValue
from typing import TYPE_CHECKING, Any, TypeVar

from halflap.backfill.worker import start_worker
from halflap.core.errors import BackfillError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Workers", "cores"]

_T = TypeVar("_T")


def cores() -> int:
    """Return the number of cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class _Control:
    """Shared memory, without locks: progress may be slightly off."""

    def __init__(self) -> None:
        self._stopped = RawValue("b", 0)
        self._done = RawValue("q", 0)

    def is_stopped(self) -> bool:
        return bool(self._stopped.value)

    def advance(self, count: int) -> None:
        self._done.value += count

    def stop(self) -> None:
        self._stopped.value = 1

    @property
    def done(self) -> int:
        return int(self._done.value)


class Workers:
    """A pool for backfill work, with progress and a way to stop."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.control = _Control()
        self._executor: Executor
        if jobs == 1:
            self._executor = ThreadPoolExecutor(1)
        else:
            context = multiprocessing.get_context("spawn")
            self._executor = ProcessPoolExecutor(
                jobs, mp_context=context, initializer=start_worker, initargs=(self.control,)
            )
        self._slots = asyncio.Semaphore(jobs + 1)

    async def run(self, work: Callable[..., _T], *arguments: Any) -> _T:
        """Run a function of `halflap.backfill.worker` when there is a free slot."""
        async with self._slots:
            task: Callable[..., _T] = partial(work, *arguments)
            if self.jobs == 1:
                task = partial(task, control=self.control)
            try:
                future = await asyncio.to_thread(self._submit, task)
                return await asyncio.wrap_future(future)
            except BrokenProcessPool:
                raise BackfillError(
                    "A worker process was killed, perhaps because memory ran out. What was learned before is kept; run "
                    "the command again to continue, perhaps with --jobs 1."
                ) from None

    def _submit(self, task: Callable[[], _T]) -> Any:
        if not hasattr(signal, "pthread_sigmask"):
            return self._executor.submit(task)
        # New processes inherit the mask: Ctrl-C is for the main process, which then stops them in order.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return self._executor.submit(task)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def close(self) -> None:
        """Stop all work and wait for it."""
        self.control.stop()
        self._executor.shutdown(wait=True, cancel_futures=True)
