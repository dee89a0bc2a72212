"""Learn from parts of logs in a thread, or in one process per core."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import signal
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.sharedctypes import RawValue
from typing import TYPE_CHECKING, Any, NamedTuple

from halflap.backfill.learner import Learner
from halflap.backfill.logfile import UNREADABLE, LogFile, reason_of
from halflap.core.errors import BackfillError

if TYPE_CHECKING:
    from halflap.backfill.found import Counts, Knowledge
    from halflap.backfill.rules import Rules

__all__ = ["Part", "Progress", "Workers", "cores", "learn_parts"]

_BETWEEN_CHECKS = 1 << 20


class Part(NamedTuple):
    """Lines of a log to be learned from by one worker."""

    path: str
    start: int
    end: int
    followed: int
    """Values are followed in this many bytes."""


class Progress:
    """Lets the main process stop workers and see their progress. Without locks: it may be slightly off."""

    def __init__(self) -> None:
        self._is_stopped = RawValue("b", 0)
        self._done = RawValue("q", 0)

    def stop(self) -> None:
        self._is_stopped.value = 1

    @property
    def is_stopped(self) -> bool:
        return bool(self._is_stopped.value)

    @property
    def done(self) -> int:
        return int(self._done.value)

    def advance(self, count: int) -> None:
        self._done.value += count


_progress = Progress()


def _start_worker(progress: Progress) -> None:
    """Prepare a process: values form no cycles, so that the garbage collector only costs time."""
    global _progress  # noqa: PLW0603 -- shared memory can only be passed when a process starts
    _progress = progress
    gc.freeze()
    gc.disable()


def learn_parts(
    parts: Sequence[Part], rules: Rules, progress: Progress | None = None
) -> tuple[list[Counts | str], Knowledge] | None:
    """Return what was counted in each part, or why it cannot be read, and what was learned; None when stopped."""
    progress = progress or _progress
    learner = Learner(rules)
    found: list[Counts | str] = []
    for part in parts:
        try:
            log = LogFile(part.path)
            learner.begin(part.followed)
            unreported = 0
            for line in log.lines(part.start, part.end):
                learner.learn(line)
                unreported += len(line)
                if unreported >= _BETWEEN_CHECKS:
                    progress.advance(unreported)
                    unreported = 0
                    if progress.is_stopped:
                        return None
            progress.advance(unreported)
            counts = learner.end()
            counts.bytes = part.end - part.start
            if part.start and (counts.bad or counts.other):
                counts.renumber(log.line_number(part.start))
            found.append(counts)
        except UNREADABLE as error:
            found.append(reason_of(error))
    return found, learner.knowledge()


def cores() -> int:
    """Return the number of cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


class Workers:
    """A pool that learns from parts of logs."""

    def __init__(self, rules: Rules, progress: Progress, *, processes: int) -> None:
        """With no process, a thread does the work."""
        self._rules = rules
        self._progress: Progress | None = None
        self._executor: Executor
        if processes:
            self._executor = ProcessPoolExecutor(
                processes,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_start_worker,
                initargs=(progress,),
            )
        else:
            self._executor = ThreadPoolExecutor(1)
            self._progress = progress

    async def learn(self, parts: Sequence[Part]) -> tuple[list[Counts | str], Knowledge] | None:
        """Return what `learn_parts` returns."""
        try:
            return await asyncio.wrap_future(await asyncio.to_thread(self._submit, parts))
        except BrokenProcessPool:
            raise BackfillError(
                "A worker process was killed, perhaps because memory ran out. What was learned before is kept; run "
                "the command again to continue, perhaps with --jobs 1."
            ) from None

    def _submit(self, parts: Sequence[Part]) -> Any:
        if not hasattr(signal, "pthread_sigmask"):
            return self._executor.submit(learn_parts, parts, self._rules, self._progress)
        # New processes inherit the mask: Ctrl-C is for the main process, which then stops them in order.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            return self._executor.submit(learn_parts, parts, self._rules, self._progress)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)
