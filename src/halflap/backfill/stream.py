"""What is piped in: read once, and known afterwards by what it was."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING

from halflap.backfill.kernel import learn_open
from halflap.backfill.opening import Interruptible, beginning_of, lines_of, unpacked
from halflap.backfill.pieces import LONGEST, LOOKED_AT, is_document
from halflap.backfill.sources import HEAD

if TYPE_CHECKING:
    from halflap.backfill.found import Stretch
    from halflap.backfill.identity import Known
    from halflap.backfill.learner import Control
    from halflap.backfill.rules import Rules

__all__ = ["read_stream"]


def read_stream(name: str, rules: Rules, known: Known, control: Control) -> tuple[bytes, Stretch]:
    """Learn from a stream; gives its beginning, too."""
    descriptor = 0 if name == "-" else os.open(name, os.O_RDONLY)
    try:
        piped = io.BufferedReader(Interruptible(descriptor, control.is_stopped), 1 << 20)
        head, file = beginning_of(unpacked(piped), HEAD)
        lines, file = lines_of(file, LOOKED_AT, LONGEST)
        document = is_document(lines)
        return head, learn_open(
            file, rules, document=document, known=known.candidates(head), marks=known.marks, control=control
        )
    finally:
        if name != "-":
            os.close(descriptor)
