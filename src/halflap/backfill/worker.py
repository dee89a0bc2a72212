"""What worker processes run: whole logs, or a part of a large one. Everything passed in and out can be pickled."""

from __future__ import annotations

import gc
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple, Protocol

from halflap.backfill.formats.calls import NeedsOrderError
from halflap.backfill.learner import Learner
from halflap.backfill.logfile import LogFile, damage, reason_of, unreadable
from halflap.backfill.watermarks import Mark, find_mark, with_mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from halflap.backfill.found import Counts, Knowledge
    from halflap.backfill.rules import Rules

__all__ = [
    "Control",
    "LogJob",
    "LogRead",
    "LogsRead",
    "learn_lines",
    "read_logs",
    "read_range",
    "start_worker",
]

_BETWEEN_CHECKS = 1 << 20


class Control(Protocol):
    """Lets the main process stop workers and see their progress."""

    def is_stopped(self) -> bool: ...

    def advance(self, count: int) -> None: ...


class _NoControl:
    def is_stopped(self) -> bool:
        return False

    def advance(self, count: int) -> None:
        pass


_control: Control = _NoControl()


def start_worker(control: Control) -> None:
    """Prepare a process: values form no cycles, so that the garbage collector only costs time."""
    global _control  # noqa: PLW0603 -- shared memory can only be passed when a process starts
    _control = control
    gc.freeze()
    gc.disable()


class LogJob(NamedTuple):
    """A file to read, and the origin it belongs to."""

    path: str
    origin: str


class LogRead(NamedTuple):
    """What came of one file."""

    counts: Counts | None = None
    """None if the file was known to its end, or could not be read."""
    known: Mark | None = None
    """How far it had been counted before."""
    problem: str = ""
    is_refused: bool = False


class LogsRead(NamedTuple):
    """What came of several files."""

    logs: list[LogRead]
    marks: dict[str, tuple[Mark, ...]]
    """The new marks of each origin that changed."""
    knowledge: Knowledge


def read_logs(
    jobs: Sequence[LogJob], marks: Mapping[str, Sequence[Mark]], rules: Rules, control: Control | None = None
) -> LogsRead:
    """Read files one after another; later ones may turn out to be copies of earlier ones."""
    learner = Learner(rules)
    known = {origin: tuple(own) for origin, own in marks.items()}
    before = dict(known)
    logs = []
    for job in jobs:
        try:
            read, mark = _read_log(LogFile(job.path), known.get(job.origin, ()), learner, rules, control)
            if mark is not None:
                known[job.origin] = with_mark(known.get(job.origin, ()), mark)
        except unreadable() as error:
            read = LogRead(problem=reason_of(error))
        logs.append(read)
    changed = {origin: own for origin, own in known.items() if own != before.get(origin)}
    return LogsRead(logs, changed, learner.knowledge())


def _read_log(
    log: LogFile, marks: Sequence[Mark], learner: Learner, rules: Rules, control: Control | None
) -> tuple[LogRead, Mark | None]:
    known, sha = find_mark(log, marks)
    if known is not None and rules.server and known.server not in {"", rules.server}:
        problem = (
            f"Its tools were counted as those of {known.server!r}. To count them as those of {rules.server!r}, run "
            "`halflap schema forget --origin backfill` and read all logs again."
        )
        return LogRead(known=known, problem=problem, is_refused=True), None
    learner.begin(alone=False, position=known.bytes if known else 0)
    start = known or Mark(0, 0, "")
    counts = learn_lines(log.lines(start.bytes), learner, sha, control or _control)
    if not counts.bytes and not counts.bad_count:
        return LogRead(known=known), None
    if counts.nameless and not counts.observations:
        problem = "It names tools without their server. Say which server they belong to: --server NAME"
        return LogRead(counts, known, problem, is_refused=True), None
    # The line break of an open last line will come with the next part, so it is counted then.
    lines = start.lines + counts.lines - learner.ends_open
    mark = Mark(start.bytes + counts.bytes, lines, sha.hexdigest(), rules.server or start.server)
    return LogRead(counts, known), mark


def learn_lines(lines: Iterable[bytes], learner: Learner, sha: object, control: Control) -> Counts:
    """Learn from lines until they end or the work is stopped, hashing those that were counted."""
    update = getattr(sha, "update", None)
    done = 0
    try:
        for line in lines:
            if not learner.learn(line):
                break
            if update is not None:
                update(line)
            done += len(line)
            if done >= _BETWEEN_CHECKS:
                control.advance(done)
                done = 0
                if control.is_stopped():
                    return learner.counts(cut_short=True)
    except damage() as error:
        learner.damaged(error)
    control.advance(done)
    return learner.counts()


def read_range(
    path: str, start: int, end: int, rules: Rules, control: Control | None = None
) -> tuple[Counts, Knowledge] | None:
    """Read the lines of a plain file that begin in a range; None if the file must be read in one piece."""
    learner = Learner(rules)
    learner.begin(alone=True, position=start)

    def lines() -> Iterable[bytes]:
        position = start
        for line in LogFile(path).lines(start):
            if position >= end:
                return
            position += len(line)
            yield line

    with suppress(NeedsOrderError):
        counts = learn_lines(lines(), learner, None, control or _control)
        return counts, learner.knowledge()
    return None


def digest_range(path: str, start: int, end: int, sha: object = None) -> object:
    """Continue a hash with a range of a plain file."""
    state = sha256() if sha is None else sha.copy()  # type: ignore[attr-defined]  # hash objects have no public type
    with open(path, "rb") as file:  # noqa: PTH123 -- bytes only
        file.seek(start)
        while start < end and (chunk := file.read(min(1 << 20, end - start))):
            state.update(chunk)
            start += len(chunk)
    return state
