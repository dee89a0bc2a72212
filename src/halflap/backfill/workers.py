"""Who does the work: one thread for a little of it, a process for each core for much."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from halflap.backfill.kernel import start_worker
from halflap.core.errors import BackfillError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ENOUGH_FOR_PROCESSES", "Workers", "cores"]

ENOUGH_FOR_PROCESSES = 16 << 20
"""So many bytes are worth starting processes for: a process takes as long to start as to read some megabytes."""

_P = ParamSpec("_P")
_T = TypeVar("_T")


def cores() -> int:
    """Say how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class _ThreadControl:
    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._done = 0

    def is_stopped(self) -> bool:
        return self._stopped.is_set()

    def advance(self, count: int) -> None:
        self._done += count

    def stop(self) -> None:
        self._stopped.set()

    def done(self) -> int:
        return self._done


class _ProcessControl:
    """The same for many processes; it goes to each when that is started, and only then."""

    def __init__(self, context: Any) -> None:
        # No locks: a process that is killed holds none, and progress may be off by a little.
        self._stopped = context.RawValue("b", 0)
        self._done = context.RawValue("q", 0)

    def is_stopped(self) -> bool:
        return bool(self._stopped.value)

    def advance(self, count: int) -> None:
        self._done.value += count

    def stop(self) -> None:
        self._stopped.value = 1

    def done(self) -> int:
        return int(self._done.value)


class Workers:
    """Runs functions elsewhere, a few at a time."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self._executor: Executor
        self._control: _ThreadControl | _ProcessControl
        if jobs == 1:
            self._executor, self._control = ThreadPoolExecutor(1), _ThreadControl()
        else:
            context = multiprocessing.get_context("spawn")
            self._control = _ProcessControl(context)
            self._executor = ProcessPoolExecutor(
                jobs, mp_context=context, initializer=start_worker, initargs=(self._control,)
            )
        self._slots = asyncio.Semaphore(jobs + 1)

    async def run(self, work: Callable[_P, _T], *arguments: _P.args, **options: _P.kwargs) -> _T:
        """Run a piece of work when its turn comes."""
        async with self._slots:
            task: Callable[..., Any] = partial(work, *arguments, **options)
            if isinstance(self._control, _ThreadControl):
                task = partial(task, control=self._control)
            try:
                future = await asyncio.to_thread(self._submitted, task)
                done: _T = await asyncio.wrap_future(future)
            except BrokenProcessPool:
                raise BackfillError(
                    "A worker process was ended from outside, perhaps for want of memory. What was learned before is "
                    "kept; run it again to go on, perhaps with --jobs 1."
                ) from None
            return done

    def _submitted(self, task: Callable[[], Any]) -> Any:
        if not hasattr(signal, "pthread_sigmask"):
            return self._executor.submit(task)
        # What is started inherits the mask: an interrupt is for us, who then tell the workers to stop.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return self._executor.submit(task)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    @property
    def control(self) -> _ThreadControl | _ProcessControl:
        return self._control

    def close(self) -> None:
        """Have everything end that is under way, and wait for it."""
        self._control.stop()
        self._executor.shutdown(wait=True, cancel_futures=True)
