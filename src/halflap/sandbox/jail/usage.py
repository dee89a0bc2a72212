"""What a living child has used so far, as the kernel says: its own word is not asked."""

from __future__ import annotations

import re
import time
from pathlib import Path

__all__ = ["cpu_seconds", "process_id"]

_PROCESS_CPU_CLOCK = 2
_PID = re.compile(r"^Pid:\s+(\d+)$", re.MULTILINE)


def process_id(handle: int) -> int | None:
    """Give the number of a process, as it is here and not in its own namespace; reads a file."""
    try:
        told = _PID.search(Path(f"/proc/self/fdinfo/{handle}").read_text(encoding="ascii"))
    except OSError:
        return None
    return None if told is None else int(told[1])


def cpu_seconds(pid: int) -> float | None:
    """Give the time that a process has computed, all its threads together."""
    try:
        # The clock of a process is numbered by its complement, with the kind of clock in the last three bits.
        return time.clock_gettime((~pid << 3) | _PROCESS_CPU_CLOCK)
    except OSError:
        return None
