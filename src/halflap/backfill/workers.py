"""Learn from parts of logs in a thread, or in one process per core."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.sharedctypes import RawValue
from typing import NamedTuple

from halflap.backfill.learner import Knowledge, Learner, Rules
from halflap.backfill.logfile import UNREADABLE, LogFile, reason_of
from halflap.backfill.summary import Counts

_BETWEEN_CHECKS = 1 << 20

Found = tuple[list[Counts | str], Knowledge] | None
"""For each part its counts, or why it cannot be read; and the knowledge of all parts. None if stopped."""


class Part(NamedTuple):
    """A range of a log that one worker reads."""

    path: str
    start: int
    end: int
    followed: int
    """Lineage is tracked in this many bytes."""


class Progress:
    """Shared memory between the workers and the main process, without locks: counts may be slightly off."""

    def __init__(self) -> None:
        self.is_stopped = RawValue("b", 0)
        self.done = RawValue("q", 0)
        """Bytes read."""


_progress = Progress()


def _start_worker(progress: Progress) -> None:
    """Initialise a worker process. Parsed JSON has no reference cycles, so the garbage collector is turned off."""
    global _progress  # noqa: PLW0603 -- shared memory can only be passed when a process starts
    _progress = progress
    gc.freeze()
    gc.disable()


def learn_parts(parts: Sequence[Part], rules: Rules, progress: Progress | None = None) -> Found:
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
                    progress.done.value += unreported
                    unreported = 0
                    if progress.is_stopped.value:
                        return None
            progress.done.value += unreported
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


def submit(
    batches: Sequence[Sequence[Part]], rules: Rules, progress: Progress, processes: int
) -> tuple[Executor, list[Future[Found]]]:
    """Start workers on the batches; with `processes=0`, a single thread."""
    if not processes:
        thread = ThreadPoolExecutor(1)
        return thread, [thread.submit(learn_parts, parts, rules, progress) for parts in batches]
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(processes, context, _start_worker, (progress,))
    # Workers inherit the mask, so that Ctrl-C only reaches the main process, which then stops them.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return executor, [executor.submit(learn_parts, parts, rules) for parts in batches]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
