"""The kernel: a stretch of a file → the shapes of what its tools returned; anything that runs functions can run it."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, BinaryIO

from halflap.backfill.following import told_before
from halflap.backfill.found import Found, Stretch
from halflap.backfill.learner import Control, Learner
from halflap.backfill.opening import unpacked
from halflap.backfill.pieces import Lines, pieces_of
from halflap.backfill.rules import Rules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from halflap.backfill.identity import Candidates, Mark

__all__ = ["learn_files", "learn_open", "learn_range", "learn_stream", "start_worker"]

_PLAIN = Rules()


class _Alone:
    def is_stopped(self) -> bool:
        return False

    def advance(self, count: int) -> None:
        pass


_control: Control = _Alone()


def start_worker(control: Control) -> None:
    """Make a process ready for the kernel: values come and go in no cycles, so nothing has to look for them."""
    global _control  # noqa: PLW0603 -- a worker has one, which cannot go along with each piece of work
    _control = control
    gc.collect()
    gc.freeze()
    gc.disable()


def learn_range(
    path: str,
    start: int,
    end: int,
    rules: Rules = _PLAIN,
    *,
    again: bool = False,
    control: Control | None = None,
) -> Found:
    """Learn from the lines of a plain file that begin from `start` to `end`; a line begins at both.

    With `again`, they were counted before, and only that counts which the rules say is missing. If lines belong together, `needs_order` is all that is said: then `learn_stream` has to read the whole file.
    """
    with open(path, "rb", buffering=1 << 20) as file:  # noqa: PTH123 -- bytes alone
        learner = Learner(rules, alone=True, again=again)
        if start and rules.lineage:
            learner.recall(told_before(file, start))
        file.seek(start)
        lines = Lines(file, end - start)
        learner.learn(lines, control or _control, lambda: lines.position)
        return learner.found()


def learn_stream(
    path: str,
    rules: Rules = _PLAIN,
    *,
    document: bool = False,
    counted: int = 0,
    control: Control | None = None,
) -> Stretch:
    """Learn from a whole file of any kind, in order; its first `counted` bytes were counted before."""
    with open(path, "rb", buffering=1 << 20) as packed, unpacked(packed) as file:  # noqa: PTH123 -- bytes alone
        return learn_open(file, rules, document=document, counted=counted, control=control, place=packed.tell)


def learn_files(
    files: Sequence[tuple[str, bool, int]], rules: Rules = _PLAIN, *, control: Control | None = None
) -> tuple[list[Stretch], Found]:
    """Learn from many small files as from one; of each, whether it is a document, and how much of it was counted.

    Gives what was found in each, without shapes, and the shapes of all, with what they broke and where values went.
    """
    learner = Learner(rules, alone=False)
    found = []
    for path, document, counted in files:
        learner.go_on(counted)
        with open(path, "rb", buffering=1 << 20) as packed, unpacked(packed) as file:  # noqa: PTH123 -- bytes alone
            pieces = pieces_of(file, document=document)
            learner.learn(pieces, control or _control, packed.tell)
        told = learner.found(shapes=False)
        found.append(Stretch(told, pieces.position, pieces.lines, pieces.digest(), counted))
    return found, Found(shapes=learner.shapes(), broken=learner.broken(), lineage=learner.lineage())


def learn_open(
    file: BinaryIO,
    rules: Rules,
    *,
    document: bool = False,
    counted: int = 0,
    known: Candidates | None = None,
    marks: Mapping[str, Mark] | None = None,
    control: Control | None = None,
    place: Callable[[], int] | None = None,
) -> Stretch:
    """Learn from what is open; `known` says which contents were counted before, by length and hash."""
    pieces = pieces_of(file, document=document)
    learner = Learner(rules, alone=False)
    learner.counted = counted
    learner.known, learner.marks = known or {}, marks or {}
    learner.learn(pieces, control or _control, place or (lambda: pieces.position))
    return Stretch(
        learner.found(), pieces.position, pieces.lines, pieces.digest(), learner.counted, learner.recognised
    )
